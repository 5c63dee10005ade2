"""A sweep from start to end, with builds and measurements that take no time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.recorded_progress import RecordedProgress
from tests.sweep import fakes
from tests.sweep.fakes import FakeWork
from trimtab.results import index
from trimtab.sweep import campaign, matrix, outcome_table
from trimtab.sweep.campaign import NOT_BUILT, Campaign, CellOutcome
from trimtab.sweep.duration import DurationEstimate
from trimtab.sweep.executor import LocalExecutor
from trimtab.sweep.matrix import Cell, Sweep
from trimtab.sweep.measurements import CellRecord, MeasureTask

MATRIX = """
[matrix]
model = ["resnet18", "squeezenet", "googlenet"]
prefer = ["balanced", "size"]
toolchain = ["host"]
device = ["local", "qemu-x86-64"]
[protocol]
compare = ["prefer"]
"""


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    path = tmp_path / "mine.toml"
    path.write_text(MATRIX)
    return matrix.read(path)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeWork:
    fake = FakeWork(tmp_path)
    monkeypatch.setattr(campaign, "build_cell", fake.build_cell)
    monkeypatch.setattr(campaign, "measure_cells", fake.measure_cells)
    monkeypatch.setattr(campaign, "measure_task", fakes.measure_task)
    return fake


def run(
    sweep: Sweep,
    work: FakeWork,
    tmp_path: Path,
    *,
    resume: bool = False,
    recorded: RecordedProgress | None = None,
) -> list[CellOutcome]:
    folder, progress = tmp_path / "results", recorded or RecordedProgress()
    executor = LocalExecutor(4)
    return Campaign(sweep, executor, folder, resume, progress, work.cache).run()


def test_cells_share_builds_and_each_is_measured_once(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    recorded = RecordedProgress()
    outcomes = run(sweep, work, tmp_path, recorded=recorded)
    assert [outcome.cell for outcome in outcomes] == list(sweep.cells)
    assert all(outcome.is_good for outcome in outcomes)
    assert len(work.built) == len(set(work.built)) == 6, "both devices have the same binaries"
    measured = [cell for group in work.measured for cell in group]
    assert sorted(map(str, measured)) == sorted(map(str, sweep.cells))
    assert len(list((tmp_path / "results").glob("*.jsonl"))) == 12
    assert recorded.last == (12, 12)


def test_latencies_are_interleaved_and_counts_are_not(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    run(sweep, work, tmp_path)
    sizes = {(group[0].device, len(group)) for group in work.measured}
    assert sizes == {("local", 2), ("qemu-x86-64", 1)}


def test_a_device_measures_one_cell_at_a_time_and_this_machine_runs_nothing_else_then(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    run(sweep, work, tmp_path)
    assert work.max_concurrent["local"] == work.max_concurrent["qemu-x86-64"] == 1
    assert work.max_concurrent["build"] > 1
    assert work.builds_during_local == 0


def test_a_finished_cell_is_never_measured_again(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    work.statuses.update({"googlenet": "CRASHED"})
    first = run(sweep, work, tmp_path)
    assert {o.status for o in first if o.cell.model == "googlenet"} == {"CRASHED"}
    count = len(work.measured)
    for resume in (False, True):
        again = run(sweep, work, tmp_path, resume=resume)
        assert all(outcome.is_old for outcome in again)
        assert [o.status for o in again] == [o.status for o in first]
    assert len(work.measured) == count
    assert len(work.built) == 6


def entry(file_name: str, status: str, cell: str = "c") -> index.Entry:
    """A run of a cell in the index."""
    facts = {field.name: "" for field in dataclasses.fields(index.Entry)}
    counts = {"threads": 1, "launches": 1, "binary_bytes": 1, "headline": None}
    own = {"file_name": file_name, "status": status, "cell": cell}
    return index.Entry(**(facts | counts | own))  # type: ignore[arg-type]


@pytest.mark.parametrize("failure", ["INFRA", "SKIPPED", "TRUNCATED"])
def test_a_newer_run_that_did_not_finish_hides_no_finished_one(failure: str) -> None:
    for status in ("OK", "INACCURATE", "CRASHED"):
        runs = [entry("1", failure), entry("2", status), entry("3", failure), entry("4", failure)]
        assert campaign.newest(runs) == {"c": runs[1]}
        runs.append(entry("5", "OK"))
        assert campaign.newest(runs) == {"c": runs[-1]}, "the newest that finished counts"
    other = entry("6", "OK", "d")
    assert campaign.newest([entry("1", "OK"), other, entry("7", "OK", "")])["d"] is other
    unfinished = [entry("1", "INFRA"), entry("2", "INFRA"), entry("3", "SKIPPED")]
    assert campaign.newest(unfinished) == {"c": unfinished[1]}


def test_a_failed_repetition_of_a_finished_cell_leaves_its_figures(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    first = run(sweep, work, tmp_path)
    folder = tmp_path / "results"
    for path in sorted(folder.glob("*.jsonl")):
        text = path.read_text()
        assert '"OK"' in text
        path.with_stem(f"9{path.stem}").write_text(text.replace('"OK"', '"INFRA"'))
    again = run(sweep, work, tmp_path)
    assert [outcome.file_name for outcome in again] == [outcome.file_name for outcome in first]
    assert {outcome.status for outcome in again} == {"OK"}


def test_resume_measures_cells_again_that_ended_as_infra(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    work.statuses.update({"qemu-x86-64": "INFRA"})
    run(sweep, work, tmp_path)
    work.statuses.clear()
    work.measured.clear()
    assert {o.status for o in run(sweep, work, tmp_path)} == {"OK", "INFRA"}
    assert not work.measured
    assert all(o.is_good for o in run(sweep, work, tmp_path, resume=True))
    assert {group[0].device for group in work.measured} == {"qemu-x86-64"}
    assert all(o.is_old for o in run(sweep, work, tmp_path, resume=True))


def test_an_unreachable_device_leaves_no_record_and_stops_nothing_else(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    work.statuses.update({"local": "unreachable"})
    outcomes = run(sweep, work, tmp_path)
    assert {(o.cell.device, o.status) for o in outcomes} == {
        ("local", "INFRA"),
        ("qemu-x86-64", "OK"),
    }
    assert len(list((tmp_path / "results").glob("*.jsonl"))) == 6
    work.statuses.clear()
    assert all(o.is_good for o in run(sweep, work, tmp_path)), "they are simply missing"


def test_a_failed_build_costs_its_own_cells(sweep: Sweep, work: FakeWork, tmp_path: Path) -> None:
    recorded = RecordedProgress()
    work.broken.add("squeezenet")
    outcomes = run(sweep, work, tmp_path, recorded=recorded)
    failed = [o for o in outcomes if not o.is_good]
    assert {(o.cell.model, o.status) for o in failed} == {("squeezenet", NOT_BUILT)}
    assert len(failed) == 4
    assert "the compiler refuses; next: look into the log" in failed[0].message
    assert outcome_table.count(outcomes) == "12 cells: 8 measured, 0 measured earlier, 4 failed"


def test_a_cell_cut_short_by_another_ones_failure_is_measured_without_it(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    work.statuses.update({"size": "CRASHED"})
    outcomes = run(sweep, work, tmp_path)
    assert {(o.cell.prefer, o.status) for o in outcomes} == {
        ("balanced", "OK"),
        ("size", "CRASHED"),
    }
    entries = index.entries(tmp_path / "results")
    assert sum(entry.status == "SKIPPED" for entry in entries) == 3
    count = len(work.measured)
    assert all(o.is_old for o in run(sweep, work, tmp_path))
    assert len(work.measured) == count


def test_a_bug_in_one_cell_is_reported_and_stops_nothing_else(
    sweep: Sweep, work: FakeWork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = RecordedProgress()

    def with_a_bug(task: MeasureTask) -> tuple[CellRecord, ...]:
        if task.device == "local":
            raise ZeroDivisionError("of ours")
        return work.measure_cells(task)

    monkeypatch.setattr(campaign, "measure_cells", with_a_bug)
    outcomes = run(sweep, work, tmp_path, recorded=recorded)
    assert {o.message for o in outcomes if not o.is_good} == {"ZeroDivisionError: of ours"}
    assert any("with_a_bug" in line for line in recorded.lines), (
        "the report of a bug needs its place"
    )


def test_an_estimate_follows_earlier_durations(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    run(sweep, work, tmp_path)
    entries = [
        type(e)(**{**vars(e), "seconds": 100.0 if e.device == "local" else 7.0})
        for e in index.entries(tmp_path / "results")
    ]
    estimate = DurationEstimate(sweep, entries, {}, 2, ["local"], ["qemu-x86-64"])
    here = [cell for cell in sweep.cells if cell.device == "local"]
    emulated = [cell for cell in sweep.cells if cell.device != "local"]
    assert estimate.seconds([], here) == pytest.approx(600)
    assert estimate.seconds([], emulated) == pytest.approx(42), "one after the other"
    assert estimate.seconds(work.built, []) == pytest.approx(6 * 30 / 2), "on two CPUs"
    informed = DurationEstimate(sweep, entries, {str(b): 4.0 for b in work.built}, 2, ["local"], [])
    assert informed.seconds(work.built, here) == pytest.approx(12 + 600)


class DetailedProgress(RecordedProgress):
    """Also the details of every update."""

    def __init__(self) -> None:
        super().__init__()
        self.details: list[str] = []

    def update(self, done: int, total: int = 0, detail: str = "") -> None:
        super().update(done, total, detail)
        self.details.append(detail)


def test_the_progress_has_the_time_that_the_remaining_cells_take(
    sweep: Sweep, work: FakeWork, tmp_path: Path
) -> None:
    progress = DetailedProgress()

    def seconds(builds: Iterable[Cell], cells: Iterable[Cell]) -> float:
        return 60.0 * len([*cells])

    Campaign(
        sweep, LocalExecutor(4), tmp_path, progress=progress, cache=work.cache, seconds_left=seconds
    ).run()
    assert any("about 12 min left" in detail for detail in progress.details)
    assert "about 0 s left" in progress.details[-1]
