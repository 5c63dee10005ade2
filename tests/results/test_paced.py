"""Paced runs: figures of frames whose times are written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.fakes import make_header
from trimtab import reports
from trimtab.errors import ResultError
from trimtab.results import records
from trimtab.results.paced import Paced, of_record
from trimtab.results.records import Record, Status, Writer
from trimtab.results.summary import summarize

MS = 1_000_000
Run = tuple[int, int, int]
"""Frame, ms of waiting, ms of inference."""


def record(
    folder: Path, runs: list[Run], *, fps: float = 10, is_emulated: bool = False, cpu_ms: int = 0
) -> Record:
    """A record of these runs, with a sample of clock and temperature each second; `cpu_ms`: the CPU
    time of all threads in two seconds.
    """
    with Writer(folder, make_header(is_emulated=is_emulated)) as writer:
        samples = [[0.0, 2400.0, 45.0], [1.0, 1500.0, None]]
        pace = {"fps": fps, "seconds": 2.0, "samples": samples, "why": ""}
        writer.event({"event": "pace", **pace})
        for i, (frame, wait, took) in enumerate(runs):
            event = {"event": "run", "i": i, "ns": took * MS, "instructions": 9}
            writer.event({**event, "frame": frame, "wait_ns": wait * MS})
        if cpu_ms:
            used = {"ns": cpu_ms * MS // len(runs), "runs": len(runs), "wall_ns": 2000 * MS}
            writer.event({"event": "cpu", **used})
        writer.end(Status.OK)
    return records.read(writer.path)


def paced(folder: Path, runs: list[Run], fps: float = 10) -> Paced:
    result = of_record(record(folder, runs, fps=fps))
    assert result is not None
    return result


def test_late_and_dropped_frames_are_missed_deadlines(tmp_path: Path) -> None:
    # Frame 1 waits for frame 0, and is late; 2 and 3 are overtaken by 4.
    one = paced(tmp_path, [(0, 0, 130), (1, 30, 300), (4, 30, 50), (5, 0, 100)])
    assert (one.frames, one.dropped, one.late, one.missed) == (6, 2, 2, 4)
    assert (one.p50_ns, one.max_ns) == (115 * MS, 330 * MS)
    assert [span.missed for span in one.spans] == [1, 1, 1, 1, 0, 0]
    assert sum(span.results for span in one.spans) == 4
    assert one.spans[2].median_ns is None


def test_a_result_that_takes_exactly_the_period_is_in_time(tmp_path: Path) -> None:
    assert paced(tmp_path, [(0, 0, 100)]).missed == 0
    assert paced(tmp_path / "other", [(0, 1, 100)]).missed == 1


@pytest.mark.parametrize(("frames", "has_p99"), [(298, False), (299, True)])
def test_p99_needs_enough_frames(tmp_path: Path, frames: int, has_p99: bool) -> None:
    one = paced(tmp_path, [(i, 0, i) for i in range(frames)], fps=300)
    assert (one.p99_ns is not None) == has_p99
    assert len(one.spans) == 12
    assert sum(span.results for span in one.spans) == frames


def test_clock_and_temperature_belong_to_the_span_of_their_second(tmp_path: Path) -> None:
    one = paced(tmp_path, [(i, 0, 5) for i in range(20)])
    shown = [(span.mhz, span.celsius) for span in one.spans if span.mhz]
    assert shown == [(2400.0, 45.0), (1500.0, None)]


def test_an_emulator_has_no_latencies_and_every_format_says_so(tmp_path: Path) -> None:
    run = summarize(record(tmp_path, [(0, 0, 9), (3, 0, 9)], is_emulated=True))
    assert run.paced is not None
    assert (run.paced.frames, run.paced.missed, run.paced.p50_ns) == (4, None, None)
    for name in ("terminal", "markdown", "html", "json"):
        assert "neither latencies nor missed deadlines" in " ".join(
            reports.find(name).run(run).split()
        )


def test_reports_show_deadlines_latency_and_a_picture(tmp_path: Path) -> None:
    run = summarize(record(tmp_path, [(i, 0, 40 + 70 * (i > 9)) for i in range(20)]))
    text = reports.find("terminal").run(run)
    assert "10 (50.0 %): 10 late, 0 dropped" in text
    assert "1500 to 2400 MHz, 2400 at first, 1500 at last" in text
    assert "--- due" in text
    assert '"kind": "paced"' in reports.find("html").run(run) or "data-kind=" in reports.find(
        "html"
    ).run(run)
    assert summarize(record(tmp_path / "other", [(0, 0, 9)])).paced


def test_cpu_time_is_told_by_result_and_as_busy_cores(tmp_path: Path) -> None:
    run = summarize(record(tmp_path, [(i, 0, 40) for i in range(20)], cpu_ms=1200))
    text = reports.find("terminal").run(run)
    assert "60 ms by result, waiting included: 0.60 cores busy" in " ".join(text.split())
    assert (figure := run.figure("cpu"))
    assert figure.value == 60 * MS
    rows = json.loads(reports.find("google-benchmark").run(run))["benchmarks"]
    times = [(row["real_time"], row["cpu_time"]) for row in rows]
    assert times == [(40 * MS, 60 * MS)]
    emulated = record(tmp_path / "e", [(0, 0, 40)], is_emulated=True, cpu_ms=9)
    assert summarize(emulated).figure("cpu") is None


def test_a_run_of_another_kind_is_not_paced(tmp_path: Path) -> None:
    with Writer(tmp_path, make_header()) as writer:
        writer.event({"event": "run", "i": 0, "ns": 9, "instructions": None})
        writer.end(Status.OK)
    assert of_record(records.read(writer.path)) is None


@pytest.mark.parametrize("fps", [0, -1, float("inf"), 1e300])
def test_an_impossible_rate_is_no_record(tmp_path: Path, fps: float) -> None:
    with pytest.raises(ResultError):
        summarize(record(tmp_path, [(0, 0, 9)], fps=fps))


def test_frames_that_go_back_are_no_record(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="back in time"):
        summarize(record(tmp_path, [(1, 0, 9), (0, 0, 9)]))
