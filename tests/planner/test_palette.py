"""Palettes of weights, beside uniform steps and exhaustive choices."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import PlanError
from trimtab.planner import planner
from trimtab.planner.packing import palette
from trimtab.planner.plan_file import Plan
from trimtab.profile import find_profile
from trimtab.program import Program
from trimtab.target import Target

RNG = np.random.default_rng(6)


def products(table: np.ndarray) -> np.ndarray:
    """All values that weights may have, float32[column, color]."""
    values = table.astype(np.float32)
    return values[16:, None] * values[None, :16]


@pytest.mark.parametrize("scale", [1e-5, 1.0, 3e4])
def test_each_weight_takes_the_nearest_product_and_the_error_is_below_that_of_steps(
    scale: float,
) -> None:
    w = RNG.standard_normal((40, 9, 5)).astype(np.float32) * np.float32(scale)
    w *= RNG.uniform(0.1, 2, (1, 9, 1)).astype(np.float32)
    w[:, 4] = 0
    table, indices = palette.to_palette(w, 1, "w")
    assert table.dtype == np.float16
    assert (table.shape, indices.shape) == ((25,), w.shape)
    rows = np.moveaxis(w, 1, 0).reshape(9, -1)
    values = products(table)
    chosen = np.take_along_axis(values, np.moveaxis(indices, 1, 0).reshape(9, -1), axis=1)
    distances = np.abs(rows[:, :, None] - values[:, None])
    slack = 1e-6 * np.abs(rows).max()
    assert (np.abs(rows - chosen) <= distances.min(axis=-1) + slack).all()
    assert not chosen[4].any()
    step = np.abs(rows).max(axis=1, keepdims=True) / 7
    steps = np.rint(rows / np.where(step > 0, step, 1)) * step
    assert np.square(rows - chosen).sum() < 0.75 * np.square(rows - steps).sum()


def test_sixteen_values_are_stored_exactly() -> None:
    values = np.linspace(-1, 1, 16, dtype=np.float16)
    w = values[RNG.integers(0, 16, (3, 500))].astype(np.float32)
    w[:, :16] = values
    table, indices = palette.to_palette(w, 0, "w")
    chosen = np.take_along_axis(products(table), indices.astype(np.intp), axis=1)
    np.testing.assert_allclose(chosen, w, atol=1e-3)


def test_indices_lie_two_in_a_byte() -> None:
    table, indices = np.arange(17, dtype=np.float16), np.array([1, 2, 15], np.uint8)
    data = palette.joined(table, indices)
    assert data.tobytes() == table.tobytes() + bytes([0x21, 0x0F])
    assert data.size == palette.stored_bytes(3, 1)


@pytest.mark.parametrize(("profile", "dtype"), [("float32", "i8"), ("full", "u8")])
def test_a_profile_without_u8_has_int8_in_place_of_palettes(profile: str, dtype: str) -> None:
    program = Program("gemm")
    program.add_input("x", (1, 40))
    w = program.block.add_constant(RNG.standard_normal((30, 40)).astype(np.float32), "w")
    program.outputs = program.block.add_op("gemm", ["x", w])
    target = Target.of("aarch64", "cortex-a53").with_profile(find_profile(profile))
    planned = planner.plan(program, target, Plan(weights_type="palette4"))
    assert [planned.vars[op.inputs[0]].dtype for op in planned.ops[:1]] == [dtype]


def test_weights_beyond_f16_are_an_error() -> None:
    with pytest.raises(PlanError, match="too large for f16"):
        palette.to_palette(np.full((2, 40), 1e12, np.float32), 0, "w")
