"""Passes that put operators into the epilogue of others, and that recognize formulas."""

from __future__ import annotations

import math

import pytest

from tests.small_programs import Net, after, normal, types
from trimtab import schema

ACTIVATIONS = sorted(
    name
    for name, op in schema.operators().items()
    if op.activation and name not in ("relu", "clip", "log", "sqrt")
)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_becomes_the_epilogue_of_a_convolution(activation: str) -> None:
    net = Net(x=(1, 3, 5, 5))
    program = after(net.finish(net(activation, net.conv("x", 6))), "fuse_activation")
    assert types(program) == ["conv"]
    assert program.ops[0].attributes["activation"] == activation


def test_bounds_become_the_clamp_and_narrow_each_other() -> None:
    net = Net(x=(1, 3, 5, 5))
    y = net("clip", net("relu", net.conv("x", 6)), alpha=-1.0, beta=0.5)
    program = after(net.finish(y), "fuse_activation")
    assert types(program) == ["conv"]
    assert program.ops[0].attributes["clamp_min"] == 0
    assert program.ops[0].attributes["clamp_max"] == 0.5
    assert program.ops[0].attributes["activation"] == ""


def test_a_function_fuses_behind_bounds_but_bounds_not_behind_a_function() -> None:
    net = Net(x=(1, 3, 5, 5))
    program = net.finish(net("relu", net("tanh", net("relu", net.conv("x", 6)))))
    assert types(after(program, "fuse_activation")) == ["conv", "relu"]


def test_an_activation_stays_when_its_operand_is_read_elsewhere_or_leaves() -> None:
    net = Net(x=(1, 3, 5, 5))
    y, z = net.conv("x", 6), net.conv("x", 6)
    program = net.finish(net("mul", net("relu", y), y), net("relu", z), z)
    assert types(after(program, "fuse_activation")).count("relu") == 2


def test_an_addition_takes_an_activation() -> None:
    net = Net(x=(1, 8), y=(1, 8))
    program = after(net.finish(net("hard_swish", net("add", "x", "y"))), "fuse_activation")
    assert types(program) == ["add"]


def test_a_residual_addition_and_its_activation_become_one_convolution() -> None:
    net = Net(x=(1, 6, 5, 5))
    y = net.conv(net("relu", net.conv("x", 6, 3)), 6, 3)
    program = after(net.finish(net("relu", net("add", "x", y))), "fuse_residual", "fuse_activation")
    assert types(program) == ["conv", "conv"]
    assert program.ops[1].inputs[3] == "x"
    assert program.ops[1].attributes["clamp_min"] == 0


def test_a_residual_addition_fuses_into_the_later_of_two_convolutions() -> None:
    net = Net(x=(1, 6, 5, 5))
    shortcut, middle = net.conv("x", 6), net("abs", "x")
    y = net.conv(middle, 6, 3)
    program = after(net.finish(net("add", shortcut, y)), "fuse_residual")
    assert types(program) == ["conv", "abs", "conv"]
    assert program.ops[2].inputs[3] == shortcut


def test_a_residual_addition_fuses_into_a_matrix_product() -> None:
    net = Net(x=(3, 4), y=(3, 5))
    program = after(net.finish(net("add", net("gemm", "x", normal(5, 4)), "y")), "fuse_residual")
    assert types(program) == ["gemm"]


def test_an_addition_that_broadcasts_or_doubles_is_no_residual() -> None:
    net = Net(x=(1, 6, 5, 5), s=(1, 6, 1, 1))
    y, z = net.conv("x", 6), net.conv("x", 6)
    program = net.finish(net("add", y, "s"), net("add", z, z))
    assert types(after(program, "fuse_residual")).count("add") == 2


def test_a_residual_of_a_bounded_product_is_added_after_the_bound() -> None:
    net = Net(x=(1, 6, 5, 5))
    program = net.finish(net("add", net("relu", net.conv("x", 6)), "x"))
    changed = after(program, "fuse_residual", "fuse_activation", "fuse_residual")
    assert types(changed) == ["conv", "add"]


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("kind", ["mean", "max"])
def test_a_reduction_over_pixels_becomes_a_global_pool(kind: str, keep: bool) -> None:
    net = Net(x=(2, 3, 5, 4))
    y = net(f"reduce_{kind}", "x", axes=[-1, 2], keep_dims=keep)
    pool = "global_average_pool" if kind == "mean" else "global_max_pool"
    program = after(net.finish(y), "canonicalize_reduce")
    assert types(program) == [pool, *([] if keep else ["reshape"])]


def test_a_pool_over_the_whole_image_becomes_global() -> None:
    net = Net(x=(2, 3, 5, 4))
    program = net.finish(
        net("average_pool", "x", kernel_shape=[5, 4]), net("max_pool", "x", kernel_shape=[5, 3])
    )
    assert types(after(program, "canonicalize_reduce")) == ["global_average_pool", "max_pool"]


def test_a_spelled_out_channel_shuffle_is_recognized() -> None:
    net = Net(x=(2, 6, 4, 5))
    y = net("reshape", "x", shape=[2, 3, 2, 4, 5])
    y = net("reshape", net("transpose", y, permutation=[0, 2, 1, 3, 4]), shape=[2, 6, 4, 5])
    program = after(net.finish(y), "recognize_channel_shuffle")
    assert types(program) == ["channel_shuffle"]
    assert program.ops[0].attributes["group"] == 3


def test_a_transpose_that_mixes_channels_and_pixels_is_no_shuffle() -> None:
    net = Net(x=(2, 6, 4, 5))
    y = net("reshape", "x", shape=[2, 3, 8, 5])
    y = net("reshape", net("transpose", y, permutation=[0, 2, 1, 3]), shape=[2, 6, 4, 5])
    assert "channel_shuffle" not in types(after(net.finish(y), "recognize_channel_shuffle"))


def formula(name: str, net: Net) -> str:
    """A function as exporters spell it."""
    x = "x"
    half = net("mul", x, 0.5) if name == "gelu-halved-first" else ""
    bounded = net("clip", net("add", x, 3.0), alpha=0.0, beta=6.0) if "hard" in name else ""
    match name:
        case "swish":
            return net("mul", x, net("sigmoid", x))
        case "swish-scaled":
            return net("mul", net("sigmoid", net("mul", x, 1.702)), x)
        case "hard_swish-divided":
            return net("div", net("mul", x, bounded), 6.0)
        case "hard_swish-gate-first":
            return net("mul", net("div", bounded, 6.0), x)
        case "hard_swish-factor":
            return net("mul", net("mul", x, 1 / 6), bounded)
        case "hard_swish-of-hard_sigmoid":
            return net("mul", x, net("hard_sigmoid", x, alpha=1 / 6, beta=0.5))
        case "hard_sigmoid":
            return net("div", bounded, 6.0)
        case "mish":
            return net("mul", x, net("tanh", net("softplus", x)))
        case "mish-primitive":
            return net("mul", x, net("tanh", net("log", net("add", net("exp", x), 1.0))))
        case "softplus":
            return net("log", net("add", net("exp", x), 1.0))
        case "gelu":
            gate = net("add", net("erf", net("div", x, math.sqrt(2))), 1.0)
            return net("mul", net("mul", x, gate), 0.5)
        case "gelu-halved-first":
            return net("mul", half, net("add", net("erf", net("mul", x, math.sqrt(0.5))), 1.0))
        case _:
            cube = net("mul", net("pow", x, 3.0), 0.044715)
            inner = net("tanh", net("mul", net("add", x, cube), math.sqrt(2 / math.pi)))
            return net("mul", net("mul", x, 0.5), net("add", inner, 1.0))


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("swish", "swish"),
        ("swish-scaled", "swish"),
        ("hard_swish-divided", "hard_swish"),
        ("hard_swish-gate-first", "hard_swish"),
        ("hard_swish-factor", "hard_swish"),
        ("hard_swish-of-hard_sigmoid", "hard_swish"),
        ("hard_sigmoid", "hard_sigmoid"),
        ("mish", "mish"),
        ("mish-primitive", "mish"),
        ("softplus", "softplus"),
        ("gelu", "gelu"),
        ("gelu-halved-first", "gelu"),
        ("gelu-tanh", "gelu"),
    ],
)
def test_a_formula_is_recognized(name: str, type: str) -> None:
    net = Net(x=(1, 6, 5, 5))
    program = net.finish(formula(name, net))
    recognize = [f"recognize_{f}" for f in ("hard_sigmoid", "hard_swish", "swish", "mish", "gelu")]
    assert types(after(program, "eliminate_dead_code", *recognize)) == [type]


def test_formulas_with_another_constant_are_not_recognized() -> None:
    net = Net(x=(1, 6))
    wrong = net("mul", "x", net("clip", net("add", "x", 2.0), alpha=0.0, beta=6.0))
    shifted = net("mul", "x", net("sigmoid", net("add", "x", 1.0)))
    half = net("mul", "x", net("hard_sigmoid", "x", alpha=0.2, beta=0.5))
    recognize = [f"recognize_{f}" for f in ("hard_sigmoid", "hard_swish", "swish")]
    found = types(after(net.finish(wrong, shifted, half), *recognize))
    assert not {"swish", "hard_swish"} & set(found)


def test_a_recognized_function_leaves_what_others_read() -> None:
    net = Net(x=(1, 6))
    gate = net("sigmoid", "x")
    program = net.finish(net("mul", "x", gate), net("neg", gate))
    assert types(after(program, "recognize_swish")) == ["sigmoid", "swish", "neg"]


def test_a_strided_1x1_convolution_reads_a_copy_of_its_pixels() -> None:
    net = Net(x=(2, 6, 5, 8))
    y = net.conv("x", 7, strides=(2, 3), dilations=(2, 2))
    program = after(net.finish(net("relu", y)), "subsample_pointwise")
    assert types(program) == ["slice", "conv", "relu"]
    assert program.vars[program.ops[0].outputs[0]].shape == (2, 6, 3, 3)
    assert program.ops[1].attributes["strides"] == (1, 1)


def test_other_strided_convolutions_read_their_input() -> None:
    net = Net(x=(1, 6, 5, 8))
    padded = net("conv", "x", normal(4, 6, 1, 1), strides=(2, 2), pads=(1, 1, 1, 1))
    wide = net.conv("x", 4, 3, strides=(2, 2))
    groups = net.conv("x", 6, group=6, strides=(2, 2))
    program = after(net.finish(padded, wide, groups), "subsample_pointwise")
    assert types(program) == ["conv"] * 3
