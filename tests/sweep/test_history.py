"""The same cells over commits, and what may be called a regression."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.compare.test_ab import JITTER
from trimtab.bench import archive, protocol
from trimtab.bench.jobs import Job, ScheduledLaunch, Settings
from trimtab.devices import find_device
from trimtab.errors import UsageError
from trimtab.pipeline.stores import sweep_store
from trimtab.results import index
from trimtab.sweep import cell_log, history
from trimtab.sweep import regressions as workflow
from trimtab.sweep.cell_log import LoggedCell
from trimtab.sweep.history import Series

QUICK = Settings(launches=1, warmup=0, runs=4, min_time_ms=0, timeout_s=20)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRIMTAB_STATE_DIR", str(tmp_path / "state"))


def commit(tmp_path: Path, number: int, factor: float = 1.0, *, is_changed: bool = False) -> None:
    """A run of one cell at commit `number`, whose binary takes `factor` times as long."""
    folder = tmp_path / f"commit{number}"
    folder.mkdir(exist_ok=True)
    subject = make_subject(folder, JITTER.format(factor=factor))
    subject = archive.store(subject, make_golden(), sweep_store())
    revision: dict[str, Any] = {
        "commit": f"{number:x}" * 40,
        "time": f"2026-01-{number + 1:02}T00:00:00+00:00",
        "subject": f"change {number}",
        "is_changed": is_changed,
    }
    revisions = {"project": revision, "trimtab": None}
    configuration = {"model": "net", "device": "local"}
    key = f"cell that takes {factor}"
    cells = [LoggedCell(key, "one", configuration)]
    cell_log.write("mine", revisions, cells, tmp_path / "results")
    if key in {entry.cell for entry in index.entries(tmp_path / "results")}:
        return  # as a sweep does
    role = {"name": "mine", "cell": key, "series": "one", "configuration": configuration}
    with find_device("local").open() as device:
        job = Job(subject, make_golden(), QUICK, {"sweep": role})
        info = device.describe()
        (outcome,) = protocol.measure_all(
            device, info, [job], [[ScheduledLaunch(0)]], tmp_path / "results"
        )
    assert outcome.error is None


def found(tmp_path: Path) -> list[Series]:
    return history.series(
        index.entries(tmp_path / "results"), cell_log.read_all(tmp_path / "results"), "project"
    )


def figure(series: list[Series], name: str) -> Series:
    (one,) = (s for s in series if s.figure == name)
    return one


def test_figures_are_in_the_order_of_commits_with_their_steps(tmp_path: Path) -> None:
    for number, factor in ((2, 1.25), (0, 1.0), (1, 1.25)):
        commit(tmp_path, number, factor)
    series = found(tmp_path)
    assert [one.figure for one in series] == ["latency_ns", "binary_bytes", "model_bytes"]
    size = figure(series, "binary_bytes")
    assert [point.subject for point in size.points] == ["change 0", "change 1", "change 2"]
    assert [step.at for step in size.steps] == [1], (
        "the fake binary says its factor: 1.25 is longer"
    )
    assert "change 1" in history.table(series).text()
    assert "1" * 10 in history.table(series).text()
    log_revision = json.loads(json.dumps(history.to_json(series)))
    assert log_revision[1]["steps"][0]["commit"] == "1" * 40
    assert figure(series, "latency_ns").steps == (), "three times tell nothing"


def test_a_changed_tree_is_a_separate_point_after_its_commit(tmp_path: Path) -> None:
    commit(tmp_path, 1, is_changed=True)
    commit(tmp_path, 1)
    commit(tmp_path, 1)
    points = figure(found(tmp_path), "latency_ns").points
    assert [point.commit[-2:] for point in points] == ["11", "1+"]


def test_a_slower_binary_is_measured_in_interleaved_rounds_and_is_a_regression(
    tmp_path: Path,
) -> None:
    commit(tmp_path, 0, 1.0)
    commit(tmp_path, 1, 1.2)
    series = [figure(found(tmp_path), "latency_ns")]
    (checked,) = workflow.check(series, tmp_path / "results", launches=10)
    assert checked.is_worse
    assert checked.ratio == pytest.approx(1.2, abs=0.02)
    assert "a real difference" in checked.note
    (allowed,) = workflow.check(series, tmp_path / "results", launches=10, tolerance=0.3)
    assert not allowed.is_worse


def test_a_faster_binary_and_an_equal_one_are_no_regression(tmp_path: Path) -> None:
    commit(tmp_path, 0, 1.2)
    commit(tmp_path, 1, 1.0)
    commit(tmp_path, 2, 1.0)
    series = [figure(found(tmp_path), "latency_ns")]
    (same,) = workflow.check(series, tmp_path / "results", launches=10)
    assert (same.ratio, same.is_worse, same.note) == (1.0, False, "the same binary and model")
    base = "0" * 40
    (faster,) = workflow.check(series, tmp_path / "results", launches=10, baseline=base)
    assert faster.before.commit == base
    assert not faster.is_worse
    assert faster.ratio == pytest.approx(1 / 1.2, abs=0.02)


def test_a_commit_without_a_changed_byte_has_the_figures_of_the_measured_one(
    tmp_path: Path,
) -> None:
    for number, factor in enumerate((1.0, 1.25, 1.0)):
        commit(tmp_path, number, factor)
    assert len(index.entries(tmp_path / "results")) == 2
    size = figure(found(tmp_path), "binary_bytes")
    assert size.points[2].run == size.points[0].run
    assert [step.at for step in size.steps] == [1, 2]
    (checked,) = workflow.check([size], tmp_path / "results")
    assert not checked.is_worse, "it is better than the one before"


def test_one_more_byte_is_worse(tmp_path: Path) -> None:
    commit(tmp_path, 0, 1.0)
    commit(tmp_path, 1, 1.25)
    series = [s for s in found(tmp_path) if s.is_exact]
    binary, model = workflow.check(series, tmp_path / "results")
    assert (binary.is_worse, model.is_worse) == (True, False)
    assert "worse" in workflow.table([binary, model]).text()


def test_a_binary_that_is_no_longer_archived_is_not_checked_and_not_called_good(
    tmp_path: Path,
) -> None:
    commit(tmp_path, 0, 1.0)
    commit(tmp_path, 1, 1.2)
    archive.trim(sweep_store(), 1)
    series = [figure(found(tmp_path), "latency_ns")]
    (checked,) = workflow.check(series, tmp_path / "results", launches=10)
    assert checked.ratio is None
    assert "no longer archived" in checked.note
    assert "not checked" in workflow.table([checked]).text()


def test_a_single_commit_passes_and_an_unknown_one_is_reported(tmp_path: Path) -> None:
    commit(tmp_path, 0)
    assert workflow.check(found(tmp_path), tmp_path / "results") == []
    commit(tmp_path, 1)
    with pytest.raises(UsageError, match="at dead"):
        workflow.check(found(tmp_path), tmp_path / "results", baseline="dead")
