"""Test cases of single Caffe layers."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from tests.importers.caffe_case import IMAGE, Case
from tests.importers.caffe_case import case_of as _case
from tests.importers.caffe_writer import random
from tests.ops.cases.case import Array


def _convolutions() -> list[Case]:
    w, b = random(8, 6, 3, 3, seed=1), random(8, seed=2)
    taps = random(6, 1, 3, 3, seed=4)

    def depthwise(x: Array) -> Array:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        y: Array = (windows * taps.reshape(6, 1, 1, 3, 3)).sum((4, 5))
        return y

    return [
        _case("plain", "Convolution", _conv("num_output: 8 kernel_size: 3"), blobs=(w, b)),
        _case(
            "group and stride",
            "Convolution",
            _conv("num_output: 8 kernel_size: 3 pad: 1 stride: 2 group: 2 bias_term: false"),
            blobs=(random(8, 3, 3, 3, seed=3),),
        ),
        _case(
            "oblong",
            "Convolution",
            _conv(
                "num_output: 8 kernel_h: 3 kernel_w: 1 pad_h: 2 pad_w: 0 stride_h: 1 stride_w: 2"
            ),
            blobs=(random(8, 6, 3, 1, seed=3), b),
        ),
        _case(
            "repeated fields",
            "Convolution",
            _conv("num_output: 8 kernel_size: [3, 1] pad: 1 pad: 0 stride: 2 stride: 1"),
            blobs=(random(8, 6, 3, 1, seed=3), b),
        ),
        _case(
            "dilation",
            "Convolution",
            _conv("num_output: 8 kernel_size: 3 dilation: 2 pad: 2 engine: CUDNN"),
            blobs=(w, b),
        ),
        _case(
            "depthwise",
            "DepthwiseConvolution",
            _conv("num_output: 6 kernel_size: 3 pad: 1 group: 6 bias_term: false"),
            blobs=(taps,),
            formula=depthwise,
        ),
        _case(
            "implicit group",
            "ConvolutionDepthwise",
            _conv("num_output: 6 kernel_size: 3 pad: 1 bias_term: false"),
            blobs=(taps,),
            formula=depthwise,
        ),
        _case(
            "plain",
            "Deconvolution",
            _conv("num_output: 5 kernel_size: 4 stride: 2 pad: 1"),
            blobs=(random(6, 5, 4, 4, seed=5), random(5, seed=6)),
        ),
        _case(
            "group",
            "Deconvolution",
            _conv("num_output: 6 kernel_size: 4 stride: 2 pad: 1 group: 6 bias_term: false"),
            blobs=(random(6, 1, 4, 4, seed=5),),
        ),
        _case(
            "image",
            "InnerProduct",
            "inner_product_param { num_output: 5 }",
            blobs=(random(5, 378, seed=7), random(5, seed=8)),
        ),
        _case(
            "axis 2 transposed",
            "InnerProduct",
            "inner_product_param { num_output: 5 axis: 2 transpose: true bias_term: false }",
            blobs=(random(63, 5, seed=7),),
            formula=lambda x: x.reshape(2, 6, 63) @ random(63, 5, seed=7),
        ),
    ]


def _conv(param: str) -> str:
    return f"convolution_param {{ {param} }}"


def _pools() -> list[Case]:
    cases = []
    for pool, (name, window) in itertools.product(
        ("MAX", "AVE"),
        {
            "ceil": "kernel_size: 3 stride: 2",
            "ceil with padding": "kernel_size: 3 stride: 2 pad: 1",
            "even": "kernel_size: 2 stride: 2",
            "even with padding": "kernel_size: 2 stride: 2 pad: 1",
            "clipped window": "kernel_size: 3 stride: 3 pad: 1",
            "oblong": "kernel_h: 2 kernel_w: 3 stride_h: 1 stride_w: 2 pad_h: 0 pad_w: 1",
            "global": "global_pooling: true",
        }.items(),
    ):
        param = f"pooling_param {{ pool: {pool} {window} }}"
        cases.append(_case(f"{pool} {name}", "Pooling", param))
        cases.append(_case(f"{pool} {name} of 8 x 8", "Pooling", param, shapes=((1, 3, 8, 8),)))
    cases.append(
        _case(
            "floor",
            "Pooling",
            "pooling_param { pool: MAX kernel_size: 2 stride: 2 round_mode: FLOOR }",
            formula=lambda x: x[:, :, :6, :8].reshape(2, 6, 3, 2, 4, 2).max((3, 5)),
        )
    )
    return cases


def _activations() -> list[Case]:
    slope = random(6, seed=9)
    return [
        _case("plain", "ReLU"),
        _case("slope", "ReLU", "relu_param { negative_slope: 0.1 }"),
        _case("channels", "PReLU", blobs=(slope,)),
        _case("vector", "PReLU", shapes=((3, 6),), blobs=(slope,)),
        _case(
            "shared",
            "PReLU",
            "prelu_param { channel_shared: true }",
            blobs=(np.array([0.3], np.float32),),
            formula=lambda x: np.where(x > 0, x, np.float32(0.3) * x),
        ),
        _case("alpha", "ELU", "elu_param { alpha: 0.7 }", formula=_elu),
        _case("plain", "Sigmoid"),
        _case("plain", "TanH"),
        _case("plain", "AbsVal"),
        _case("plain", "BNLL"),
        _case("plain", "Power", "power_param { power: 2 scale: 0.5 shift: 1.5 }"),
        _case("scale and shift", "Power", "power_param { scale: -2 shift: .25 }"),
        _case("plain", "Exp"),
        _case("base 2", "Exp", "exp_param { base: 2 scale: 0.5 shift: 1e-1 }"),
        _case("plain", "Log", low=0.1, formula=np.log),
        _case(
            "base 2",
            "Log",
            "log_param { base: 2 scale: 3 shift: 1 }",
            low=0.1,
            formula=lambda x: np.log2(3 * x + 1),
        ),
        _case("plain", "ReLU6"),
        _case("plain", "Mish", formula=lambda x: x * np.tanh(np.log1p(np.exp(x)))),
        _case(
            "plain",
            "Swish",
            "swish_param { beta: 1.5 }",
            formula=lambda x: x / (1 + np.exp(-1.5 * x)),
        ),
        _case(
            "bounds", "Clip", "clip_param { min: -1 max: 0.5 }", formula=lambda x: x.clip(-1, 0.5)
        ),
        _case("training", "Dropout", "dropout_param { dropout_ratio: 0.5 }"),
    ]


def _elu(x: Array) -> Array:
    return np.where(x > 0, x, 0.7 * (np.exp(x) - 1))


def _normalizations() -> list[Case]:
    mean, variance = random(6, seed=1), random(6, seed=2, low=0.1)
    factor = np.array([0.5], np.float32)
    two = (IMAGE, IMAGE)

    def batch_norm(x: Array) -> Array:
        m, v = (a.reshape(6, 1, 1) * 2.0 for a in (mean, variance))
        return (x - m) / np.sqrt(v + 1e-3)

    def across(x: Array) -> Array:
        padded = np.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, 3, axis=1)
        y: Array = x * (2 + 2.0 * windows.mean(4)) ** -0.75
        return y

    def within(x: Array) -> Array:
        padded = np.pad(x * x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        y: Array = x * (1 + 2.0 * windows.mean((4, 5))) ** -0.75
        return y

    def mvn(axes: tuple[int, ...]) -> Callable[[Array], Array]:
        return lambda x: (x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True) + 1e-9)

    return [
        _case(
            "statistics",
            "BatchNorm",
            "batch_norm_param { eps: 0.001 use_global_stats: true }",
            blobs=(mean, variance, factor),
            formula=batch_norm,
        ),
        _case("opencv", "BatchNorm", blobs=(mean, variance, factor)),
        _case("across", "LRN", "lrn_param { local_size: 3 alpha: 2 beta: 0.5 }"),
        _case("offset", "LRN", "lrn_param { local_size: 3 alpha: 2 k: 2 }", formula=across),
        _case(
            "within",
            "LRN",
            "lrn_param { local_size: 3 alpha: 2 norm_region: WITHIN_CHANNEL }",
            formula=within,
        ),
        _case("channel", "MVN", formula=mvn((2, 3))),
        _case("image", "MVN", "mvn_param { across_channels: true }", formula=mvn((1, 2, 3))),
        _case(
            "mean only",
            "MVN",
            "mvn_param { normalize_variance: false }",
            formula=lambda x: x - x.mean((2, 3), keepdims=True),
        ),
        _case(
            "pixels",
            "Normalize",
            "norm_param { across_spatial: false channel_shared: false }",
            blobs=(random(6, seed=3),),
        ),
        _case("image", "Normalize", blobs=(np.array([20], np.float32),), shapes=((1, 6, 7, 9),)),
        _case("channels", "Softmax"),
        _case("axis 3", "Softmax", "softmax_param { axis: 3 }"),
        _case("vector", "Softmax", shapes=((3, 6),)),
        _case(
            "learned",
            "Scale",
            "scale_param { bias_term: true }",
            blobs=(random(6, seed=3), random(6, seed=4)),
        ),
        _case("without bias", "Scale", blobs=(random(6, seed=3),)),
        _case(
            "two axes",
            "Scale",
            "scale_param { axis: 2 num_axes: 2 }",
            blobs=(random(7, 9, seed=3),),
            formula=lambda x: x * random(7, 9, seed=3),
        ),
        _case(
            "second operand",
            "Scale",
            "scale_param { axis: 0 }",
            shapes=(IMAGE, (2, 6)),
            formula=lambda x, s: x * s[:, :, None, None],
        ),
        _case(
            "learned",
            "Bias",
            blobs=(random(6, seed=3),),
            formula=lambda x: x + random(6, seed=3).reshape(6, 1, 1),
        ),
        _case(
            "second operand",
            "Bias",
            "bias_param { axis: 0 }",
            shapes=two,
            formula=lambda x, b: x + b,
        ),
        _case(
            "plain", "Axpy", shapes=((2, 6, 1, 1), IMAGE, IMAGE), formula=lambda a, x, y: a * x + y
        ),
        _case(
            "folded",
            "BN",
            "bn_param { bn_mode: INFERENCE }",
            blobs=(random(1, 6, 1, 1, seed=3), random(1, 6, 1, 1, seed=4)),
            formula=lambda x: x * random(1, 6, 1, 1, seed=3) + random(1, 6, 1, 1, seed=4),
        ),
    ]


def _movements() -> list[Case]:
    two = (IMAGE, IMAGE)
    return [
        _case("sum", "Eltwise", shapes=two),
        _case("sum of three", "Eltwise", shapes=(*two, IMAGE)),
        _case("coefficients", "Eltwise", "eltwise_param { coeff: 1 coeff: -0.5 }", shapes=two),
        _case("product", "Eltwise", "eltwise_param { operation: PROD }", shapes=two),
        _case("maximum", "Eltwise", "eltwise_param { operation: 2 }", shapes=two),
        _case("channels", "Concat", shapes=(IMAGE, (2, 3, 7, 9))),
        _case("axis", "Concat", "concat_param { axis: -1 }", shapes=two),
        _case("old axis", "Concat", "concat_param { concat_dim: 0 }", shapes=two, formula=_rows),
        _case(
            "offset",
            "Crop",
            "crop_param { axis: 2 offset: 1 offset: 3 }",
            shapes=(IMAGE, (2, 6, 4, 5)),
        ),
        _case(
            "one offset", "Crop", "crop_param { axis: 2 offset: 2 }", shapes=(IMAGE, (2, 6, 4, 5))
        ),
        _case("plain", "Flatten"),
        _case("axes", "Flatten", "flatten_param { axis: 2 end_axis: 3 }"),
        _case("dims", "Reshape", "reshape_param { shape { dim: 0 dim: 3 dim: -1 dim: 9 } }"),
        _case(
            "axes",
            "Reshape",
            "reshape_param { shape { dim: 2 dim: 3 } axis: 1 num_axes: 1 }",
            formula=lambda x: x.reshape(2, 2, 3, 7, 9),
        ),
        _case("order", "Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }"),
        _case(
            "short order",
            "Permute",
            "permute_param { order: 1 }",
            formula=lambda x: x.transpose(1, 0, 2, 3),
        ),
        _case(
            "axis",
            "Tile",
            "tile_param { axis: 1 tiles: 3 }",
            formula=lambda x: np.tile(x, (1, 3, 1, 1)),
        ),
        _case("group", "ShuffleChannel", "shuffle_channel_param { group: 3 }"),
        _case("stride", "Reorg", "reorg_param { stride: 2 }", shapes=((2, 8, 6, 4),)),
        _case("size", "Interp", "interp_param { height: 13 width: 5 }"),
        _case("zoom", "Interp", "interp_param { zoom_factor: 3 pad_beg: 0 }"),
        _case(
            "shrink",
            "Interp",
            "interp_param { shrink_factor: 2 }",
            formula=lambda x: x[:, :, ::2, ::2],
        ),
        _case(
            "scale",
            "Upsample",
            "upsample_param { scale: 2 }",
            formula=lambda x: x.repeat(2, 2).repeat(2, 3),
        ),
        _case(
            "axis",
            "ArgMax",
            "argmax_param { axis: 1 }",
            formula=lambda x: x.argmax(1, keepdims=True),
        ),
        _case(
            "image and value",
            "ArgMax",
            "argmax_param { out_max_val: true }",
            shapes=((3, 5),),
            formula=lambda x: np.stack([x.argmax(1), x.max(1)], 1)[..., None],
        ),
        _case("sum", "Reduction", "reduction_param { axis: 2 }", formula=lambda x: x.sum((2, 3))),
        _case(
            "mean",
            "Reduction",
            "reduction_param { operation: MEAN axis: 1 coeff: 2 }",
            formula=lambda x: 2 * x.mean((1, 2, 3)),
        ),
        _case(
            "absolute sum",
            "Reduction",
            "reduction_param { operation: ASUM axis: 1 }",
            formula=lambda x: abs(x).sum((1, 2, 3)),
        ),
        _case(
            "sum of squares",
            "Reduction",
            "reduction_param { operation: SUMSQ axis: 3 }",
            formula=lambda x: (x * x).sum(3),
        ),
    ]


def _rows(a: Array, b: Array) -> Array:
    return np.concatenate([a, b])


def cases() -> list[Case]:
    """All cases."""
    return [*_convolutions(), *_pools(), *_activations(), *_normalizations(), *_movements()]
