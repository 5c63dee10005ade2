"""The executor of this process, and what travels to others."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path

import pytest

from trimtab.sweep.bundle import FileBundle
from trimtab.sweep.executor import ALL, CPU, LocalExecutor


def test_a_task_waits_for_its_resources_and_others_overtake_it() -> None:
    gate, began = threading.Event(), []

    def work(name: str) -> str:
        began.append(name)
        gate.wait(10)
        return name

    with LocalExecutor(2) as executor:
        busy = executor.submit(work, "first", {"board": 1})
        behind = executor.submit(work, "second", {"board": 1})
        beside = executor.submit(work, "elsewhere", {"other board": 1})
        while len(began) < 2:
            threading.Event().wait(0.01)
        assert set(began) == {"first", "elsewhere"}
        assert not behind.running()
        gate.set()
        assert [f.result(10) for f in (busy, behind, beside)] == ["first", "second", "elsewhere"]


def test_a_task_that_needs_all_cpus_runs_alone() -> None:
    at_once, most, lock = [0], [0], threading.Lock()

    def work(is_alone: bool) -> int:
        with lock:
            at_once[0] += 1
            concurrent = at_once[0]
            most[0] = max(most[0], concurrent)
        threading.Event().wait(0.02)
        with lock:
            at_once[0] -= 1
        return concurrent if is_alone else 0

    with LocalExecutor(3) as executor:
        loud = [executor.submit(work, False, {CPU: 1}) for _ in range(6)]
        alone = [executor.submit(work, True, {CPU: ALL, "local": 1}) for _ in range(3)]
        assert [future.result(10) for future in alone] == [1, 1, 1]
        assert all(future.result(10) == 0 for future in loud)
    assert most[0] == 3


def test_an_error_of_a_task_goes_to_its_future_and_releases_its_resources() -> None:
    def fails(task: str) -> None:
        raise ValueError(task)

    with LocalExecutor(1) as executor:
        futures = [executor.submit(fails, name, {CPU: 1}) for name in "ab"]
        for future, name in zip(futures, "ab", strict=True):
            with pytest.raises(ValueError, match=name):
                future.result(10)


def test_the_end_cancels_tasks_that_have_not_started() -> None:
    gate = threading.Event()
    with LocalExecutor(1) as executor:
        busy = executor.submit(lambda _: gate.wait(10), None, {CPU: 1})
        waiting = executor.submit(lambda _: None, None, {CPU: 1})
        threading.Timer(0.05, gate.set).start()
    assert busy.result(0) is True
    assert waiting.cancelled()


def test_a_bundle_carries_its_files_and_permissions_to_another_process(tmp_path: Path) -> None:
    folder = tmp_path / "here" / "kept"
    folder.mkdir(parents=True)
    (folder / "run").write_bytes(b"\x7fELF")
    (folder / "run").chmod(0o755)
    (folder / "net.ttm").write_bytes(b"weights")
    bundle = FileBundle.of_folder(folder)
    assert bundle.into(tmp_path / "here") == folder, "it is there already"
    traveled = pickle.loads(pickle.dumps(bundle))
    (folder / "run").unlink()
    there = traveled.into(tmp_path / "there")
    assert (there / "net.ttm").read_bytes() == b"weights"
    assert os.access(there / "run", os.X_OK)
    assert (there / "run").read_bytes() == b"\x7fELF"
