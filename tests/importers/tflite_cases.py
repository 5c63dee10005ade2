"""Test cases of single TFLite operators, alone or after a convolution.

After a convolution, the operand of the operator is an image in the engine's layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.importers.caffe_writer import random
from tests.importers.tflite_case import IMAGE, POINTWISE, SAME, VALID, model_of
from tests.importers.tflite_dequantized_cases import DEQUANTIZED
from tests.importers.tflite_indexing_cases import INDEXING
from tests.importers.tflite_selection_cases import SELECTION
from tests.importers.tflite_sequence_cases import sequences
from tests.importers.tflite_volume_cases import VOLUMES
from tests.importers.tflite_window_cases import WINDOWS
from tests.importers.tflite_writer import Model


def _convolutions() -> dict[str, Model]:
    result = {}
    weight, bias = random(4, 3, 2, 6, seed=4), random(4, seed=5)
    depth, depth_bias = random(1, 3, 2, 12, seed=6), random(12, seed=7)
    for padding, name in ((SAME, "same"), (VALID, "valid")):
        for step in (1, 2):
            size = [-(-n // step) for n in (7, 9)]
            if padding == VALID:
                size = [-(-(n - k + 1) // step) for n, k in ((7, 3), (9, 2))]
            common: dict[str, Any] = {"Padding": padding, "StrideH": step, "StrideW": step}
            dilation: dict[str, Any] = {"DilationHFactor": 1, "DilationWFactor": 1}
            result[f"conv_{name}_{step}"] = model_of(
                "CONV_2D",
                [weight, bias],
                [(1, *size, 4)],
                "Conv2DOptions",
                **common,
                **dilation,
                FusedActivationFunction=3,
            )
            result[f"depthwise_{name}_{step}"] = model_of(
                "DEPTHWISE_CONV_2D",
                [depth, depth_bias],
                [(1, *size, 12)],
                "DepthwiseConv2DOptions",
                **common,
                **dilation,
                DepthMultiplier=2,
                FusedActivationFunction=1,
            )
            for kind in ("MAX", "AVERAGE"):
                result[f"{kind.lower()}_pool_{name}_{step}"] = model_of(
                    f"{kind}_POOL_2D",
                    [],
                    [(1, *size, 6)],
                    "Pool2DOptions",
                    **common,
                    FilterHeight=3,
                    FilterWidth=2,
                )
            large = [n * step + (0 if padding == SAME else m) for n, m in ((7, 2), (9, 1))]
            if padding == VALID:
                large = [(n - 1) * step + k for n, k in ((7, 3), (9, 2))]
            result[f"transposed_{name}_{step}"] = model_of(
                "TRANSPOSE_CONV",
                [[1, *large, 4], weight],
                [(1, *large, 4)],
                "TransposeConvOptions",
                position=2,
                **common,
            )
    dilated: dict[str, Any] = {
        "DilationHFactor": 2,
        "DilationWFactor": 3,
        "StrideH": 1,
        "StrideW": 1,
    }
    result["conv_dilated"] = model_of(
        "CONV_2D", [weight, bias], [(1, 7, 9, 4)], "Conv2DOptions", Padding=SAME, **dilated
    )
    result["conv_groups"] = model_of(
        "CONV_2D",
        [random(4, 3, 3, 3, seed=8), bias],
        [(1, 7, 9, 4)],
        "Conv2DOptions",
        Padding=SAME,
        **POINTWISE,
    )
    result["transposed_odd"] = model_of(
        "TRANSPOSE_CONV",
        [[1, 13, 18, 4], weight],
        [(1, 13, 18, 4)],
        "TransposeConvOptions",
        position=2,
        Padding=SAME,
        StrideH=2,
        StrideW=2,
    )
    return result


def _elementwise(behind: bool) -> dict[str, Model]:
    place: dict[str, Any] = {"behind": behind}
    result = {}
    if not behind:  # sums in another order may be on the other side of a step
        for type in ("CEIL", "FLOOR", "ROUND"):
            result[type.lower()] = model_of(type, [], [IMAGE.shape])
    for type in ("RELU", "RELU6", "RELU_N1_TO_1", "ELU", "LOGISTIC", "TANH", "HARD_SWISH", "EXP"):
        result[type.lower()] = model_of(type, [], [IMAGE.shape], **place)
    for type in ("SIN", "COS"):
        result[type.lower()] = model_of(type, [], [IMAGE.shape], **place)
    for type in ("ABS", "NEG", "SQUARE"):
        result[type.lower()] = model_of(type, [], [IMAGE.shape], f"{type.title()}Options", **place)
    result["leaky_relu"] = model_of(
        "LEAKY_RELU", [], [IMAGE.shape], "LeakyReluOptions", Alpha=0.3, **place
    )
    result["prelu"] = model_of("PRELU", [random(1, 1, 6, seed=9)], [IMAGE.shape], **place)
    shapes: list[tuple[int, ...]] = [(6,), (1, 1, 1, 6), (9, 6), (1, 7, 9, 1), (), (1, 7, 9, 6)]
    for name in ("Add", "Sub", "Mul", "Div"):
        for i, shape in enumerate(shapes):
            value = random(*shape, seed=10, low=0.5, high=2)
            result[f"{name.lower()}_{i}"] = model_of(
                name.upper(),
                [value],
                [IMAGE.shape],
                f"{name}Options",
                position=i % 2,
                FusedActivationFunction=i % 4,
                **place,
            )
    for type in ("MAXIMUM", "MINIMUM"):
        result[type.lower()] = model_of(
            type, [random(6, seed=11)], [IMAGE.shape], "MaximumMinimumOptions", **place
        )
    result["squared_difference"] = model_of(
        "SQUARED_DIFFERENCE",
        [random(6, seed=11)],
        [IMAGE.shape],
        "SquaredDifferenceOptions",
        **place,
    )
    result["softmax"] = model_of("SOFTMAX", [], [IMAGE.shape], "SoftmaxOptions", Beta=1.5, **place)
    result["log_softmax"] = model_of("LOG_SOFTMAX", [], [IMAGE.shape], **place)
    result["l2_normalization"] = model_of(
        "L2_NORMALIZATION", [], [IMAGE.shape], "L2NormOptions", **place
    )
    result["lrn"] = model_of(
        "LOCAL_RESPONSE_NORMALIZATION",
        [],
        [IMAGE.shape],
        "LocalResponseNormalizationOptions",
        Radius=2,
        Bias=1.5,
        Alpha=0.02,
        Beta=0.6,
        **place,
    )
    return result


def _movements(behind: bool) -> dict[str, Model]:
    place: dict[str, Any] = {"behind": behind}
    pads = np.array([[0, 0], [1, 2], [3, 0], [0, 1]], np.int32)
    strided = "StridedSliceOptions"
    bounds = [[0, 1, 0, 2], [1, 7, 9, 5], [1, 2, 3, 1]]
    return {
        "reshape": model_of("RESHAPE", [[1, -1, 6]], [(1, 63, 6)], **place),
        "reshape_option": model_of(
            "RESHAPE", [], [(7, 54)], "ReshapeOptions", NewShape=[7, -1], **place
        ),
        "squeeze": model_of("SQUEEZE", [], [(7, 9, 6)], "SqueezeOptions", SqueezeDims=[0], **place),
        "expand_dims": model_of(
            "EXPAND_DIMS", [[1]], [(1, 1, 7, 9, 6)], "ExpandDimsOptions", **place
        ),
        "transpose": model_of(
            "TRANSPOSE", [[0, 3, 1, 2]], [(1, 6, 7, 9)], "TransposeOptions", **place
        ),
        "transpose_other": model_of(
            "TRANSPOSE", [[3, 0, 2, 1]], [(6, 1, 9, 7)], "TransposeOptions", **place
        ),
        **{
            f"concat_{axis}": model_of(
                "CONCATENATION",
                [random(1, 7, 9, 6, seed=12)],
                [shape],
                "ConcatenationOptions",
                Axis=axis,
                **place,
            )
            for axis, shape in ((-1, (1, 7, 9, 12)), (1, (1, 14, 9, 6)))
        },
        "pack": model_of(
            "PACK",
            [random(1, 7, 9, 6, seed=12)],
            [(1, 2, 7, 9, 6)],
            "PackOptions",
            ValuesCount=2,
            Axis=1,
            **place,
        ),
        "unpack": model_of("UNPACK", [], [(1, 7, 9)] * 6, "UnpackOptions", Num=6, Axis=3, **place),
        "split": model_of(
            "SPLIT", [[3]], [(1, 7, 9, 2)] * 3, "SplitOptions", position=1, NumSplits=3, **place
        ),
        "split_v": model_of(
            "SPLIT_V",
            [[2, -1], [3]],
            [(1, 7, 9, 2), (1, 7, 9, 4)],
            "SplitVOptions",
            NumSplits=2,
            **place,
        ),
        "slice": model_of(
            "SLICE", [[0, 1, 2, 3], [1, -1, 4, 2]], [(1, 6, 4, 2)], "SliceOptions", **place
        ),
        "strided_slice": model_of("STRIDED_SLICE", bounds, [(1, 3, 3, 3)], strided, **place),
        "strided_slice_masks": model_of(
            "STRIDED_SLICE", bounds, [(1, 4, 3, 4)], strided, BeginMask=2, EndMask=8, **place
        ),
        "strided_slice_shrink": model_of(
            "STRIDED_SLICE", bounds, [(1, 3, 3)], strided, ShrinkAxisMask=8, **place
        ),
        "strided_slice_reverse": model_of(
            "STRIDED_SLICE",
            [[0, 0, 0, 0], [1, 0, 9, 6], [1, -1, 1, 1]],
            [(1, 7, 9, 6)],
            strided,
            BeginMask=2,
            EndMask=2,
            **place,
        ),
        "pad": model_of("PAD", [pads], [(1, 10, 12, 7)], "PadOptions", **place),
        "pad_v2": model_of(
            "PADV2", [pads, np.array(0.5, np.float32)], [(1, 10, 12, 7)], "PadV2Options", **place
        ),
        "mirror_pad": model_of(
            "MIRROR_PAD", [pads], [(1, 10, 12, 7)], "MirrorPadOptions", Mode=0, **place
        ),
        "gather": model_of("GATHER", [[2, 0, 5]], [(1, 7, 9, 3)], "GatherOptions", Axis=3, **place),
        "tile": model_of("TILE", [[2, 1, 1, 3]], [(2, 7, 9, 18)], "TileOptions", **place),
        "space_to_batch": model_of(
            "SPACE_TO_BATCH_ND",
            [[2, 3], np.array([[0, 1], [2, 1]], np.int32)],
            [(6, 4, 4, 6)],
            "SpaceToBatchNDOptions",
            **place,
        ),
        "mean": model_of("MEAN", [[1, 2]], [(1, 6)], "ReducerOptions", **place),
        "mean_kept": model_of(
            "MEAN", [[1, 2]], [(1, 1, 1, 6)], "ReducerOptions", KeepDims=True, **place
        ),
        "sum": model_of("SUM", [[3]], [(1, 7, 9)], "ReducerOptions", **place),
        "reduce_max": model_of("REDUCE_MAX", [[1]], [(1, 9, 6)], "ReducerOptions", **place),
        "arg_max": model_of(
            "ARG_MAX", [[3]], [(1, 7, 9)], "ArgMaxOptions", dtype="int32", OutputType=2, **place
        ),
        "fully_connected": model_of(
            "FULLY_CONNECTED",
            [random(5, 378, seed=13), random(5, seed=14)],
            [(1, 5)],
            "FullyConnectedOptions",
            FusedActivationFunction=1,
            **place,
        ),
        "fully_connected_kept": model_of(
            "FULLY_CONNECTED",
            [random(5, 6, seed=13), random(5, seed=14)],
            [(1, 7, 9, 5)],
            "FullyConnectedOptions",
            KeepNumDims=True,
            **place,
        ),
    }


def _others() -> dict[str, Model]:
    result = {}
    for kind, options in (
        ("RESIZE_BILINEAR", "ResizeBilinearOptions"),
        ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    ):
        for corners, half in ((False, False), (True, False), (False, True)):
            for size in ([14, 20], [3, 5], [1, 1]):
                result[f"{kind.lower()}_{corners}_{half}_{size[0]}"] = model_of(
                    kind,
                    [size],
                    [(1, *size, 6)],
                    options,
                    AlignCorners=corners,
                    HalfPixelCenters=half,
                )
    blocks: dict[str, Any] = {"x": random(1, 4, 6, 8, seed=15)}
    result["depth_to_space"] = model_of(
        "DEPTH_TO_SPACE", [], [(1, 8, 12, 2)], "DepthToSpaceOptions", BlockSize=2, **blocks
    )
    result["space_to_depth"] = model_of(
        "SPACE_TO_DEPTH", [], [(1, 2, 3, 32)], "SpaceToDepthOptions", BlockSize=2, **blocks
    )
    result["batch_to_space"] = model_of(
        "BATCH_TO_SPACE_ND",
        [[2, 2], np.array([[1, 0], [0, 2]], np.int32)],
        [(1, 7, 10, 8)],
        "BatchToSpaceNDOptions",
        x=random(4, 4, 6, 8, seed=15),
    )
    rows: dict[str, Any] = {"x": random(3, 4, 5, seed=16)}
    result["batch_matmul"] = model_of(
        "BATCH_MATMUL", [random(3, 5, 2, seed=17)], [(3, 4, 2)], "BatchMatMulOptions", **rows
    )
    result["batch_matmul_flipped"] = model_of(
        "BATCH_MATMUL",
        [random(3, 2, 5, seed=17)],
        [(3, 4, 2)],
        "BatchMatMulOptions",
        AdjY=True,
        **rows,
    )
    return result


def _comparisons() -> dict[str, Model]:
    x = np.round(IMAGE)
    result = {
        f"{name.lower()}_{kind}": model_of(
            name,
            [np.round(random(*shape, seed=11, low=-2, high=2))],
            [x.shape],
            x=x,
            dtype="bool",
        )
        for name in ("EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
        for kind, shape in (("channels", (6,)), ("all", x.shape))
    }
    result["floor_div"] = model_of("FLOOR_DIV", [random(6, seed=11, low=0.3, high=2)], [x.shape])
    return result


def _orders(behind: bool) -> dict[str, Model]:
    place: dict[str, Any] = {"behind": behind}
    pads = np.array([[0, 0], [1, 2], [3, 9], [0, 1]], np.int32)
    result = {
        "mirror_pad_symmetric": model_of(
            "MIRROR_PAD", [pads], [(1, 10, 21, 7)], "MirrorPadOptions", Mode=1, **place
        ),
        "reverse": model_of("REVERSE_V2", [[2]], [IMAGE.shape], **place),
        "gather_nd": model_of(
            "GATHER_ND", [np.array([[0, 3], [0, 1]], np.int32)], [(2, 9, 6)], **place
        ),
    }
    for reverse in (False, True):
        for exclusive in (False, True):
            result[f"cumsum_{reverse}_{exclusive}"] = model_of(
                "CUMSUM",
                [2],
                [IMAGE.shape],
                "CumsumOptions",
                Reverse=reverse,
                Exclusive=exclusive,
                **place,
            )
    return result


CASES: dict[str, Model] = {
    **_convolutions(),
    **_elementwise(False),
    **{f"{n}_behind": m for n, m in _elementwise(True).items()},
    **_movements(False),
    **{f"{n}_behind": m for n, m in _movements(True).items()},
    **_others(),
    **_comparisons(),
    **_orders(False),
    **{f"{n}_behind": m for n, m in _orders(True).items()},
    **sequences(),
    **SELECTION,
    **INDEXING,
    **WINDOWS,
    **VOLUMES,
    **DEQUANTIZED,
}
