"""Runs side by side: which ratios are differences, and what makes runs hard to compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import make_header, write_record
from trimtab.compare import side_by_side
from trimtab.results import records
from trimtab.results.records import Record, Status


def record(folder: Path, **changes: Any) -> Record:
    """A record whose header differs in some fields."""
    written = records.read(write_record(folder, **changes.pop("facts", {})))
    return replace(written, header=replace(written.header, **changes))


def test_exact_counts_differ_and_times_of_separate_measurements_do_not(tmp_path: Path) -> None:
    runs = [
        records.read(
            write_record(
                tmp_path / str(i),
                is_emulated=True,
                instructions=count,
                binary_bytes=size,
                samples=[time] * 12,
            )
        )
        for i, (count, size, time) in enumerate([(100, 1000, 10_000), (110, 1000, 20_000)])
    ]
    rows = {row.key: row for row in side_by_side.compare(runs).rows}
    assert rows["latency_instructions"].ratios[0] is not None
    assert rows["latency_instructions"].ratios[0].is_real
    assert rows["latency_instructions"].ratios[0].value == pytest.approx(1.1)
    equal = rows["binary_bytes"].ratios[0]
    assert equal is not None
    assert equal.is_real is False
    timed = [
        record(tmp_path / f"t{i}", facts={"samples": [ns] * 12})
        for i, ns in enumerate((1000, 3000))
    ]
    (ratio,) = next(row for row in side_by_side.compare(timed).rows if row.key == "latency").ratios
    assert ratio is not None
    assert (ratio.value, ratio.is_real) == (3.0, None)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ("model", "The runs are of different models."),
        ("device", "The runs are on different devices: ratios compare device and build at once."),
        ("threads", "The runs used different numbers of threads."),
        ("", ""),
    ],
)
def test_what_makes_runs_hard_to_compare_is_said(tmp_path: Path, change: str, note: str) -> None:
    header = make_header()
    other: dict[str, dict[str, Any]] = {
        "model": {"model": replace(header.model, name="other.ttm")},
        "device": {"device": replace(header.device, name="other")},
        "threads": {"protocol": {**header.protocol, "threads": 2}},
        "": {},
    }
    runs = [record(tmp_path / "a"), record(tmp_path / "b", **other[change])]
    notes = side_by_side.compare(runs).notes
    differences = [one for one in notes if one.startswith("The runs ")]
    assert differences == ([note] if note else [])


def test_a_run_that_failed_says_why(tmp_path: Path) -> None:
    runs = [record(tmp_path / "a"), record(tmp_path / "b", facts={"status": Status.FAILED})]
    notes = side_by_side.compare(runs).notes
    assert any("went up in smoke" in note for note in notes)
