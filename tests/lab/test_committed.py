"""Committed results and the baseline check."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import lab
from lab import committed
from lab.committed import Baseline, Results
from trimtab.errors import FileAccessError, RegressionError

COUNTS = Baseline("counts", ("network", "core"), ("count", "bytes"))
ROWS = [
    {"network": "a", "core": "x", "count": 100, "bytes": None, "note": "first"},
    {"network": "b", "core": "x", "count": 2.5, "bytes": 7},
]


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lab, "FOLDER", tmp_path)
    committed.write("counts", Results(command="./inv count", versions={"it": "1.0"}, rows=ROWS))
    return tmp_path / "counts" / "result.json"


def row(network: str, count: float, size: int | None = None) -> dict[str, object]:
    return {"network": network, "core": "x", "count": count, "bytes": size}


def test_written_results_are_read_back(checkout: Path) -> None:
    results = committed.read("counts")
    assert (results.command, results.versions, results.rows) == ("./inv count", {"it": "1.0"}, ROWS)
    assert results.date == json.loads(checkout.read_text())["date"]


def test_a_expectedhas_a_line_of_its_own(checkout: Path) -> None:
    lines = checkout.read_text().splitlines()
    for expected in ROWS:
        assert sum(line.strip().rstrip(",") == json.dumps(expected) for line in lines) == 1


def test_results_replace_all_older_ones(checkout: Path) -> None:
    committed.write("counts", Results(command="", versions={}, rows=ROWS[:1]))
    assert committed.read("counts").rows == ROWS[:1]


def test_some_figures_replace_those_of_the_same_keys_and_are_named_in_a_note() -> None:
    some = Results(
        date="2026-01-02", command="", versions={"new": "2"}, notes=["c fails"],
        rows=[row("b", 3, 8)],
    )  # fmt: skip
    merged = COUNTS.merged(some)
    assert merged.rows == [ROWS[0], row("b", 3, 8)]
    assert merged.versions == {"it": "1.0", "new": "2"}
    assert merged.notes == ["c fails", "Measured on 2026-01-02: b x."]
    today = Results(command="", versions={}, rows=[row("c", 1)])
    more = COUNTS.merged(today)
    assert [one["network"] for one in more.rows] == ["a", "b", "c"]
    assert not more.notes
    assert replace(COUNTS, name="new").merged(today) is today


def test_the_updates_of_a_day_share_a_note() -> None:
    days = (("a", "2026-01-02"), ("b", "2026-01-02"), ("a", "2026-01-02"), ("c", "2026-01-03"))
    for network, date in days:
        some = Results(date=date, command="", versions={}, rows=[row(network, 3)])
        committed.write("counts", COUNTS.merged(some))
    notes = ["Measured on 2026-01-02: a x, b x.", "Measured on 2026-01-03: c x."]
    assert committed.read("counts").notes == notes


@pytest.mark.parametrize("count", [50.0, 100.0, 102.0])
def test_a_figure_may_be_two_percent_worse(count: float) -> None:
    COUNTS.check([row("a", count)])


def test_the_error_of_a_worse_figure_has_both_numbers() -> None:
    with pytest.raises(RegressionError, match=r"a x count: 100 to 102\.1 \(\+2\.1%\)"):
        COUNTS.check([row("a", 102.1), row("b", 2.5, 7)])
    with pytest.raises(RegressionError, match=r"b x bytes: 7 to 8"):
        COUNTS.check([row("b", 2.5, 8)])


def test_a_figure_without_a_committed_one_is_refused() -> None:
    with pytest.raises(RegressionError, match="no figure is committed for c x count"):
        COUNTS.check([row("c", 1.0)])
    with pytest.raises(RegressionError, match="no figure is committed for a x bytes"):
        COUNTS.check([row("a", 100, 1)])


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"a": 1}', '{"command": "", "versions": {}, "rows": [1]}'],
)
def test_damaged_results_are_a_file_access_error(checkout: Path, text: str) -> None:
    checkout.write_text(text)
    with pytest.raises(FileAccessError, match="cannot be read"):
        COUNTS.check(ROWS)
