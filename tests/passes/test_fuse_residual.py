"""Fusion of residual additions."""

from __future__ import annotations

from tests.small_programs import Net, after, normal, types


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


def test_a_residual_addition_fuses_into_a_gemm() -> None:
    net = Net(x=(3, 4), y=(3, 5))
    program = after(net.finish(net("add", net("gemm", "x", normal(5, 4)), "y")), "fuse_residual")
    assert types(program) == ["gemm"]


def test_an_addition_that_broadcasts_or_doubles_remains() -> None:
    net = Net(x=(1, 6, 5, 5), s=(1, 6, 1, 1))
    y, z = net.conv("x", 6), net.conv("x", 6)
    program = net.finish(net("add", y, "s"), net("add", z, z))
    assert types(after(program, "fuse_residual")).count("add") == 2


def test_a_residual_after_a_clamp_remains_an_addition() -> None:
    net = Net(x=(1, 6, 5, 5))
    program = net.finish(net("add", net("relu", net.conv("x", 6)), "x"))
    changed = after(program, "fuse_residual", "fuse_activation", "fuse_residual")
    assert types(changed) == ["conv", "add"]
