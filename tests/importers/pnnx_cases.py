"""Test cases of single PNNX operators: arguments, weights, input shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.importers.caffe_writer import random
from tests.ops.cases.case import Array

Shape = tuple[int, ...]
IMAGE, SIGNAL, ROWS = (2, 6, 5, 7), (2, 6, 9), (2, 5, 8)


@dataclass(frozen=True)
class Case:
    """An operator of inputs x0, x1, ... of these shapes. `keys`: names of the operands, inputs
    first, then `constants`.
    """

    id: str
    type: str
    params: dict[str, Any] = field(default_factory=dict)
    shapes: tuple[Shape, ...] = (IMAGE,)
    weights: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    tops: int = 1
    low: float = -1.0

    @property
    def name(self) -> str:
        """The name of the case in tests and results."""
        return f"{self.type}-{self.id}"

    @property
    def inputs(self) -> list[Array]:
        """Values of the inputs."""
        return [random(*s, seed=10 + i, low=self.low) * 3 for i, s in enumerate(self.shapes)]


def _w(*shape: int, seed: int = 1) -> Array:
    return random(*shape, seed=seed)


def _convolutions() -> Iterator[Case]:
    weights = {"weight": _w(8, 6, 3, 3), "bias": _w(8, seed=2)}
    base = {"in_channels": 6, "out_channels": 8, "kernel_size": (3, 3), "bias": True}
    forms: dict[str, dict[str, Any]] = {
        "plain": {},
        "stride": {"stride": (2, 1), "padding": (1, 2)},
        "same": {"padding": "same", "dilation": (2, 1)},
        "valid": {"padding": "valid"},
        "reflect": {"padding": (1, 1), "padding_mode": "reflect"},
        "replicate": {"padding": (2, 1), "padding_mode": "replicate"},
        "circular": {"padding": (1, 1), "padding_mode": "circular"},
    }
    for id, params in forms.items():
        yield Case(id, "nn.Conv2d", base | params, weights=weights)
    grouped = base | {"groups": 2, "bias": False}
    yield Case("groups", "nn.Conv2d", grouped, weights={"weight": _w(8, 3, 3, 3)})
    yield Case("no batch", "nn.Conv2d", base, ((6, 5, 7),), weights=weights)
    line = {"in_channels": 6, "out_channels": 4, "kernel_size": (3,), "padding": (1,)}
    one = {"weight": _w(4, 6, 3), "bias": _w(4, seed=2)}
    yield Case("plain", "nn.Conv1d", line, (SIGNAL,), weights=one)
    function = {"weight": _w(4, 6, 3, 3), "bias": _w(4, seed=2)}
    keys = ("input", "weight", "bias")
    yield Case("plain", "F.conv2d", {"padding": (1, 1)}, constants=function, keys=keys)
    signal = {"weight": _w(4, 6, 3), "bias": _w(4, seed=2)}
    yield Case("plain", "F.conv1d", {"stride": (2,)}, (SIGNAL,), constants=signal, keys=keys)
    up = {"in_channels": 6, "out_channels": 4, "kernel_size": (4, 4), "stride": (2, 2)}
    weights = {"weight": _w(6, 4, 4, 4), "bias": _w(4, seed=2)}
    yield Case("plain", "nn.ConvTranspose2d", up, weights=weights)
    padded = up | {"padding": (1, 1), "output_padding": (1, 0)}
    yield Case("padded", "nn.ConvTranspose2d", padded, weights=weights)
    yield Case(
        "groups",
        "nn.ConvTranspose2d",
        up | {"groups": 2, "bias": False, "dilation": (2, 1)},
        weights={"weight": _w(6, 2, 4, 4)},
    )
    row: dict[str, Any] = {"in_channels": 6, "out_channels": 4, "kernel_size": 3, "stride": 2}
    one = {"weight": _w(6, 4, 3), "bias": _w(4, seed=2)}
    yield Case("plain", "nn.ConvTranspose1d", row, (SIGNAL,), weights=one)
    yield Case("plain", "F.conv_transpose2d", {"stride": (2, 2)}, constants=weights, keys=keys)
    yield Case("plain", "F.conv_transpose1d", {"stride": (2,)}, (SIGNAL,), constants=one, keys=keys)


def _pools() -> Iterator[Case]:
    windows: dict[str, dict[str, Any]] = {
        "plain": {"kernel_size": (2, 2)},
        "stride": {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0)},
        "ceil": {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1), "ceil_mode": True},
        "ceil of 2": {"kernel_size": (2, 2), "stride": (2, 2), "ceil_mode": True},
    }
    for id, params in windows.items():
        yield Case(id, "nn.MaxPool2d", params)
        yield Case(id, "nn.AvgPool2d", params)
    yield Case("dilation", "nn.MaxPool2d", {"kernel_size": (2, 2), "dilation": (2, 1)})
    uncounted = windows["ceil"] | {"count_include_pad": False}
    yield Case("uncounted", "nn.AvgPool2d", uncounted)
    yield Case("divisor", "nn.AvgPool2d", windows["stride"] | {"divisor_override": 5})
    for name in ("max_pool", "avg_pool"):
        params = {"kernel_size": (2, 2), "stride": None, "ceil_mode": False}
        yield Case("plain", f"F.{name}2d", params, keys=("input",))
        yield Case("plain", f"F.{name}1d", {"kernel_size": (2,)}, (SIGNAL,), keys=("input",))
    for name in ("MaxPool", "AvgPool"):
        yield Case("plain", f"nn.{name}1d", {"kernel_size": 3, "padding": 1}, (SIGNAL,))
    for name, function in (("Avg", "avg"), ("Max", "max")):
        for size in ((1, 1), (7, 3), (4, 5), (None, 2)):
            params = {"output_size": size}
            yield Case(f"{size}".replace(" ", ""), f"nn.Adaptive{name}Pool2d", params)
        f = f"F.adaptive_{function}_pool"
        yield Case("plain", f"{f}2d", {"output_size": (3, 3)}, keys=("input",))
        yield Case("plain", f"{f}1d", {"output_size": (4,)}, (SIGNAL,), keys=("input",))
        yield Case("plain", f"nn.Adaptive{name}Pool1d", {"output_size": 3}, (SIGNAL,))


def _activations() -> Iterator[Case]:
    modules: dict[str, tuple[str, dict[str, Any]]] = {
        "ReLU": ("relu", {}),
        "ReLU6": ("relu6", {}),
        "LeakyReLU": ("leaky_relu", {"negative_slope": 0.2}),
        "RReLU": ("rrelu", {"lower": 0.1, "upper": 0.3}),
        "ELU": ("elu", {"alpha": 0.7}),
        "SELU": ("selu", {}),
        "CELU": ("celu", {"alpha": 0.7}),
        "GELU": ("gelu", {}),
        "Sigmoid": ("sigmoid", {}),
        "LogSigmoid": ("logsigmoid", {}),
        "SiLU": ("silu", {}),
        "Mish": ("mish", {}),
        "Tanh": ("tanh", {}),
        "Tanhshrink": ("tanhshrink", {}),
        "Softplus": ("softplus", {"beta": 2.0, "threshold": 20.0}),
        "Softsign": ("softsign", {}),
        "Hardswish": ("hardswish", {}),
        "Hardsigmoid": ("hardsigmoid", {}),
        "Hardtanh": ("hardtanh", {"min_val": -0.5, "max_val": 2.0}),
        "Threshold": ("threshold", {"threshold": 0, "value": 0}),
        "Softmax": ("softmax", {"dim": 1}),
        "Softmin": ("softmin", {"dim": -1}),
        "LogSoftmax": ("log_softmax", {"dim": 2}),
        "GLU": ("glu", {"dim": 1}),
    }
    for module, (function, params) in modules.items():
        yield Case("plain", f"nn.{module}", params)
        yield Case("plain", f"F.{function}", params, keys=("input",))
    yield Case("plain", "nn.Softmax2d")
    yield Case("tanh", "nn.GELU", {"approximate": "tanh"})
    yield Case("channels", "nn.PReLU", {"num_parameters": 6}, weights={"weight": _w(6)})
    yield Case("shared", "nn.PReLU", {"num_parameters": 1}, weights={"weight": _w(1)})
    keys = ("input", "weight")
    yield Case("plain", "F.prelu", constants={"weight": _w(6)}, keys=keys)
    for name in ("relu", "sigmoid", "tanh", "square", "clone"):
        yield Case("plain", f"torch.{name}", keys=("input",))
    for name in ("softmax", "log_softmax"):
        yield Case("plain", f"torch.{name}", {"dim": -1}, keys=("input",))
    yield Case("both", "torch.clamp", {"min": -1, "max": 0.5}, keys=("input",))
    yield Case("below", "torch.clamp", {"min": 0.25, "max": None}, keys=("input",))
    for name in ("Identity", "Dropout", "Dropout2d"):
        yield Case("plain", f"nn.{name}")
    yield Case("plain", "F.dropout", {"p": 0.5, "training": False}, keys=("input",))


def _normalizations() -> Iterator[Case]:
    scale, shift = _w(6, seed=2), _w(6, seed=3)
    affine = {"weight": scale, "bias": shift}
    mean, variance = _w(6, seed=4), random(6, seed=5, low=0.1)
    running = {"running_mean": mean, "running_var": variance}
    params = {"num_features": 6, "eps": 0.001}
    yield Case("plain", "nn.BatchNorm2d", params, weights=running | affine)
    yield Case("no factors", "nn.BatchNorm2d", params | {"affine": False}, weights=running)
    yield Case("plain", "nn.BatchNorm1d", params, (SIGNAL,), weights=running | affine)
    yield Case("rows", "nn.BatchNorm1d", params, ((3, 6),), weights=running | affine)
    yield Case(
        "plain",
        "F.batch_norm",
        {"eps": 0.001},
        constants=running | affine,
        keys=("input", "running_mean", "running_var", "weight", "bias"),
    )
    plain = {"num_features": 6, "affine": True}
    yield Case("plain", "nn.InstanceNorm2d", plain, weights=affine)
    yield Case("no factors", "nn.InstanceNorm2d", {"num_features": 6, "eps": 0.01})
    yield Case("plain", "nn.InstanceNorm1d", plain, (SIGNAL,), weights=affine)
    yield Case("plain", "F.instance_norm", {"eps": 0.01}, keys=("input",))
    groups = {"num_groups": 3, "num_channels": 6, "eps": 0.001}
    yield Case("plain", "nn.GroupNorm", groups, weights=affine)
    yield Case("no factors", "nn.GroupNorm", groups | {"affine": False})
    keys = ("input", "weight", "bias")
    yield Case("plain", "F.group_norm", {"num_groups": 2}, constants=affine, keys=keys)
    rows = {"weight": _w(8, seed=2), "bias": _w(8, seed=3)}
    yield Case("rows", "nn.LayerNorm", {"normalized_shape": (8,)}, (ROWS,), weights=rows)
    both = {"weight": _w(5, 8, seed=2), "bias": _w(5, 8, seed=3)}
    yield Case("two", "nn.LayerNorm", {"normalized_shape": (5, 8)}, (ROWS,), weights=both)
    shape = {"normalized_shape": (8,)}
    bare = shape | {"elementwise_affine": False}
    yield Case("no factors", "nn.LayerNorm", bare, (ROWS,))
    yield Case("plain", "F.layer_norm", shape, (ROWS,), constants=rows, keys=keys)
    yield Case("plain", "nn.RMSNorm", shape | {"eps": 0.01}, (ROWS,), weights={"weight": _w(8)})
    yield Case("plain", "F.rms_norm", shape, (ROWS,), constants={"weight": _w(8)}, keys=keys[:2])
    lrn = {"size": 3, "alpha": 0.5, "beta": 0.6, "k": 1.5}
    yield Case("plain", "nn.LocalResponseNorm", lrn)
    yield Case("plain", "F.local_response_norm", lrn, keys=("input",))
    yield Case("plain", "F.normalize", {"p": 2, "dim": 1, "eps": 0.001}, keys=("input",))
    yield Case("sum", "F.normalize", {"p": 1, "dim": -1}, keys=("input",))


def _reductions() -> Iterator[Case]:
    for name in ("mean", "sum", "amax", "amin"):
        with_dims = {"dim": (2, 3), "keepdim": True}
        yield Case("kept", f"torch.{name}", with_dims, keys=("input",))
        yield Case("dropped", f"torch.{name}", {"dim": (-1,)}, keys=("input",))
    for name in ("max", "min"):
        yield Case("all", f"torch.{name}", keys=("input",))
    yield Case("places", "torch.max", {"dim": 1, "keepdim": False}, keys=("input",), tops=2)
    yield Case("plain", "torch.argmax", {"dim": 1}, keys=("input",))
    yield Case("kept", "torch.argmax", {"dim": -1, "keepdim": True}, keys=("input",))
    for order in (1, 2):
        params = {"p": order, "dim": (1,), "keepdim": True}
        yield Case(f"{order}", "torch.norm", params, keys=("input",))
    yield Case("plain", "torch.logsumexp", {"dim": (1,), "keepdim": False}, keys=("input",))
    for name in ("var", "std"):
        sample: dict[str, Any] = {"dim": (2, 3), "unbiased": True, "keepdim": True}
        yield Case("plain", f"torch.{name}", sample, keys=("input",))
        yield Case("biased", f"torch.{name}", sample | {"unbiased": False}, keys=("input",))


def _matrices() -> Iterator[Case]:
    weights = {"weight": _w(4, 8), "bias": _w(4, seed=2)}
    params = {"in_features": 8, "out_features": 4, "bias": True}
    yield Case("rows", "nn.Linear", params, (ROWS,), weights=weights)
    yield Case("vector", "nn.Linear", params, ((8,),), weights=weights)
    bare = params | {"bias": False}
    yield Case("no bias", "nn.Linear", bare, ((3, 8),), weights={"weight": _w(4, 8)})
    yield Case(
        "plain", "F.linear", {}, ((3, 8),), constants=weights, keys=("input", "weight", "bias")
    )
    other = ("input", "other")
    yield Case("matrices", "torch.matmul", {}, ((5, 8), (8, 3)), keys=other)
    yield Case("broadcast", "torch.matmul", {}, ((2, 3, 5, 8), (3, 8, 4)), keys=other)
    yield Case("vector", "torch.matmul", {}, ((2, 5, 8), (8,)), keys=other)
    yield Case("weights", "torch.matmul", {}, (ROWS,), constants={"other": _w(8, 3)}, keys=other)
    yield Case("plain", "torch.mm", {}, ((5, 8), (8, 3)), keys=("input", "mat2"))
    yield Case("plain", "torch.bmm", {}, ((2, 5, 8), (2, 8, 3)), keys=("input", "mat2"))
    factors = {"alpha": 0.5, "beta": 2.0}
    yield Case(
        "plain", "torch.addmm", factors, ((5, 3), (5, 8), (8, 3)), keys=("input", "mat1", "mat2")
    )
    yield Case(
        "plain",
        "torch.baddbmm",
        factors,
        ((2, 5, 3), (2, 5, 8), (2, 8, 3)),
        keys=("input", "batch1", "batch2"),
    )
    heads = ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8))
    names = ("query", "key", "value")
    type = "F.scaled_dot_product_attention"
    yield Case("plain", type, {"is_causal": False}, heads, keys=names)
    yield Case("scale", type, {"scale": 0.2}, heads, keys=names)
    yield Case("mask", type, {}, (*heads, (5, 7)), keys=(*names, "attn_mask"))
    joint = {
        "in_proj_weight": _w(24, 8),
        "in_proj_bias": _w(24, seed=2),
        "out_proj.weight": _w(8, 8, seed=3),
        "out_proj.bias": _w(8, seed=4),
    }
    params = {"embed_dim": 8, "num_heads": 2, "bias": True, "add_bias_kv": False}
    mha = "nn.MultiheadAttention"
    yield Case("self", mha, params | {"batch_first": True}, (ROWS,), weights=joint)
    yield Case("three", mha, params, ((5, 2, 8), (7, 2, 8), (7, 2, 8)), weights=joint)
    apart = {
        "q_proj_weight": _w(8, 8),
        "k_proj_weight": _w(8, 6, seed=6),
        "v_proj_weight": _w(8, 4, seed=7),
        **{name: joint[name] for name in ("in_proj_bias", "out_proj.weight", "out_proj.bias")},
    }
    sizes = {"kdim": 6, "vdim": 4, "batch_first": True}
    shapes = ((2, 5, 8), (2, 7, 6), (2, 7, 4))
    yield Case("sizes", mha, params | sizes, shapes, weights=apart)


def _movements() -> Iterator[Case]:
    x = ("input",)
    yield Case("channels", "torch.cat", {"dim": 1}, (IMAGE, (2, 2, 5, 7)))
    yield Case("last", "torch.cat", {"dim": -1}, (ROWS, ROWS))
    yield Case("plain", "torch.stack", {"dim": 1}, (ROWS, ROWS))
    sizes = {"split_size_or_sections": (2, 4), "dim": 1}
    yield Case("sizes", "torch.split", sizes, keys=("tensor",), tops=2)
    yield Case(
        "size", "torch.split", {"split_size_or_sections": 4, "dim": 3}, keys=("tensor",), tops=2
    )
    yield Case("plain", "torch.chunk", {"chunks": 3, "dim": 3}, keys=x, tops=3)
    yield Case("plain", "torch.tensor_split", {"sections": 4, "dim": 3}, keys=x, tops=4)
    yield Case("places", "torch.tensor_split", {"indices": (2, -3), "dim": 3}, keys=x, tops=3)
    yield Case("plain", "torch.unbind", {"dim": 0}, keys=x, tops=2)
    yield Case("plain", "torch.narrow", {"dim": 3, "start": 2, "length": 4}, keys=x)
    yield Case("plain", "torch.select", {"dim": 1, "index": -2}, keys=x)
    yield Case(
        "plain",
        "torch.index_select",
        {"dim": 1},
        constants={"index": np.array([3, 0, 3], np.int64)},
        keys=("input", "index"),
    )
    yield Case("plain", "Tensor.permute", {"dims": (0, 2, 3, 1)}, keys=x)
    yield Case("plain", "torch.permute", {"dims": (0, -1, 1, 2)}, keys=x)
    yield Case("plain", "torch.transpose", {"dim0": 1, "dim1": -1}, keys=x)
    yield Case("plain", "torch.t", {}, ((3, 4),), keys=x)
    yield Case("plain", "Tensor.reshape", {"shape": (2, -1, 7)}, keys=x)
    yield Case("plain", "Tensor.reshape_as", {}, (ROWS, (2, 8, 5)), keys=("input", "other"))
    yield Case("plain", "torch.flatten", {"start_dim": 1, "end_dim": 2}, keys=x)
    yield Case("plain", "nn.Flatten", {})
    yield Case("plain", "Tensor.unflatten", {"dim": 1, "sizes": (2, -1)}, keys=x)
    yield Case("one", "torch.squeeze", {"dim": 1}, ((2, 1, 3, 1),), keys=x)
    yield Case("all", "torch.squeeze", {}, ((2, 1, 3, 1),), keys=x)
    yield Case("plain", "torch.unsqueeze", {"dim": -1}, keys=x)
    yield Case("plain", "torch.tile", {"dims": (2, 1, 3)}, (ROWS,), keys=x)
    yield Case("plain", "torch.flip", {"dims": (2, 3)}, keys=x)
    yield Case("plain", "torch.roll", {"shifts": (2, -3), "dims": (2, 3)}, keys=x)
    yield Case("constant", "F.pad", {"pad": (1, 2, 3, 0), "mode": "constant", "value": 0.5}, keys=x)
    yield Case("reflect", "F.pad", {"pad": (1, 2, 3, 0), "mode": "reflect", "value": None}, keys=x)
    yield Case("crop", "F.pad", {"pad": (-1, 2)}, keys=x)
    yield Case("plain", "nn.ZeroPad2d", {"padding": (1, 2, 3, 0)})
    yield Case("plain", "nn.ConstantPad2d", {"padding": (1, 2, 3, 0), "value": 0.5})
    for name in ("Reflection", "Replication"):
        yield Case("plain", f"nn.{name}Pad2d", {"padding": (1, 2, 3, 0)})
        yield Case("plain", f"nn.{name}Pad1d", {"padding": (1, 2)}, (SIGNAL,))
    yield Case("plain", "nn.ConstantPad1d", {"padding": 2, "value": 0.5}, (SIGNAL,))
    shuffled = ((2, 12, 3, 5),)
    yield Case("plain", "nn.PixelShuffle", {"upscale_factor": 2}, shuffled)
    yield Case("plain", "F.pixel_shuffle", {"upscale_factor": 2}, shuffled, keys=x)
    blocks = ((2, 3, 6, 8),)
    yield Case("plain", "nn.PixelUnshuffle", {"downscale_factor": 2}, blocks)
    yield Case("plain", "F.pixel_unshuffle", {"downscale_factor": 2}, blocks, keys=x)
    yield Case("plain", "nn.ChannelShuffle", {"groups": 2})


def _resizes() -> Iterator[Case]:
    modes: dict[str, dict[str, Any]] = {
        "nearest": {"mode": "nearest"},
        "exact": {"mode": "nearest-exact"},
        "linear": {"mode": "bilinear", "align_corners": False},
        "aligned": {"mode": "bilinear", "align_corners": True},
    }
    for id, params in modes.items():
        yield Case(f"{id} size", "nn.Upsample", params | {"size": (10, 13)})
        yield Case(f"{id} double", "nn.Upsample", params | {"scale_factor": (2.0, 2.0)})
        yield Case(
            f"{id} factor", "F.interpolate", params | {"scale_factor": (1.5, 0.6)}, keys=("input",)
        )
    yield Case(
        "signal", "F.interpolate", {"mode": "linear", "size": (12,)}, (SIGNAL,), keys=("input",)
    )
    yield Case("plain", "F.upsample", {"mode": "nearest", "size": (9, 9)}, keys=("input",))
    yield Case("plain", "nn.UpsamplingNearest2d", {"scale_factor": (2.0, 2.0)})
    yield Case("plain", "nn.UpsamplingBilinear2d", {"size": (10, 13)})


def cases() -> list[Case]:
    """All cases."""
    return [
        *_convolutions(),
        *_pools(),
        *_activations(),
        *_normalizations(),
        *_reductions(),
        *_matrices(),
        *_movements(),
        *_resizes(),
    ]
