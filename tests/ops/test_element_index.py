"""Computed indices that lie outside of their axis: clamped to it, as no operator may fail then."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from trimtab.program import Program

pytestmark = pytest.mark.bounds

LENGTH = 5
INDICES = [0, LENGTH - 1, LENGTH, LENGTH + 1, 2**31 - 1, -1, -LENGTH, -LENGTH - 1, -(2**31)]
WIDE = [2**40, -(2**40), 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("type", ["gather", "gather_elements"])
def test_an_index_outside_of_its_axis_is_that_of_the_nearest_element(
    type: str, axis: int, dtype: str
) -> None:
    shape = (LENGTH, 4) if axis == 0 else (4, LENGTH)
    x = np.arange(4 * LENGTH, dtype=np.float32).reshape(shape)
    indices = np.array(INDICES + WIDE * (dtype == "i64"), {"i32": np.int32, "i64": np.int64}[dtype])
    nearest = np.where(indices < 0, np.maximum(indices, -LENGTH) + LENGTH, indices).clip(0, 4)
    want = np.take(x, nearest, axis)
    if type == "gather_elements":
        indices = np.stack([indices] * 4, 1 - axis)
    program = Program("indices")
    program.add_input("x", shape)
    program.add_input("i", indices.shape, dtype)
    program.outputs = program.block.add_op(type, ["x", "i"], {"axis": axis})
    (y,) = trimtab.Session(program).run({"x": x, "i": indices}).values()
    np.testing.assert_array_equal(y, want)
