"""The engine's rearrangement and scaling of weights, beside numpy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.engine import engine


@settings(deadline=None)
@given(
    groups=st.integers(1, 3),
    columns=st.integers(0, 70),
    channels=st.integers(0, 150),
    taps=st.sampled_from([(), (1, 1), (3, 3), (1, 5), (16, 16)]),
    panel=st.integers(1, 48),
    dtype=st.sampled_from(["i1", "f2", "f4", "f8"]),
    padded=st.booleans(),
)
def test_panels_hold_columns_side_by_side(
    groups: int,
    columns: int,
    channels: int,
    taps: tuple[int, ...],
    panel: int,
    dtype: str,
    padded: bool,
) -> None:
    shape = (groups * columns, channels, *taps)
    w = np.random.default_rng(0).integers(-99, 99, shape).astype(dtype)
    expected = []
    for group in range(groups):
        rows = np.moveaxis(w[group * columns : (group + 1) * columns], 1, -1)
        rows = rows.reshape(columns, channels * int(np.prod(taps)))
        for first in range(0, columns, panel):
            part = rows[first : first + panel]
            width = panel if padded else len(part)
            expected.append(np.pad(part, ((0, width - len(part)), (0, 0))).T.ravel())
    stored = engine().store_panels(w, groups, panel, padded)
    assert stored.dtype == w.dtype
    assert np.array_equal(stored, np.concatenate([np.empty(0, w.dtype), *expected]))


def test_panels_need_contiguous_weights_and_whole_groups() -> None:
    w = np.zeros((6, 4), np.float32)
    for wrong, groups, panel in ((w.T, 1, 4), (w[0], 1, 4), (w, 4, 4), (w, 0, 4), (w, 1, 0)):
        with pytest.raises(ValueError, match=r"weights are|columns are"):
            engine().store_panels(wrong, groups, panel, False)


@pytest.mark.parametrize("shape", [(5,), (5, 7), (5, 3, 2, 2), (10, 33)])
def test_scaled_rows_are_rounded_from_double(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    w, factors = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(5)
    by_row = w.astype(np.float64).reshape(5, -1) * factors[:, None]
    scaled = engine().scaled_rows(w, factors)
    assert scaled.shape == shape
    assert scaled.tobytes() == by_row.astype(np.float32).tobytes()


def test_scaled_rows_need_a_factor_for_each() -> None:
    for count in (0, 4):
        with pytest.raises(ValueError, match="one factor per row"):
            engine().scaled_rows(np.zeros((5, 3), np.float32), np.ones(count))
