"""How often the cells of a sweep are measured."""

from __future__ import annotations

import pytest

from trimtab.bench.jobs import Settings
from trimtab.sweep.measurements import in_blocks


@pytest.mark.parametrize(("launches", "measured"), [(None, 4), (1, 4), (4, 4), (5, 6), (20, 20)])
def test_compared_cells_are_launched_in_whole_blocks_and_at_least_two(
    launches: int | None, measured: int
) -> None:
    assert in_blocks(Settings(launches=launches)).launches == measured
