"""Outcomes of the cases of a plug-in's operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.errors import UsageError
from trimtab.plugin_kit import cases
from trimtab.plugin_kit.cases import CaseOutcome


def test_each_machine_has_a_row_with_its_right_cases_above_its_failed_ones() -> None:
    outcomes = [
        CaseOutcome("this machine", "a", ""),
        CaseOutcome("this machine", "b", "1 of 2 elements are wrong"),
        CaseOutcome("board", "a", ""),
        CaseOutcome("board", "b", ""),
    ]
    assert cases.table(outcomes).rows == [
        ("this machine", "1 of 2", ""),
        ("", "b", "1 of 2 elements are wrong"),
        ("board", "2 of 2", ""),
    ]


def test_a_folder_that_is_no_active_plug_in_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the plug-in is not active"):
        cases.find(str(tmp_path))
