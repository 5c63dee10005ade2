"""The outcome of every fault at every step of a measurement: the cells of faults.toml."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import disks
from tests.devices import sabotage
from tests.devices.conftest import SshServer, require
from tests.devices.sabotage import LAUNCHES, TABLE, Stage
from trimtab import errors
from trimtab.devices import find_device
from trimtab.devices.control import lease
from trimtab.results import records
from trimtab.results.records import Record, Status

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("each_client")]

Cell = dict[str, Any]
STEPS = tuple(TABLE["steps"])
# Steps for every day. Some faults take long: they wait for a lease that runs out, for a sign of
# life that does not come, for a time limit, or for another Python.
EVERY_DAY = ("push", "run", "record")
FAST = {
    **dict.fromkeys(("frozen", "server", "timeout", "clock"), ("run",)),
    "harness": ("verify",),
    "results": ("push", "run", "release"),
}
SETTLES_S = 30.0  # on a busy machine


def cells() -> Iterator[object]:
    for fault, row in TABLE["fault"].items():
        for step in STEPS:
            if isinstance(row[step], dict):
                marks = [] if step in FAST.get(fault, EVERY_DAY) else [pytest.mark.slow]
                yield pytest.param(fault, step, id=f"{fault}-{step}", marks=marks)


def test_the_table_has_every_cell() -> None:
    required = ["connect", "push", "verify", "launch", "run", "pull", "record"]
    assert set(required) <= set(STEPS)
    assert len(TABLE["fault"]) == 10
    for fault, row in TABLE["fault"].items():
        for step in STEPS:
            cell = row[step]
            assert cell if isinstance(cell, str) else cell["record"], (fault, step)


@pytest.fixture(scope="session")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes the time of day jump."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("clock.c")
    argv = [require("gcc", "gcc"), "-shared", "-fPIC", "-O1", str(source), "-o", str(library)]
    subprocess.run(argv, check=True)
    return library


@pytest.mark.parametrize(("fault", "step"), [*cells()])
def test_the_outcome_of_a_fault_is_that_of_the_table(
    fault: str,
    step: str,
    request: pytest.FixtureRequest,
    start_sshd: Callable[..., SshServer],
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = TABLE["fault"][fault][step]
    with (
        disks.small_disk(tmp_path / "disk", 2 << 20) as disk,
        disks.small_disk(tmp_path / "results", 64 << 10) as results_disk,
    ):
        server, stage, sysfs = sabotage.prepare(
            start_sshd, config, tmp_path, (disk, results_disk), f"{fault}-{step}"
        )
        if fault == "clock":
            shutil.copy(request.getfixturevalue("clock"), tmp_path / "clock.so")
        sabotage.hasten(monkeypatch.setattr, stage)
        if fault in ("harness", "clock"):
            code = stage.apart(config)
        else:
            error = stage.measure()
            print(error)
            code = error.exit_code if error else 0
        assert stage.has_struck, "the fault found nothing to strike"
        assert code == code_of(expected)
        check_results(stage, expected)
        if fault in ("server", "harness"):
            check_device_alone(stage)
        sabotage.thaw(stage)
        if fault == "server":
            os.waitpid(server.pid, 0)
            start_sshd(f"ForceCommand /bin/sh {sabotage.gate_of(tmp_path)}", again=server)
        (disk / "fill").unlink(missing_ok=True)
        (results_disk / "fill").unlink(missing_ok=True)
        check_device(stage, expected)
        if fault != "harness":  # the next run undoes its journal (test_watchdog_killed.py)
            assert sysfs.governors() == ["schedutil", "schedutil"]


def code_of(expected: Cell) -> int:
    name = str(expected.get("error", ""))
    if name == "SIGKILL":
        return -signal.SIGKILL
    kind = getattr(errors, name) if name else None
    return kind.exit_code if kind else 0


def check_results(stage: Stage, expected: Cell) -> None:
    """There is the expected record, or none, and nothing else that looks like one."""
    runs = [records.read(path) for path in stage.results.glob(f"*{records.SUFFIX}")]
    assert [record.status.value for record in runs] == [
        status for status in [expected["record"]] if status != "none"
    ]
    left = {path.suffix for path in stage.results.iterdir()} - {records.SUFFIX}
    allowed = {".part"} if expected.get("error") == "SIGKILL" else set()
    assert left - {""} <= allowed, "what the fault itself wrote has no suffix"
    for record in runs:
        assert len(record.of("resumed")) == int(bool(expected.get("resumed")))
        if record.status is Status.OK:
            check_whole(record)


def check_whole(record: Record) -> None:
    """All requested launches are there once, with times that no clock has turned back."""
    assert len(record.launches()) == LAUNCHES
    for launch in record.launches():
        assert [event["i"] for event in launch if event["event"] == "run"] == [0, 1]
        assert 0 <= launch[0]["at_s"] < 60
    assert record.first("golden")


def check_device_alone(stage: Stage) -> None:
    """The watchdog alone ends the runner, and itself."""
    deadline = time.monotonic() + stage.limits.lease_s + SETTLES_S
    while running := [*processes(stage, "remote/cache"), *processes(stage, "lease")]:
        assert time.monotonic() < deadline, running
        time.sleep(0.1)


def check_device(stage: Stage, expected: Cell) -> None:
    """No process runs, the lease is free, and there is no partial file."""
    left = expected.get("left", "")
    with find_device("board1").open() as device:
        assert lease.look(device) is None or left == "the lease stays until it runs out"
        if lease.look(device):
            lease.unlock(device, force=True)  # the watchdog would wait
    deadline = time.monotonic() + SETTLES_S
    while running := [*processes(stage, "remote/cache"), *processes(stage, "lease")]:
        assert time.monotonic() < deadline, running
        time.sleep(0.05)
    files = [path for path in stage.disk.rglob("*") if path.is_file()]
    assert [path for path in files if path.suffix == ".part"] == []
    scratch = stage.disk / "remote" / "scratch"
    folders = [*scratch.iterdir()] if scratch.exists() else []
    remains = {
        "an empty folder stays for a day": [[]],
        "one output stays for a day": [["out0.bin"]],
    }
    assert [[path.name for path in folder.iterdir()] for folder in folders] == remains.get(left, [])


def processes(stage: Stage, place: str) -> list[str]:
    """Processes with a path of the device in their command line."""
    matches = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode(errors="replace")
            state = file.with_name("stat").read_text().rpartition(") ")[2][0]
        except OSError:
            continue
        if state != "Z" and f"{stage.disk}/{place}" in words:
            matches.append(f"{file.parent.name} {state} {words[:200]!r}")
    return matches


def test_remains_of_a_killed_run_are_removed_a_day_later(
    start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path
) -> None:
    server = start_sshd()
    server.define(config, "board1", lease=tmp_path / "lease")
    with find_device("board1").open(trust_new=True) as device, device.scratch() as scratch:
        prefix = Path(scratch).parents[1]
        old = [Path(scratch).with_name("old"), prefix / "cache" / "x" / "net.ttm.77.part"]
        for path in old:
            path.mkdir(parents=True)
            os.utime(path, (0, 0))
        (new := prefix / "cache" / "x" / "net.ttm.78.part").touch()
        os.utime(prefix / "cache" / "x", (0, 0))
        device.tidy()
        assert [path.exists() for path in old] == [False, False]
        assert new.exists()
        assert Path(scratch).exists()
