"""A device that is disconnected during a measurement: that costs a block, not the run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.devices import servers
from tests.devices.conftest import SshServer
from tests.devices.control.test_watchdog_killed import runners
from tests.devices.fake_boot_id import play_boot_id
from tests.devices.fake_sysfs import FakeSysfs
from trimtab.bench import protocol
from trimtab.bench.jobs import Settings
from trimtab.compare import ab
from trimtab.compare.ab import AbRequest
from trimtab.compare.arms import Arm, PreparedArm
from trimtab.compare.side_by_side import compare
from trimtab.devices import find_device
from trimtab.devices.control import lease
from trimtab.devices.limits import TimeLimits
from trimtab.errors import DeviceError, DeviceUnreachableError, TrimtabError
from trimtab.results import records
from trimtab.results.records import Record, Status
from trimtab.results.summary import summarize

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("each_client")]

LAUNCHES = 4
DIES = "os._exit(1)"  # no process outlives a restart, nor do those that look at a lease
END_WATCHDOGS = (
    "def end_watchdogs(lease):",
    "    for pid in filter(str.isdigit, os.listdir('/proc')):",
    "        try:",
    "            words = open(f'/proc/{pid}/cmdline').read().split(chr(0))",
    "            if words[0] == 'sh' and any(lease in word for word in words):",
    "                os.kill(int(pid), signal.SIGKILL)",
    "        except OSError:",
    "            pass",
)


class Board:
    """An SSH server with a fake sysfs and boot id, whose runner can bring it down."""

    def __init__(self, server: SshServer, config: Path, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.sysfs = FakeSysfs(folder / "sys")
        self.boot_id = folder / "boot_id"
        self.boot_id.write_text("first\n")
        self.log = folder / "log"
        self.log.touch()
        server.define(config, "board1", sysfs=self.sysfs.folder, lease=folder / "lease")

    def fault(self, at: str, before: str = "0", after: str = "0") -> str:
        """Code for a runner that logs the governor of each measured launch.

        In launches whose number n (from 1) satisfies `at` it prints a sample, cuts all connections
        and hangs. It runs `before` and `after` around the cut.
        """
        governor = self.sysfs.folder / "devices/system/cpu/cpu1/cpufreq/scaling_governor"
        lines = (
            *END_WATCHDOGS,
            "import shutil",
            f"is_golden or open({str(self.log)!r}, 'a').write(open({str(governor)!r}).read())",
            f"n = 0 if is_golden else len(open({str(self.log)!r}).readlines())",
            f"hit = n and ({at})",
            "hit and say('run', i=0, ns=7777, instructions=None)",
            f"hit and ({before}, {self._cut}, {after}, time.sleep(60))",
        )
        return "\n    ".join(lines)

    @property
    def _cut(self) -> str:
        kill = f"kill -9 {servers.sessions(self.server.pid)}"
        return f"time.sleep(0.5), os.system({kill!r})"  # some may just have ended

    @property
    def restart(self) -> str:
        """Code that plays a reboot: it removes pushed files and leases, and resets the governor."""
        lease_folder = str(self.folder / "lease")
        folders = (str(self.server.folder / "remote"), lease_folder)
        cpus = f"{self.sysfs.folder}/devices/system/cpu"
        return (
            f"end_watchdogs({lease_folder!r}), "
            f"[shutil.rmtree(f, ignore_errors=True) for f in {folders!r}], "
            f"open({str(self.boot_id)!r}, 'w').write('second'), "
            f"[open(f'{cpus}/cpu{{i}}/cpufreq/scaling_governor', 'w').write('schedutil') "
            "for i in (0, 1)]"
        )

    def governors(self) -> list[str]:
        """The governor in each measured launch."""
        return self.log.read_text().split()


@pytest.fixture
def board(
    start_sshd: Callable[..., SshServer],
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Board:
    board = Board(start_sshd(), config, tmp_path)
    play_boot_id(monkeypatch.setattr, board.boot_id)
    return board


def bench(
    board: Board, fault: str, launches: int = LAUNCHES, reconnect_s: float = 5
) -> tuple[Record, TrimtabError | None]:
    settings = Settings(launches=launches, warmup=0, runs=3 * launches, min_time_ms=0, timeout_s=60)
    subject = make_subject(board.folder, fault)
    limits = TimeLimits(reconnect_s=reconnect_s)
    with find_device("board1").open(trust_new=True, limits=limits) as device:
        outcome = protocol.measure(device, subject, make_golden(), settings, board.folder / "res")
        if outcome.error is None:
            assert runners(board.server) == []
            assert lease.look(device) is None
    return records.read(outcome.path), outcome.error


@pytest.mark.parametrize("is_restart", [False, True])
def test_a_run_continues_after_a_cut_link_or_a_reboot_without_the_interrupted_launch(
    board: Board, is_restart: bool
) -> None:
    if is_restart:
        fault, why = board.fault("n == 2", board.restart, DIES), "the device restarted"
    else:
        fault, why = board.fault("n == 2"), "the link broke"
    record, error = bench(board, fault)
    assert error is None
    assert record.status is Status.OK
    assert [launch[0]["index"] for launch in record.launches()] == [0, 2, 3, 4]
    assert 7777 not in [event["ns"] for event in record.of("run")]
    assert 7777 in [event["ns"] for event in record.events if event["event"] == "run"], "streamed"
    (resumed,) = record.of("resumed")
    assert resumed["discarded"] == [1]
    assert resumed["why"].startswith(why)
    assert [start["affinity"] for start in record.of("start")] == ["1"] * LAUNCHES
    assert board.governors() == ["performance"] * (LAUNCHES + 1), "set again"
    assert board.sysfs.governors() == ["schedutil", "schedutil"]
    sent = [event["sent_bytes"] for event in record.of("push")]
    assert all(sent[:3])
    assert all(sent[3:]) == is_restart, "what is there still is not moved again"
    assert len(record.of("golden")) == 2, "and checked again"
    (note,) = summarize(record).notes
    assert "1 launch discarded" in note


def test_a_comparison_repeats_the_whole_block_of_both_arms(board: Board) -> None:
    # Interleaved launches: the third of the second block is the seventh of all.
    fault = board.fault("n == 7", board.restart, DIES)
    arms = []
    for name in "ab":
        folder = board.folder / name
        folder.mkdir()
        arms.append(PreparedArm(make_subject(folder, fault, profile=name), make_golden(), 1))
    quick = Settings(warmup=0, runs=3, min_time_ms=0, timeout_s=60)
    request = AbRequest(Arm("a"), Arm("b"), "board1", launches=6, seed=1, settings=quick)
    with find_device("board1").open(trust_new=True) as device:
        comparison = ab.measure(device, arms, request, board.folder / "results", None)
    for record in (comparison.a, comparison.b):
        assert [launch[0]["block"] for launch in record.launches()] == [0, 0, 1, 1, 2, 2]
    discarded = [record.of("resumed")[0]["discarded"] for record in (comparison.a, comparison.b)]
    assert sorted(map(len, discarded)) == [1, 2]
    assert comparison.verdict.launches == 6
    (note,) = (note for note in comparison.verdict.notes if "disconnected" in note)
    assert "3 launches discarded" in note
    assert "restarted" in note
    again = compare([records.read(comparison.a.path), records.read(comparison.b.path)])
    assert again.verdict == comparison.verdict


def test_a_step_that_always_disconnects_is_given_up(board: Board) -> None:
    record, error = bench(board, board.fault("n > 1"))
    assert isinstance(error, DeviceUnreachableError)
    assert record.status is Status.INFRA
    assert len(record.of("resumed")) == protocol.MAX_DISCONNECTS
    assert len(board.governors()) == 1 + 1 + protocol.MAX_DISCONNECTS
    assert [launch[0]["index"] for launch in record.launches()] == [0, 4]
    assert record.of("run")[-1]["ns"] == 7777, "the samples of the last attempt stay"
    assert record.message.startswith("board1")


def test_a_device_that_stays_away_ends_the_run(board: Board) -> None:
    stop = f"os.kill({board.server.pid}, signal.SIGTERM)"
    record, error = bench(board, board.fault("n == 2", after=stop), reconnect_s=0.5)
    os.waitpid(board.server.pid, 0)
    assert isinstance(error, DeviceUnreachableError)
    assert record.status is Status.INFRA
    assert record.of("resumed") == []
    assert [event["ns"] for event in record.of("run")][-1] == 7777


def test_a_device_that_returns_in_another_state_ends_the_run(board: Board) -> None:
    online = str(board.sysfs.folder / "devices/system/cpu/online")
    what = f"{board.restart}, open({online!r}, 'w').write('0')"
    record, error = bench(board, board.fault("n == 2", what, DIES))
    assert type(error) is DeviceError
    assert "another state: cores 0, governor performance instead of cores 1" in str(error)
    assert record.status is Status.INFRA
