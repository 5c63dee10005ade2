"""Gathers, scatters, segments and places of TFLite."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.importers.tflite_case import model_of
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import Array, normal

X = normal(3, 5, 4)
ROWS = np.array([[2], [0], [1], [2]], np.int32)
PLACES = np.array([[0, 4], [2, 1], [1, 1]], np.int32)


def computed(
    type: str,
    operands: list[Any],
    shapes: list[tuple[int, ...]],
    options: str = "",
    dtype: str = "float32",
    **fields: Any,
) -> Model:
    """One operator: arrays are inputs, and what is in a list is a constant."""
    model = Model()
    places = [
        model.constant(x[0]) if isinstance(x, list) else model.input(np.asarray(x))
        for x in operands
    ]
    model.outputs = model.add(type, places, shapes, options, dtype, **fields)
    return model


def _gathers() -> dict[str, Model]:
    table = normal(2, 3, 7, 5, seed="table")
    numbers = np.random.default_rng(1).integers(0, 7, (2, 3, 4)).astype(np.int32)
    result = {
        "gather_nd_computed": computed("GATHER_ND", [X, PLACES], [(3, 4)]),
        "gather_nd_constant": computed("GATHER_ND", [X, [PLACES]], [(3, 4)]),
        "embedding": computed("EMBEDDING_LOOKUP", [ROWS[:, 0], [X]], [(4, 5, 4)]),
    }
    for batch, axis in ((1, 2), (2, 2), (1, 3)):
        at = numbers[:, 0] % table.shape[axis] if batch == 1 else numbers
        between = table.shape[batch:axis]
        shape = (*at.shape[:batch], *between, *at.shape[batch:], *table.shape[axis + 1 :])
        for kind in ("constant", "computed"):
            operands = [table, [at] if kind == "constant" else at]
            fields: dict[str, Any] = {"Axis": axis, "BatchDims": batch}
            name = f"gather_batch_{batch}_{axis}_{kind}"
            result[name] = computed("GATHER", operands, [shape], "GatherOptions", **fields)
    return result


def _scatters() -> dict[str, Model]:
    numbers = np.array([0, 2, 2, -1, 0], np.int32)
    rows = normal(5, 3, 2)
    result = {
        "scatter_nd": computed(
            "SCATTER_ND", [ROWS, normal(4, 6), [np.array([3, 6], np.int32)]], [(3, 6)]
        ),
        "scatter_nd_elements": computed(
            "SCATTER_ND", [[PLACES], normal(3, 4), [np.array(X.shape, np.int32)]], [X.shape]
        ),
        "scatter_integers": computed(
            "SCATTER_ND",
            [ROWS, np.arange(4, dtype=np.int32), [np.array([3], np.int32)]],
            [(3,)],
            dtype="int32",
        ),
        "sparse_to_dense": computed(
            "SPARSE_TO_DENSE",
            [PLACES[[0, 2, 1]], [np.array([3, 5], np.int32)], normal(3), [np.float32(0.5)]],
            [(3, 5)],
            "SparseToDenseOptions",
        ),
        "segment_sum": computed(
            "SEGMENT_SUM", [rows, [np.array([0, 0, 1, 2, 2], np.int32)]], [(3, 3, 2)]
        ),
    }
    for kind in ("Sum", "Prod", "Max", "Min"):
        operands: list[Any] = [rows, numbers, [np.int32(4).reshape(())]]
        type, options = f"UNSORTED_SEGMENT_{kind.upper()}", f"UnsortedSegment{kind}Options"
        result[type.lower()] = computed(type, operands, [(4, 3, 2)], options)
    return result


def _slices() -> dict[str, Model]:
    result = {}
    parts: list[tuple[str, Array, list[int]]] = [
        ("rows", normal(2, 5, 4, seed="part"), [1, 0, 0]),
        ("middle", normal(1, 2, 4, seed="part"), [2, 3, 0]),
        ("clamped", normal(2, 3, 2, seed="part"), [5, -1, 3]),
    ]
    for name, part, begin in parts:
        at = np.array(begin, np.int32)
        for kind in ("constant", "computed"):
            operands = [X, part, [at] if kind == "constant" else at]
            result[f"dynamic_update_slice_{name}_{kind}"] = computed(
                "DYNAMIC_UPDATE_SLICE", operands, [X.shape], "DynamicUpdateSliceOptions"
            )
    strided = "StridedSliceOptions"
    forms: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
        ("ellipsis", (7, 9, 3), {"EllipsisMask": 2, "ShrinkAxisMask": 1}),
        ("new", (1, 1, 4, 9, 6), {"NewAxisMask": 1, "EndMask": 2}),
    ]
    for name, shape, masks in forms:
        bounds = {
            "ellipsis": [[0, 0, 1], [1, 0, 4], [1, 1, 1]],
            "new": [[0, 0, 0], [1, 1, 7], [1, 1, 2]],
        }[name]
        for behind in (False, True):
            result[f"strided_slice_{name}_{behind}"] = model_of(
                "STRIDED_SLICE", bounds, [shape], strided, behind=behind, **masks
            )
    return result


def _others() -> dict[str, Model]:
    boxes = np.random.default_rng(4).uniform(0, 9, (17, 4)).astype(np.float32)
    boxes[:, 2:] = boxes[:, :2] + 3
    scores = np.random.default_rng(5).permutation(17).astype(np.float32) / 17
    result: dict[str, Model] = {}
    for rows in (5, 40):
        limits: list[Any] = [[np.int32(rows).reshape(())], [np.float32(0.3)], [np.float32(0.2)]]
        four = computed(
            "NON_MAX_SUPPRESSION_V4", [boxes, scores, *limits], [(rows,), ()], dtype="int32"
        )
        five = computed(
            "NON_MAX_SUPPRESSION_V5",
            [boxes, scores, *limits, [np.float32(0)]],
            [(rows,), (rows,), ()],
            dtype="int32",
        )
        five.tensors[five.outputs[1]].type = 0  # float32
        result |= {f"suppression_4_{rows}": four, f"suppression_5_{rows}": five}
    integers = np.random.default_rng(6).integers(-99, 99, (3, 5)).astype(np.int32)
    shifts = np.array([0, 1, 3, 7, 31], np.int32)
    x, y = normal(4, 6, seed="x"), normal(4, 6, seed="y")
    y[0, :3], x[0, 2:4], x[1, 0] = 0, 0, -x[1, 0]
    x[0, 1] = -2
    wide = np.ascontiguousarray(X.transpose(0, 2, 1))
    return {
        **result,
        "reverse_sequence": computed(
            "REVERSE_SEQUENCE",
            [X, [np.array([2, 3, 0, 1], np.int32)]],
            [X.shape],
            "ReverseSequenceOptions",
            SeqDim=0,
            BatchDim=2,
        ),
        "matrix_diagonal": computed("MATRIX_DIAG", [x], [(4, 6, 6)], "MatrixDiagOptions"),
        "matrix_set_diagonal": computed("MATRIX_SET_DIAG", [wide, X[:, 0]], [wide.shape]),
        "matrix_set_diagonal_high": computed("MATRIX_SET_DIAG", [X, X[:, 0]], [X.shape]),
        "rank": computed("RANK", [x], [()], "RankOptions", dtype="int32"),
        "atan2": computed("ATAN2", [y, x], [x.shape], "ATan2Options"),
        "floor_mod": computed("FLOOR_MOD", [x, [np.float32(0.7)]], [x.shape], "FloorModOptions"),
        "right_shift": computed(
            "RIGHT_SHIFT", [integers, [shifts]], [(3, 5)], "RightShiftOptions", dtype="int32"
        ),
        "bitwise_xor": computed(
            "BITWISE_XOR", [integers, integers[:1] * 3], [(3, 5)], "BitwiseXorOptions", "int32"
        ),
        "stablehlo_add": computed("STABLEHLO_ADD", [x, y], [x.shape]),
        "stablehlo_maximum": computed("STABLEHLO_MAXIMUM", [x, y], [x.shape]),
        "shift_left": computed(
            "STABLEHLO_SHIFT_LEFT",
            [integers, np.broadcast_to(shifts, (3, 5))],
            [(3, 5)],
            "StablehloShiftLeftOptions",
            "int32",
        ),
        "l2_pool": model_of(
            "L2_POOL_2D",
            [],
            [(1, 7, 9, 6)],
            "Pool2DOptions",
            Padding=0,
            StrideH=1,
            StrideW=1,
            FilterHeight=2,
            FilterWidth=3,
        ),
    }


INDEXING: dict[str, Model] = {**_gathers(), **_scatters(), **_slices(), **_others()}
