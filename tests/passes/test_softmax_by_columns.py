"""Softmax along an axis that is not the last one in memory."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net, evaluate, normal
from trimtab import passes


@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [
        ((2, 5, 3, 7), 1, "softmax_columns"),
        ((2, 5, 3, 7), -2, "softmax_columns"),
        ((2, 5, 3, 7), 3, "softmax"),
        ((6, 4), 0, "softmax_columns"),
        ((6, 3), 0, "softmax"),  # few columns
        ((1, 300, 70), 1, "softmax_columns"),
        ((5, 31, 4), 2, "softmax_columns"),  # short rows, not a multiple of those of a call
        ((64, 1), -1, "softmax_columns"),
        ((63, 4), 1, "softmax"),
        ((3, 64, 16), 2, "softmax"),
    ],
)
def test_the_axis_decides(shape: tuple[int, ...], axis: int, expected: str) -> None:
    net = Net(x=shape)
    program = net.finish(net("softmax", "x", axis=axis))
    optimized = passes.optimize(program)
    assert [op.type for op in optimized.ops] == [expected]
    x = normal(*shape) * 10
    powers = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    exact = powers / powers.sum(axis, keepdims=True)
    for one in (optimized, program):
        (y,) = evaluate(one, {"x": x}).values()
        np.testing.assert_allclose(y, exact, rtol=1e-5, atol=1e-30)


def test_channels_are_the_last_axis_of_nhwc() -> None:
    net = Net(x=(1, 8, 6, 5))
    across = net("softmax", net.conv("x", 16), axis=1)
    along = net("softmax", net.conv(across, 16), axis=3)
    program = net.finish(net.conv(along, 8))
    types = [op.type for op in passes.optimize(program).ops if "softmax" in op.type]
    assert types == ["softmax", "softmax_columns"]
    x = normal(1, 8, 6, 5)
    (exact,), (y,) = (
        trimtab.Session(one).run({"x": x}).values() for one in (program, passes.optimize(program))
    )
    np.testing.assert_allclose(y, exact, rtol=1e-5, atol=1e-6)
