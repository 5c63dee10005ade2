"""Casts of float32 values that an integer type does not hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

import trimtab
from trimtab.program import Program

VALUES = [
    *(0.0, 0.9, -0.9, 2.5, -2.5, 2.0**31, -(2.0**31), 2.0**62),
    *(2.0**63, -(2.0**63), float(np.nextafter(np.float32(2.0**63), np.float32(0)))),
    *(1e19, -1e19, 3e38, -3e38, math.inf, -math.inf),
]


def saturated(value: float) -> int:
    """Rounded toward zero, and limited to int64, in Python's integers."""
    low, high = -(2**63), 2**63 - 1
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


@pytest.mark.parametrize("count", [1, len(VALUES), 1000])
def test_a_value_outside_of_int64_becomes_the_nearest_one_in_it(count: int) -> None:
    program = Program("cast")
    x = program.add_input("x", (count,))
    program.outputs = program.block.add_op("cast", [x], {"to": "i64"})
    values = np.resize(np.array(VALUES, np.float32), count)
    (y,) = trimtab.Session(program).run({"x": values}).values()
    assert y.dtype == np.int64
    assert y.tolist() == [saturated(float(value)) for value in values]
