"""The harness is killed at a random moment: the next run finds the device as it was."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.devices.conftest import SshServer
from tests.devices.fake_sysfs import FakeSysfs
from trimtab.bench.jobs import Settings
from trimtab.bench.protocol import measure
from trimtab.devices import find_device
from trimtab.devices.control import Control, lease
from trimtab.results import records
from trimtab.results.records import Status

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("each_client")]

ROOT = Path(__file__).resolve().parents[3]
LEASE_S = 4
SLACK_S = 30.0  # of a busy machine, in which the watchdog looks, and the shells start


def start_harness(folder: Path, owner: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.devices.killed_harness", "board1", str(folder)]
    process = subprocess.Popen(
        [*words, str(LEASE_S), owner], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "begin\n"
    return process


def runners(server: SshServer) -> list[str]:
    """The processes of runners that were pushed through this server."""
    numbers = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode(errors="replace").split("\0")
            state = file.with_name("stat").read_text().rpartition(") ")[2][0]
        except OSError:
            continue
        if state != "Z" and any(w.startswith(f"{server.folder}/remote/cache") for w in words[:2]):
            numbers.append(file.parent.name)
    return numbers


@pytest.mark.parametrize("trials", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_after_a_kill_at_any_moment_the_next_run_finds_the_device_as_it_was(
    sshd: SshServer, config: Path, tmp_path: Path, trials: int
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # shown when the test fails
    chance = random.Random(seed)
    fake = FakeSysfs(tmp_path / "sys")
    sshd.define(config, "board1", sysfs=fake.folder, lease=tmp_path / "lease")
    with find_device("board1").open(trust_new=True):
        pass
    started = time.monotonic()
    whole = start_harness(tmp_path, "here")
    assert whole.communicate()[0] == "end \n"
    whole_s = time.monotonic() - started
    were_set = 0
    for trial in range(trials):
        owner = "elsewhere" if trial % 2 else "here"
        process = start_harness(tmp_path, owner)
        moment_s = chance.uniform(0, whole_s)
        time.sleep(moment_s)
        process.kill()
        process.wait()
        killed = time.monotonic()
        where = f"seed {seed}, trial {trial}, {owner}, killed after {moment_s:.3f} s"
        were_set += "performance" in fake.governors()
        if owner == "elsewhere":  # its journal is not here either: the device itself undoes it
            shutil.rmtree(config / "journal", ignore_errors=True)
        settings = Settings(
            launches=2, warmup=0, runs=3, min_time_ms=0, control=Control(wait_s=LEASE_S + SLACK_S)
        )
        subject = make_subject(tmp_path)
        with find_device("board1").open() as device:
            outcome = measure(device, subject, make_golden(), settings, tmp_path / "results")
            taken_s = time.monotonic() - killed
            assert outcome.error is None, where
            record = records.read(outcome.path)
            assert record.status is Status.OK, where
            assert record.header.control["governor"] == "performance", where
            assert fake.governors() == ["schedutil", "schedutil"], where
            assert runners(sshd) == [], where
            assert lease.look(device) is None, where
            assert taken_s < LEASE_S + SLACK_S, where
        assert list((config / "journal").glob("*")) == [], where
    print(f"in {were_set} of {trials} trials the governor was set when the harness was killed")
