"""The conversion of camera frames beside ncnn's, without compiling it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import committed
from lab.camera import ncnn
from trimtab.errors import UsageError
from trimtab.progress import SILENT


def test_the_operator_takes_at_most_half_of_the_instructions_of_ncnn() -> None:
    (row,) = committed.read(ncnn.NAME).rows
    assert 0 < row["own_instructions"] <= ncnn.BAR * row["ncnn_instructions"]


def test_a_folder_that_is_no_checkout_of_ncnn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no checkout of ncnn"):
        ncnn.measure(tmp_path, SILENT)
