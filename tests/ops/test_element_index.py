"""Computed indices that lie outside of their axis, where no operator may fail: those of gathers are
clamped to it, and updates of scatters have no effect.
"""

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


@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize("by_element", [False, True])
def test_an_update_outside_of_a_tensor_has_no_effect(
    by_element: bool, dtype: str, reduction: str
) -> None:
    x = np.arange(4 * LENGTH, dtype=np.float32).reshape(LENGTH, 4)
    indices = np.array(INDICES + WIDE * (dtype == "i64"), {"i32": np.int32, "i64": np.int64}[dtype])
    updates = 100.0 + np.arange(len(indices) * 4, dtype=np.float32).reshape(-1, 4)
    want = x.copy()
    for i, update in zip(indices, updates, strict=True):
        if -LENGTH <= i < LENGTH:
            want[i] = update + (want[i] if reduction == "add" else 0)
    indices = np.stack([indices] * 4, 1) if by_element else indices[:, np.newaxis]
    program = Program("updates")
    program.add_input("x", x.shape)
    program.add_input("i", indices.shape, dtype)
    program.add_input("u", updates.shape)
    attributes = {"by_element": by_element, "reduction": reduction}
    program.outputs = program.block.add_op("scatter_nd", ["x", "i", "u"], attributes)
    (y,) = trimtab.Session(program).run({"x": x, "i": indices, "u": updates}).values()
    np.testing.assert_array_equal(y, want)
