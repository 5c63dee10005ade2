"""Scalar factors around a product of computed matrices."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, normal, types


@pytest.mark.parametrize("place", ["a", "b", "both", "result", "all"])
def test_factors_become_one_of_the_smallest_matrix(place: str) -> None:
    net = Net(a=(2, 5, 3), b=(2, 3, 9))
    a = net("mul", "a", 0.5) if place in ("a", "both", "all") else "a"
    b = net("div", "b", 4.0) if place in ("b", "both", "all") else "b"
    y = net("mat_mul", a, b)
    if place in ("result", "all"):
        y = net("div", y, 8.0)
    program = after(net.finish(net("relu", y)), "merge_scales")
    assert types(program) == ["mul", "mat_mul", "relu"]
    assert program.ops[0].inputs[0] == "a"


def test_the_result_may_be_the_smallest() -> None:
    net = Net(a=(2, 64), b=(64, 3))
    y = net("div", net("mat_mul", net("mul", "a", 3.0), "b"), 2.0)
    program = after(net.finish(y), "merge_scales")
    assert types(program) == ["mat_mul", "mul"]


def test_a_matrix_times_itself_is_scaled_once() -> None:
    net = Net(a=(4, 4))
    y = net("relu", net("mul", net("mat_mul", "a", "a"), 3.0))
    assert types(after(net.finish(y), "merge_scales")) in (
        ["mul", "mat_mul", "relu"],
        ["mat_mul", "mul", "relu"],
    )


def test_factors_that_are_read_elsewhere_or_are_no_scalars_stay() -> None:
    net = Net(a=(2, 5, 3), b=(2, 3, 9))
    scaled = net("mul", "a", 0.5)
    y = net("mat_mul", scaled, net("mul", "b", normal(3, 1)))
    program = after(net.finish(net("relu", y), scaled), "merge_scales")
    assert types(program) == ["mul", "mul", "mat_mul", "relu"]


def test_a_result_that_is_an_output_stays_unscaled() -> None:
    net = Net(a=(5, 3), b=(3, 9))
    product = net("mat_mul", "a", "b")
    program = after(net.finish(product, net("mul", product, 2.0)), "merge_scales")
    assert types(program) == ["mat_mul", "mul"]
