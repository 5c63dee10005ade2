"""Layer normalization that an exporter composed of primitive operators."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, normal, types

NAME = "recognize_layer_normalization"


def _distance(net: Net, axes: list[int]) -> tuple[str, str]:
    """x minus its mean, and the mean of that squared plus epsilon."""
    distance = net("sub", "x", net("reduce_mean", "x", axes=axes))
    square = net("mul", distance, distance)
    return distance, net("add", net("reduce_mean", square, axes=axes), 1e-5)


def _normalized(net: Net, axes: list[int], form: str) -> str:
    distance, variance = _distance(net, axes)
    match form:
        case "quotient":
            return net("div", distance, net("sqrt", variance))
        case "power":
            return net("div", distance, net("pow", variance, 0.5))
        case "reciprocal":
            return net("mul", distance, net("div", 1.0, net("sqrt", variance)))
        case _:
            return net("mul", net("pow", variance, -0.5), distance)


@pytest.mark.parametrize("form", ["quotient", "power", "reciprocal", "inverse power"])
@pytest.mark.parametrize("axes", [[-1], [1, 2]])
def test_every_spelling_is_recognized_with_its_affine(form: str, axes: list[int]) -> None:
    net = Net(x=(3, 5, 7))
    shape = (5, 7)[-len(axes) :]
    y = net("mul", _normalized(net, axes, form), normal(*shape))
    y = net("add", y, normal(*shape))
    program = after(net.finish(y), NAME)
    assert types(program) == ["layer_normalization"]
    op = program.ops[0]
    assert op.attributes["axis"] == -len(axes)
    assert op.attributes["epsilon"] == pytest.approx(1e-5)
    assert [program.vars[name].shape for name in op.inputs[1:]] == [shape, shape]


def test_a_factor_for_all_elements_is_absorbed_and_one_per_row_is_not() -> None:
    net = Net(x=(3, 5, 7))
    y = net("mul", _normalized(net, [-1], "quotient"), 0.5)
    y = net("mul", y, normal(5, 1))
    program = after(net.finish(y), NAME)
    assert types(program) == ["layer_normalization", "mul"]


def test_a_bias_is_added_to_that_of_the_operator() -> None:
    net = Net(x=(3, 7))
    y = net("layer_normalization", "x", normal(7), normal(7))
    program = after(net.finish(net("add", y, normal(1, 7))), NAME)
    assert types(program) == ["layer_normalization"]


def test_a_factor_after_the_bias_remains() -> None:
    net = Net(x=(3, 7))
    y = net("layer_normalization", "x", normal(7), normal(7))
    program = after(net.finish(net("mul", y, normal(7))), NAME)
    assert types(program) == ["layer_normalization", "mul"]


@pytest.mark.parametrize("axes", [[0], [1], [0, 2]])
def test_other_axes_than_the_last_ones_remain(axes: list[int]) -> None:
    net = Net(x=(3, 5, 7))
    program = after(net.finish(_normalized(net, axes, "quotient")), NAME)
    assert "layer_normalization" not in types(program)


def test_a_mean_of_other_squares_remains() -> None:
    net = Net(x=(3, 7))
    distance, _ = _distance(net, [-1])
    squares = net("reduce_mean", net("mul", "x", "x"), axes=[-1])
    y = net("div", distance, net("sqrt", net("add", squares, 1e-5)))
    assert "layer_normalization" not in types(after(net.finish(y), NAME))
