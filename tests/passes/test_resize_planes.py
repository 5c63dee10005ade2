"""Resizes whose results are read in plain order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.small_programs import Net, evaluate, normal
from trimtab import passes


def types(program: Any) -> list[str]:
    return [op.type for op in passes.optimize(program).ops]


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("size", [(10, 14), (11, 9), (5, 7), (15, 1)])
def test_a_lone_resize_computes_the_same_without_conversions(
    mode: str, size: tuple[int, int]
) -> None:
    net = Net(x=(2, 3, 5, 7))
    program = net.finish(net("resize", "x", sizes=size, mode=mode))
    grows = size[0] * size[1] >= 35
    assert ("convert_layout" not in types(program)) == grows
    x = normal(2, 3, 5, 7)
    ((exact,), (y,)) = (
        evaluate(one, {"x": x}).values() for one in (program, passes.optimize(program))
    )
    assert y.shape == (2, 3, *size)
    np.testing.assert_allclose(y, exact, rtol=1e-5, atol=1e-6)


def test_a_resize_of_few_channels_between_a_convolution_and_an_output_converts_its_input() -> None:
    net = Net(x=(1, 3, 8, 8))
    program = net.finish(net("sigmoid", net("resize", net.conv("x", 8), sizes=(32, 32))))
    expected = ["conv", "convert_layout", "reshape", "resize", "reshape", "sigmoid"]
    assert types(program)[-6:] == expected


def test_a_resize_between_convolutions_stays_in_nhwc() -> None:
    net = Net(x=(1, 8, 8, 8))
    up = net("resize", net.conv("x", 8), sizes=(16, 16))
    names = types(net.finish(net.conv(up, 8)))
    at = names.index("resize")
    assert names[at - 1 : at + 2] == ["conv", "resize", "conv"]
