"""Fusion of activations."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, types
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


def test_bounds_become_the_clamp_and_intersect() -> None:
    net = Net(x=(1, 3, 5, 5))
    y = net("clip", net("relu", net.conv("x", 6)), alpha=-1.0, beta=0.5)
    program = after(net.finish(y), "fuse_activation")
    assert types(program) == ["conv"]
    assert program.ops[0].attributes["clamp_min"] == 0
    assert program.ops[0].attributes["clamp_max"] == 0.5
    assert program.ops[0].attributes["activation"] == ""


def test_a_function_fuses_after_bounds_but_not_before() -> None:
    net = Net(x=(1, 3, 5, 5))
    program = net.finish(net("relu", net("tanh", net("relu", net.conv("x", 6)))))
    assert types(after(program, "fuse_activation")) == ["conv", "relu"]


def test_an_activation_remains_if_its_operand_has_other_readers_or_is_an_output() -> None:
    net = Net(x=(1, 3, 5, 5))
    y, z = net.conv("x", 6), net.conv("x", 6)
    program = net.finish(net("mul", net("relu", y), y), net("relu", z), z)
    assert types(after(program, "fuse_activation")).count("relu") == 2


def test_an_activation_fuses_into_an_addition() -> None:
    net = Net(x=(1, 8), y=(1, 8))
    program = after(net.finish(net("hard_swish", net("add", "x", "y"))), "fuse_activation")
    assert types(program) == ["add"]
