"""Energy of a run by source, from samples whose integrals are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import make_header
from trimtab.devices.control.energy import SourceKind
from trimtab.results import energy, records
from trimtab.results.records import Record, Status, Writer


def record(folder: Path, event: dict[str, Any] | None) -> Record:
    """A record with that `energy` event."""
    with Writer(folder, make_header()) as writer:
        if event:
            writer.event({"event": "energy", **event})
        writer.end(Status.OK)
    return records.read(writer.path)


def counter(at: float, microjoules: int) -> list[Any]:
    """A sample of a counter of microjoules that does not wrap around."""
    return [at, SourceKind.COUNTER, "package", microjoules, 0, ""]


def test_the_energy_above_idle_is_that_of_the_run_less_that_of_the_machine(tmp_path: Path) -> None:
    event = {
        "inferences": 4,
        "idle": [counter(0, 0), counter(10, 20_000_000)],  # 2 W
        "busy": [counter(20, 50_000_000), counter(24, 78_000_000)],  # 7 W for 4 s
    }
    (source,) = energy.rows(record(tmp_path, event)) or ()
    assert (source.watts, source.idle_watts) == (7.0, 2.0)
    assert source.joules == pytest.approx(28 / 4)
    assert source.joules_above_idle == pytest.approx((28 - 8) / 4)


def test_a_run_without_a_source_has_no_rows_and_one_without_the_request_none(
    tmp_path: Path,
) -> None:
    assert energy.rows(record(tmp_path, None)) is None
    nothing = {"inferences": 1, "idle": [], "busy": []}
    assert energy.rows(record(tmp_path / "other", nothing)) == ()


def test_a_source_that_counts_backwards_says_why_it_has_no_energy(tmp_path: Path) -> None:
    event = {"inferences": 1, "idle": [], "busy": [counter(0, 9), counter(1, 5)]}
    (source,) = energy.rows(record(tmp_path, event)) or ()
    assert (source.joules, source.joules_above_idle, source.idle_watts) == (None, None, None)
    assert "backwards" in source.note


def test_a_power_that_stands_still_is_told(tmp_path: Path) -> None:
    busy = [[at, SourceKind.POWER, "ina", 2_000_000, 0, ""] for at in range(30)]
    (source,) = energy.rows(record(tmp_path, {"inferences": 2, "idle": [], "busy": busy})) or ()
    assert source.joules == pytest.approx(29)
    assert "its reading stood still for 29 s" in source.note


def test_joules_have_an_interval_and_their_halves_are_compared(tmp_path: Path) -> None:
    def power(start: int, watts: list[float]) -> list[list[Any]]:
        """Samples four times a second: two seconds of each power."""
        steps = [round(w * 1e6) + i % 2 for w in watts for i in range(8)]
        return [[start + i / 4, SourceKind.POWER, "ina", w, 0, ""] for i, w in enumerate(steps)]

    busy, idle = [3.0, 3.1, 2.9, 3.0, 3.0, 3.2, 3.3, 3.1, 3.2, 3.2], [1.0, 1.2, 0.8, 1.0, 1.0] * 2
    event = {"inferences": 20, "idle": power(0, idle), "busy": power(100, busy)}
    (source,) = energy.rows(record(tmp_path, event)) or ()
    assert source.joules == pytest.approx(3.1, rel=0.02)  # 20 s of 20 inferences
    # scipy.stats.t.interval(0.95, 9, scale=scipy.stats.sem(busy)), and of idle
    assert source.error == pytest.approx(0.0893, rel=0.2)
    assert source.error_above_idle == pytest.approx(0.1315, rel=0.2)
    assert source.halves == pytest.approx(16 / 15 - 1, rel=0.2)
