"""Test cases of single Paddle operators: arithmetic and data movement."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.importers.caffe_writer import random
from tests.importers.paddle_writer import Net
from tests.ops.cases.case import Array

IMAGE = random(2, 6, 9, 7, seed=1, low=-3, high=3)
POSITIVE = random(2, 6, 9, 7, seed=2, low=0.1, high=3)


def single(
    type: str,
    inputs: dict[str, Array],
    out: str = "Out",
    parameters: dict[str, Array] | None = None,
    extra: str = "",
    **attributes: Any,
) -> Net:
    """One operator: slots of inputs and of parameters are their names; `extra` output slots."""
    parameters = parameters or {}
    net = Net(feeds=dict(inputs), parameters=dict(parameters), fetches=["y"])
    slots = {name.rstrip("0123456789"): "" for name in (*inputs, *parameters)}
    for name in (*inputs, *parameters):
        slot = name.rstrip("0123456789")
        slots[slot] = f"{slots[slot]} {name}".strip()
    outputs = {out: "y", **{slot: slot.lower() for slot in extra.split()}}
    for name in ("Mean", "Variance"):
        if name in parameters:
            outputs[f"{name}Out"] = name
    return net.add(type, slots, outputs, **attributes)


def _conv(x: Array, w: Array, type: str = "conv2d", **attributes: Any) -> Net:
    defaults = {"strides": [1, 1], "paddings": [0, 0], "dilations": [1, 1], "groups": 1}
    return single(type, {"Input": x}, "Output", {"Filter": w}, **{**defaults, **attributes})


def _convolutions() -> dict[str, Net]:
    w = random(4, 6, 3, 3, seed=3)
    nhwc = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
    depthwise = random(6, 1, 3, 3, seed=4)
    up = random(6, 4, 3, 3, seed=5)
    return {
        "conv": _conv(IMAGE, w),
        "conv_strides_pads": _conv(IMAGE, w, strides=[2, 1], paddings=[1, 2], dilations=[1, 2]),
        "conv_four_pads": _conv(IMAGE, w, paddings=[0, 1, 2, 1]),
        "conv_same": _conv(IMAGE, w, strides=[2, 2], padding_algorithm="SAME", paddings=[5, 5]),
        "conv_valid": _conv(IMAGE, w, padding_algorithm="VALID", paddings=[5, 5]),
        "conv_groups": _conv(IMAGE, random(4, 3, 3, 3, seed=3), groups=2),
        "conv_nhwc": _conv(nhwc, w, data_format="NHWC", paddings=[1, 1]),
        "depthwise": _conv(IMAGE, depthwise, "depthwise_conv2d", groups=6, paddings=[1, 1]),
        "transposed": _conv(IMAGE, up, "conv2d_transpose", strides=[2, 2], paddings=[1, 1]),
        "transposed_size": _conv(
            IMAGE, up, "conv2d_transpose", strides=[2, 2], paddings=[1, 0], output_size=[18, 15]
        ),
        "transposed_extra": _conv(
            IMAGE, up, "conv2d_transpose", strides=[2, 2], output_padding=[1, 0]
        ),
        "transposed_groups": _conv(
            IMAGE, random(6, 2, 3, 3, seed=6), "conv2d_transpose", groups=3, strides=[2, 1]
        ),
        "transposed_depthwise": _conv(
            IMAGE, depthwise, "depthwise_conv2d_transpose", groups=6, strides=[2, 2]
        ),
    }


def _pool(**attributes: Any) -> Net:
    defaults = {"strides": [2, 2], "paddings": [0, 0], "ksize": [3, 3], "pooling_type": "max"}
    return single("pool2d", {"X": IMAGE}, **{**defaults, **attributes})


def _pools() -> dict[str, Net]:
    result = {}
    for kind in ("max", "avg"):
        forms: dict[str, dict[str, Any]] = {
            "plain": {},
            "pads": {"paddings": [1, 1], "ksize": [3, 2]},
            "four_pads": {"paddings": [0, 1, 1, 0]},
            "ceil": {"ceil_mode": True, "ksize": [2, 2]},
            "ceil_pads": {"ceil_mode": True, "paddings": [1, 1]},
            "ceil_inclusive": {"ceil_mode": True, "paddings": [1, 0], "exclusive": False},
            "inclusive": {"paddings": [1, 1], "exclusive": False},
            "same": {"padding_algorithm": "SAME"},
            "whole": {"global_pooling": True},
            "adaptive_one": {"adaptive": True, "ksize": [1, 1]},
            "adaptive_even": {"adaptive": True, "ksize": [3, 7]},
            "adaptive_uneven": {"adaptive": True, "ksize": [4, 3]},
        }
        if kind == "max":
            # Paddle computes these with max_pool2d_with_index.
            adaptive = {n: forms.pop(n) for n in list(forms) if n.startswith("adaptive")}
            for n, form in adaptive.items():
                result[f"max_{n}"] = single(
                    "max_pool2d_with_index", {"X": IMAGE}, extra="Mask", strides=[1, 1], **form
                )
        result |= {f"{kind}_{n}": _pool(pooling_type=kind, **form) for n, form in forms.items()}
    return result


def _activations() -> dict[str, Net]:
    unary: list[tuple[str, dict[str, Any]]] = [
        ("relu", {}),
        ("relu6", {"threshold": 6.0}),
        ("leaky_relu", {"alpha": 0.1}),
        ("elu", {"alpha": 0.7}),
        ("sigmoid", {}),
        ("tanh", {}),
        ("hard_swish", {"threshold": 6.0, "scale": 6.0, "offset": 3.0}),
        ("hard_sigmoid", {"slope": 0.3, "offset": 0.4}),
        ("swish", {"beta": 1.0}),
        ("silu", {}),
        ("mish", {}),
        ("gelu", {"approximate": False}),
        ("gelu", {"approximate": True}),
        ("softplus", {"beta": 2.0, "threshold": 20.0}),
        ("logsigmoid", {}),
        ("exp", {}),
        ("abs", {}),
        ("square", {}),
        ("clip", {"min": -0.5, "max": 1.5}),
        ("scale", {"scale": 2.0, "bias": 0.5, "bias_after_scale": False}),
        ("scale", {"scale": 2.0, "bias": 0.5, "bias_after_scale": True}),
        ("softmax", {"axis": -1}),
        ("softmax", {"axis": 1}),
        ("log_softmax", {"axis": 1}),
    ]
    result = {
        f"{type}_{i}": single(type, {"X": IMAGE}, **attributes)
        for i, (type, attributes) in enumerate(unary)
    }
    for type in ("sqrt", "rsqrt", "log", "reciprocal"):
        result[type] = single(type, {"X": POSITIVE})
    result["pow"] = single("pow", {"X": POSITIVE}, factor=1.5)
    for mode, shape in (("all", (1,)), ("channel", (1, 6, 1, 1)), ("element", (1, 6, 9, 7))):
        result[f"prelu_{mode}"] = single(
            "prelu", {"X": IMAGE}, parameters={"Alpha": random(*shape, seed=7)}, mode=mode
        )
    for way in ("downgrade_in_infer", "upscale_in_train"):
        result[f"dropout_{way}"] = single(
            "dropout",
            {"X": IMAGE},
            extra="Mask",
            dropout_prob=0.3,
            is_test=True,
            dropout_implementation=way,
        )
    return result


def _elementwise() -> dict[str, Net]:
    result = {}
    for name in ("add", "sub", "mul", "div", "max", "min"):
        result[name] = single(f"elementwise_{name}", {"X": IMAGE, "Y": POSITIVE}, axis=-1)
    shapes: list[tuple[tuple[int, ...], int]] = [((6,), 1), ((6, 9), 1), ((2, 6), 0), ((9, 7), -1)]
    for shape, axis in [*shapes, ((7,), -1), ((2, 6, 1, 1), -1), ((1,), -1)]:
        y = random(*shape, seed=8)
        name = "x".join(map(str, shape))
        result[f"axis_{name}"] = single("elementwise_add", {"X": IMAGE, "Y": y}, axis=axis)
        result[f"axis_weight_{name}"] = single(
            "elementwise_mul", {"X": IMAGE}, parameters={"Y": y}, axis=axis
        )
    result["sum"] = single("sum", {"X0": IMAGE, "X1": POSITIVE, "X2": IMAGE})
    return result


def _normalizations() -> dict[str, Net]:
    channels = {n: random(6, seed=i, low=0.2, high=2) for i, n in enumerate(("Scale", "Bias"))}
    statistics = {
        n: random(6, seed=9 + i, low=0.2, high=2) for i, n in enumerate(("Mean", "Variance"))
    }
    nhwc = np.ascontiguousarray(IMAGE[:, :, :6].transpose(0, 2, 3, 1))
    norm = {"epsilon": 1e-3, "is_test": True}
    extra = "SavedMean SavedVariance"
    everything = {n: random(6 * 9 * 7, seed=i, low=0.2, high=2) for i, n in enumerate(channels)}
    return {
        "batch_norm": single(
            "batch_norm", {"X": IMAGE}, "Y", {**channels, **statistics}, extra, **norm
        ),
        "batch_norm_nhwc": single(
            "batch_norm",
            {"X": nhwc},
            "Y",
            {**channels, **statistics},
            extra,
            **norm,
            data_layout="NHWC",
        ),
        "instance_norm": single(
            "instance_norm", {"X": IMAGE}, "Y", channels, "SavedMean SavedVariance", epsilon=1e-3
        ),
        "layer_norm": single(
            "layer_norm",
            {"X": IMAGE},
            "Y",
            everything,
            "Mean Variance",
            begin_norm_axis=1,
            epsilon=1e-3,
        ),
        "group_norm": single(
            "group_norm", {"X": IMAGE}, "Y", channels, "Mean Variance", groups=3, epsilon=1e-3
        ),
        "lrn": single("lrn", {"X": IMAGE}, extra="MidOut", n=5, k=1.5, alpha=0.02, beta=0.6),
        "norm": single("norm", {"X": IMAGE}, extra="Norm", axis=1, epsilon=1e-3),
        "p_norm": single("p_norm", {"X": IMAGE}, axis=1, porder=2.0, keepdim=True),
    }


def _products() -> dict[str, Net]:
    x, w = random(3, 4, 5, seed=1), random(5, 6, seed=2)
    y = random(3, 5, 6, seed=3)
    return {
        "mul": single("mul", {"X": x}, parameters={"Y": random(20, 6, seed=4)}, x_num_col_dims=1),
        "mul_rows": single("mul", {"X": x}, parameters={"Y": w}, x_num_col_dims=2),
        "mul_computed": single("mul", {"X": x, "Y": w}, x_num_col_dims=2),
        "matmul": single("matmul", {"X": x, "Y": y}, alpha=0.5),
        "matmul_transposed": single(
            "matmul", {"X": np.ascontiguousarray(x.transpose(0, 2, 1)), "Y": y}, transpose_X=True
        ),
        "matmul_v2": single(
            "matmul_v2", {"X": x}, parameters={"Y": w}, trans_x=False, trans_y=False
        ),
        "matmul_v2_transposed": single(
            "matmul_v2", {"X": x}, parameters={"Y": np.ascontiguousarray(w.T)}, trans_y=True
        ),
        "matmul_v2_vector": single("matmul_v2", {"X": x}, parameters={"Y": w[:, 0].copy()}),
        "fc": single(
            "fc",
            {"Input": x},
            parameters={"W": random(20, 6, seed=4), "Bias": random(6, seed=5)},
            in_num_col_dims=1,
            activation_type="relu",
        ),
    }


def _movements() -> dict[str, Net]:
    x = {"X": IMAGE}
    axes: dict[str, Any] = {"axes": [2, 3], "starts": [1, -5], "ends": [100, -1]}
    split = Net({"X": IMAGE}, fetches=["a", "b", "c"])
    parts = Net({"X": IMAGE}, fetches=["a", "b"])
    return {
        "concat": single("concat", {"X0": IMAGE, "X1": POSITIVE}, axis=1),
        "concat_back": single("concat", {"X0": IMAGE, "X1": POSITIVE}, axis=-1),
        "stack": single("stack", {"X0": IMAGE, "X1": POSITIVE}, "Y", axis=1),
        "split_equal": split.add("split", {"X": "X"}, {"Out": "a b c"}, num=3, axis=1),
        "split_sizes": parts.add("split", {"X": "X"}, {"Out": "a b"}, sections=[2, -1], axis=2),
        "slice": single("slice", {"Input": IMAGE}, **axes),
        "slice_decrease": single(
            "slice", {"Input": IMAGE}, axes=[1], starts=[2], ends=[3], decrease_axis=[1]
        ),
        "strided_slice": single(
            "strided_slice",
            {"Input": IMAGE},
            axes=[2, 3],
            starts=[0, 6],
            ends=[9, 0],
            strides=[2, -2],
            infer_flags=[1, 1],
        ),
        "reshape": single("reshape", x, shape=[0, -1, 7]),
        "reshape2": single("reshape2", x, extra="XShape", shape=[0, 0, -1]),
        "transpose": single("transpose2", x, extra="XShape", axis=[0, 2, 3, 1]),
        "flatten": single("flatten2", x, extra="XShape", axis=2),
        "flatten_range": single(
            "flatten_contiguous_range", x, extra="XShape", start_axis=1, stop_axis=-2
        ),
        "unsqueeze": single("unsqueeze2", x, extra="XShape", axes=[0, 2]),
        "squeeze": single("squeeze2", {"X": IMAGE[:1, :, :1]}, extra="XShape", axes=[0, 2]),
        "pad3d": single("pad3d", {"X": IMAGE[:, :, None]}, paddings=[1, 2, 3, 0, 0, 1], value=0.5),
        "pad3d_replicate": single(
            "pad3d", {"X": IMAGE[:, :, None]}, paddings=[1, 2, 3, 0, 0, 0], mode="replicate"
        ),
        "pad": single("pad", x, paddings=[0, 1, 1, 0, 2, 0, 0, 3], pad_value=-1.0),
        "expand": single("expand_v2", {"X": IMAGE[:, :1]}, shape=[-1, 6, -1, -1]),
        "tile": single("tile", x, repeat_times=[2, 1, 3]),
        "pixel_shuffle": single("pixel_shuffle", {"X": random(2, 8, 3, 2)}, upscale_factor=2),
        "pixel_unshuffle": single("pixel_unshuffle", {"X": random(2, 2, 4, 6)}, downscale_factor=2),
        "shuffle_channel": single("shuffle_channel", x, group=3),
        "gather": single("gather", x, parameters={"Index": np.array([1, 0, 1], np.int64)}, axis=0),
        "mean": single("mean", x),
        "reduce_mean": single("reduce_mean", x, dim=[2, 3], keep_dim=True),
        "reduce_sum": single("reduce_sum", x, dim=[-1], keep_dim=False),
        "reduce_max": single("reduce_max", x, dim=[1], keep_dim=False),
        "reduce_all": single("reduce_min", x, dim=[0], reduce_all=True),
        "arg_max": single("arg_max", x, axis=1, keepdims=False, dtype=3),
        "arg_min": single("arg_min", x, axis=2, keepdims=True, dtype=2),
        "cast": single("cast", x, in_dtype=5, out_dtype=2),
    }


CASES: dict[str, Net] = {
    **_convolutions(),
    **_pools(),
    **_activations(),
    **_elementwise(),
    **_normalizations(),
    **_products(),
    **_movements(),
}
