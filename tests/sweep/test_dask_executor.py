"""A sweep on a cluster of processes, one of which is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from distributed import Client

from tests.recorded_progress import RecordedProgress
from tests.sweep import cluster_worker, fakes
from tests.sweep.fakes import FakeCache
from trimtab.errors import MissingRequirementError, UsageError
from trimtab.results import index
from trimtab.sweep import campaign, matrix
from trimtab.sweep.campaign import Campaign
from trimtab.sweep.dask_executor import DaskExecutor
from trimtab.sweep.matrix import Sweep

MATRIX = """
[matrix]
model = ["resnet18", "squeezenet", "googlenet"]
prefer = ["balanced", "size", "load"]
device = "qemu-x86-64"
"""
pytestmark = pytest.mark.device
Start = Callable[..., subprocess.Popen[bytes]]


def until(what: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    path = tmp_path / "mine.toml"
    path.write_text(MATRIX)
    return matrix.read(path)


@pytest.fixture
def start(tmp_path: Path, root: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []
    environment = {
        **os.environ,
        "PYTHONPATH": str(root),
        "SWEEP_SCRATCH": str(tmp_path),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "3",
    }

    def begin(*words: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "dask", *words]
        log = (tmp_path / f"process{len(started)}.log").open("wb")
        started.append(
            subprocess.Popen(argv, cwd=tmp_path, env=environment, stdout=log, stderr=log)
        )
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(autouse=True)
def _fake_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "build_cell", cluster_worker.build_cell)
    monkeypatch.setattr(campaign, "measure_cells", cluster_worker.measure_cells)
    monkeypatch.setattr(campaign, "measure_task", fakes.measure_task)


@pytest.fixture
def scheduler(start: Start, tmp_path: Path) -> str:
    file = tmp_path / "scheduler.json"
    start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
          "--scheduler-file", str(file))  # fmt: skip
    until(lambda: file.is_file() and b"tcp://" in file.read_bytes())
    return str(json.loads(file.read_text())["address"])


def worker(start: Start, scheduler: str, resources: str) -> subprocess.Popen[bytes]:
    return start(
        *("worker", scheduler, "--no-nanny", "--no-dashboard", "--nthreads", "4"),
        *("--resources", resources),
    )


def test_no_record_is_lost_or_duplicated_after_a_worker_is_killed(
    sweep: Sweep, scheduler: str, start: Start, tmp_path: Path
) -> None:
    workers = [worker(start, scheduler, "cpu=2 qemu-x86-64=1") for _ in range(2)]
    log = tmp_path / "log"

    def lines() -> list[list[str]]:
        return [line.split(" ", 2) for line in log.read_text().splitlines()] if log.exists() else []

    def kill_one_that_measures() -> None:
        pids = {str(process.pid) for process in workers}
        until(lambda: sum(what == "end" for _, what, _ in lines()) >= 2)
        running: dict[str, str] = {}
        while not running:
            for pid, what, cell in lines():
                if what == "begin":
                    running[pid] = cell
                elif what == "end":
                    running.pop(pid, None)
        (pid, *_) = running
        assert pid in pids
        os.kill(int(pid), signal.SIGKILL)

    killer = threading.Thread(target=kill_one_that_measures)
    killer.start()
    folder = tmp_path / "results"
    with DaskExecutor(scheduler) as executor:
        outcomes = Campaign(sweep, executor, folder, False, RecordedProgress(), FakeCache()).run()
    killer.join()
    assert sorted(process.poll() is None for process in workers) == [False, True]
    assert [outcome.status for outcome in outcomes] == ["OK"] * 9
    of_cells = Counter(entry.cell for entry in index.entries(folder))
    assert len(of_cells) == 9
    assert set(of_cells.values()) == {1}
    begun = Counter(cell for _, what, cell in lines() if what == "begin")
    assert sum(begun.values()) >= 10, "what the killed one was doing was done again"
    assert {pid for pid, _, _ in lines()} == {str(process.pid) for process in workers}


def test_a_device_that_no_worker_has_is_infra_and_the_rest_goes_on(
    sweep: Sweep, scheduler: str, start: Start, tmp_path: Path
) -> None:
    worker(start, scheduler, "cpu=2")
    cache, folder = FakeCache(), tmp_path / "results"
    with DaskExecutor(scheduler, patience_s=3) as executor:
        with Client(scheduler) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(1)
        outcomes = Campaign(sweep, executor, folder, False, RecordedProgress(), cache).run()
    assert {outcome.status for outcome in outcomes} == {"INFRA"}
    assert "no worker has the resources of this task: qemu-x86-64" in outcomes[0].message
    assert len(cache.identities) == 9, "all cells are built"


def test_a_missing_scheduler_and_a_missing_package_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UsageError, match="no scheduler answers") as caught:
        DaskExecutor("tcp://127.0.0.1:9")
    assert "dask scheduler" in caught.value.hint
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingRequirementError, match="distributed"):
        DaskExecutor("tcp://127.0.0.1:9")
