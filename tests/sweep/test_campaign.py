"""A sweep from its beginning to its end, with a workshop that builds and measures nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recorded_progress import RecordedProgress
from tests.sweep.fakes import Shop
from trimtab.results import index
from trimtab.sweep import matrix, summary
from trimtab.sweep.campaign import NOT_BUILT, Campaign, Outcome
from trimtab.sweep.estimate import Pace
from trimtab.sweep.executor import Local
from trimtab.sweep.matrix import Sweep

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


def run(
    sweep: Sweep,
    shop: Shop,
    tmp_path: Path,
    *,
    resume: bool = False,
    said: RecordedProgress | None = None,
) -> list[Outcome]:
    folder = tmp_path / "results"
    campaign = Campaign(sweep, shop, Local(4), folder, resume, said or RecordedProgress())
    return campaign.run()


def test_cells_share_builds_and_each_is_measured_once(sweep: Sweep, tmp_path: Path) -> None:
    shop, said = Shop(tmp_path), RecordedProgress()
    outcomes = run(sweep, shop, tmp_path, said=said)
    assert [outcome.cell for outcome in outcomes] == list(sweep.cells)
    assert all(outcome.is_good for outcome in outcomes)
    assert len(shop.built) == len(set(shop.built)) == 6, "both devices have the same binaries"
    measured = [cell for group in shop.measured for cell in group]
    assert sorted(map(str, measured)) == sorted(map(str, sweep.cells))
    assert len(list((tmp_path / "results").glob("*.jsonl"))) == 12
    assert said.last == (12, 12)


def test_times_take_turns_and_counts_do_not(sweep: Sweep, tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    run(sweep, shop, tmp_path)
    sizes = {(group[0].device, len(group)) for group in shop.measured}
    assert sizes == {("local", 2), ("qemu-x86-64", 1)}


def test_a_device_measures_one_thing_at_a_time_and_this_machine_nothing_beside_it(
    sweep: Sweep, tmp_path: Path
) -> None:
    shop = Shop(tmp_path)
    run(sweep, shop, tmp_path)
    assert shop.most_at_once["local"] == shop.most_at_once["qemu-x86-64"] == 1
    assert shop.most_at_once["build"] > 1
    assert shop.most_at_once["beside the quiet one"] == 0


def test_what_is_finished_is_never_measured_again(sweep: Sweep, tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"googlenet": "CRASHED"})
    first = run(sweep, shop, tmp_path)
    assert {o.status for o in first if o.cell.model == "googlenet"} == {"CRASHED"}
    count = len(shop.measured)
    for resume in (False, True):
        again = run(sweep, shop, tmp_path, resume=resume)
        assert all(outcome.is_old for outcome in again)
        assert [o.status for o in again] == [o.status for o in first]
    assert len(shop.measured) == count
    assert len(shop.built) == 6


def test_what_a_device_spoilt_is_measured_again_when_it_is_asked_for(
    sweep: Sweep, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, {"qemu-x86-64": "INFRA"})
    run(sweep, shop, tmp_path)
    shop.statuses.clear()
    shop.measured.clear()
    assert {o.status for o in run(sweep, shop, tmp_path)} == {"OK", "INFRA"}
    assert not shop.measured
    assert all(o.is_good for o in run(sweep, shop, tmp_path, resume=True))
    assert {group[0].device for group in shop.measured} == {"qemu-x86-64"}
    assert all(o.is_old for o in run(sweep, shop, tmp_path, resume=True))


def test_a_device_that_is_not_there_leaves_no_record_and_stops_nothing_else(
    sweep: Sweep, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, {"local": "unreachable"})
    outcomes = run(sweep, shop, tmp_path)
    assert {(o.cell.device, o.status) for o in outcomes} == {
        ("local", "INFRA"),
        ("qemu-x86-64", "OK"),
    }
    assert len(list((tmp_path / "results").glob("*.jsonl"))) == 6
    shop.statuses.clear()
    assert all(o.is_good for o in run(sweep, shop, tmp_path)), "they are simply missing"


def test_a_build_that_fails_costs_its_own_cells(sweep: Sweep, tmp_path: Path) -> None:
    shop, said = Shop(tmp_path), RecordedProgress()
    shop.broken.add("squeezenet")
    outcomes = run(sweep, shop, tmp_path, said=said)
    failed = [o for o in outcomes if not o.is_good]
    assert {(o.cell.model, o.status) for o in failed} == {("squeezenet", NOT_BUILT)}
    assert len(failed) == 4
    assert "the compiler refuses; next: look into the log" in failed[0].message
    assert summary.count(outcomes) == "12 cells: 8 measured, 0 measured earlier, 4 failed"


def test_who_took_turns_with_a_cell_that_failed_is_measured_without_it(
    sweep: Sweep, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, {"size": "CRASHED"})
    outcomes = run(sweep, shop, tmp_path)
    assert {(o.cell.prefer, o.status) for o in outcomes} == {
        ("balanced", "OK"),
        ("size", "CRASHED"),
    }
    entries = index.entries(tmp_path / "results")
    assert sum(entry.status == "SKIPPED" for entry in entries) == 3
    count = len(shop.measured)
    assert all(o.is_old for o in run(sweep, shop, tmp_path))
    assert len(shop.measured) == count


def test_a_bug_in_one_cell_is_told_and_stops_nothing_else(sweep: Sweep, tmp_path: Path) -> None:
    shop, said = Shop(tmp_path), RecordedProgress()
    measure = shop.measure

    def with_a_bug(task: object) -> object:
        if task.device == "local":  # type: ignore[attr-defined]
            raise ZeroDivisionError("of ours")
        return measure(task)  # type: ignore[arg-type]

    shop.measure = with_a_bug  # type: ignore[assignment]
    outcomes = run(sweep, shop, tmp_path, said=said)
    assert {o.message for o in outcomes if not o.is_good} == {"ZeroDivisionError: of ours"}
    assert any("with_a_bug" in line for line in said.lines), "whoever mends it needs the place"


def test_an_estimate_is_of_what_cells_took_before(sweep: Sweep, tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    run(sweep, shop, tmp_path)
    entries = [
        type(e)(**{**vars(e), "seconds": 100.0 if e.device == "local" else 7.0})
        for e in index.entries(tmp_path / "results")
    ]
    pace = Pace(sweep, entries, {}, 2, ["local"], ["qemu-x86-64"])
    here = [cell for cell in sweep.cells if cell.device == "local"]
    emulated = [cell for cell in sweep.cells if cell.device != "local"]
    assert pace.seconds([], here) == pytest.approx(600)
    assert pace.seconds([], emulated) == pytest.approx(42), "one after the other"
    assert pace.seconds(shop.built, []) == pytest.approx(6 * 30 / 2), "on two CPUs"
    known = Pace(sweep, entries, {str(b): 4.0 for b in shop.built}, 2, ["local"], [])
    assert known.seconds(shop.built, here) == pytest.approx(12 + 600)
