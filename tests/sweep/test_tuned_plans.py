"""Cells of sweeps whose plan is measured on their device."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.recorded_progress import RecordedProgress
from trimtab.errors import DeviceError, UsageError
from trimtab.planner.plan_file import Plan
from trimtab.sweep import run, tuned_plans
from trimtab.sweep.builds import BuildCache
from trimtab.sweep.matrix import Sweep
from trimtab.tuning.tuned import TuneRequest


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "plans.toml"
    path.write_text('[matrix]\nmodel = "squeezenet"\nplan = ["", "tuned"]\nthreads = [1, 2]\n')
    return run.read(path)


def tunes(
    monkeypatch: pytest.MonkeyPatch, requests: list[TuneRequest], error: Exception | None = None
) -> None:
    def tune(request: TuneRequest, folder: Path, progress: object) -> Any:
        requests.append(request)
        if error:
            raise error
        return SimpleNamespace(plan=Plan(threads=request.recipe.threads), title=lambda: "measured")

    monkeypatch.setattr(tuned_plans, "tune", tune)


def test_each_cell_is_tuned_once_and_its_configuration_stays(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[TuneRequest] = []
    tunes(monkeypatch, requests)
    resolved = tuned_plans.with_tuned_plans(sweep, tmp_path)
    assert [request.recipe.threads for request in requests] == [1, 2]
    assert {request.timings for request in requests} == {tmp_path / "timings.jsonl"}
    assert [c.configuration for c in resolved.cells] == [c.configuration for c in sweep.cells]
    assert [c.plan for c in resolved.cells if not c.plan] == ["", ""]
    threads = [Plan.read(c.plan_file).threads for c in resolved.cells if c.plan_file]
    assert threads == [1, 2]
    assert tuned_plans.with_tuned_plans(sweep, tmp_path) == resolved
    assert tuned_plans.known(sweep) == resolved
    assert len(requests) == 2


def test_a_cell_that_cannot_be_tuned_is_not_built_with_the_reason(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = RecordedProgress()
    tunes(monkeypatch, [], DeviceError("it is on fire"))
    resolved = tuned_plans.with_tuned_plans(sweep, tmp_path, progress)
    assert resolved == sweep
    assert any("not tuned: it is on fire" in str(line) for line in progress.lines)
    cell = next(cell for cell in resolved.cells if cell.plan)
    assert cell.plan_file is None
    with pytest.raises(UsageError, match="was not tuned"):
        BuildCache().task(cell)
