"""Control of a device during a measurement, over a real SSH server with a fake sysfs."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.devices.conftest import SshServer
from tests.devices.fake_sysfs import NEEDS_BOTH, FakeSysfs
from trimtab.bench import protocol
from trimtab.bench.jobs import Settings
from trimtab.compare import ab
from trimtab.compare.ab import AbRequest
from trimtab.compare.arms import Arm, PreparedArm
from trimtab.devices import Device, find_device
from trimtab.devices.control import Control, controlled, governor, lease, thermal
from trimtab.errors import DeviceBusyError, UsageError
from trimtab.reports.formats import terminal
from trimtab.results import records
from trimtab.results.records import Record, Status
from trimtab.results.summary import summarize

pytestmark = [pytest.mark.device, NEEDS_BOTH]

QUICK: dict[str, Any] = {"warmup": 0, "runs": 3, "min_time_ms": 0, "timeout_s": 30}


@pytest.fixture
def fake(tmp_path: Path) -> FakeSysfs:
    return FakeSysfs(tmp_path / "sys")


@pytest.fixture
def device(sshd: SshServer, config: Path, fake: FakeSysfs, tmp_path: Path) -> Iterator[Device]:
    sshd.define(config, "board1", sysfs=fake.folder, lease=tmp_path / "lease")
    with find_device("board1").open(trust_new=True) as opened:
        yield opened


def measure(
    device: Device, tmp_path: Path, fault: str = "pass", launches: int = 1, **control: Any
) -> tuple[Record, Exception | None]:
    subject = make_subject(tmp_path, fault)
    settings = Settings(**QUICK, launches=launches, control=Control(**control))
    outcome = protocol.measure(device, subject, make_golden(), settings, tmp_path / "results")
    return records.read(outcome.path), outcome.error


def test_a_run_is_pinned_to_the_fastest_cores_and_reports_them(
    device: Device, tmp_path: Path
) -> None:
    record, error = measure(device, tmp_path, launches=2)
    assert error is None
    assert record.header.affinity == "1"
    assert record.header.control["cluster"] == "big"
    assert [start["affinity"] for start in record.of("start")] == ["1", "1"]
    assert [event["throttled"] for event in record.of("conditions")] == [[], []]


@pytest.mark.parametrize(
    ("request_", "cores"),
    [
        ("little", "0"),
        ("big", "1"),
        ("cortex-a76", "1"),
        ("all", "0-1"),
        ("0", "0"),
        ("0-1", "0-1"),
    ],
)
def test_cores_are_named_by_cluster_by_core_or_by_number(
    device: Device, tmp_path: Path, request_: str, cores: str
) -> None:
    record, error = measure(device, tmp_path, cores=request_)
    assert error is None
    assert record.header.affinity == cores
    assert record.of("start")[0]["affinity"] == cores


def test_unknown_cores_are_refused_with_a_list_of_clusters(
    device: Device, tmp_path: Path, fake: FakeSysfs
) -> None:
    with pytest.raises(UsageError, match="middle") as caught:
        measure(device, tmp_path, cores="middle")
    assert "little (0), big (1, cortex-a76)" in caught.value.hint
    assert lease.look(device) is None
    assert fake.governors() == ["schedutil", "schedutil"]


def test_a_runner_outside_of_its_pinned_cores_gives_no_result(
    device: Device, tmp_path: Path
) -> None:
    subject = make_subject(tmp_path)
    text = subject.binary.read_text().replace("affinity=allowed[0]", "affinity='0'")
    subject.binary.write_text(text)
    outcome = protocol.measure(
        device, subject, make_golden(), Settings(**QUICK, launches=1), tmp_path
    )
    assert "pinned to the cores 1 and runs on 0" in str(outcome.error)
    assert records.read(outcome.path).status is Status.INFRA


def test_the_governor_is_set_for_a_measurement_and_restored(
    device: Device, tmp_path: Path, fake: FakeSysfs, config: Path
) -> None:
    copy = tmp_path / "copy"
    file = fake.folder / "devices/system/cpu/cpu1/cpufreq/scaling_governor"
    look = f"open({str(copy)!r}, 'w').write(open({str(file)!r}).read())"
    record, error = measure(device, tmp_path, look)
    assert error is None
    assert copy.read_text() == "performance\n"
    assert record.header.control["governor"] == "performance"
    (after,) = record.of("device_after")
    assert after["governor"] == "schedutil+performance", "of both cores"
    assert record.header.control["uncontrolled"] == []
    assert fake.governors() == ["schedutil", "schedutil"]
    assert list((config / "journal").iterdir()) == []


def test_a_governor_that_cannot_be_set_is_recorded_as_uncontrolled(
    device: Device, tmp_path: Path, fake: FakeSysfs
) -> None:
    fake.refuse_governors()
    record, error = measure(device, tmp_path)
    assert error is None
    (reason,) = record.header.control["uncontrolled"]
    assert reason.startswith("governor stays Linux: ")
    assert record.header.control["governor"] == "Linux"


def test_a_governor_is_kept_on_demand(device: Device, tmp_path: Path, fake: FakeSysfs) -> None:
    record, _ = measure(device, tmp_path, governor="keep")
    assert record.header.control["governor"] == "schedutil"
    assert record.header.control["uncontrolled"] == ["governor: kept at schedutil, as requested"]
    assert fake.governors() == ["schedutil", "schedutil"]


def test_a_journal_is_written_before_the_change_and_reverted_by_the_next_run(
    device: Device, fake: FakeSysfs, config: Path
) -> None:
    file = "devices/system/cpu/cpu1/cpufreq/scaling_governor"
    change = governor.GovernorChange(file, "schedutil", "x")
    journal = governor.journal_of("board1", device.describe().boot_id)
    noted: list[str] = []
    governor.apply(device, [change], journal, noted.extend)
    assert noted == [f"{file} schedutil x"]
    assert fake.governors() == ["schedutil", "x"], "as a process leaves it that is killed here"
    assert list((config / "journal").iterdir()) == [journal]
    assert json.loads(journal.read_text())["changes"][0]["was"] == "schedutil"
    with controlled(device, Control(governor="keep")) as session:
        assert fake.governors() == ["schedutil", "schedutil"]
    assert "restored the governor schedutil" in " ".join(session.cleaned_up)
    assert not journal.exists()


def test_a_governor_changed_by_somebody_else_stays(device: Device, fake: FakeSysfs) -> None:
    with controlled(device, Control(cores="big")):
        fake.write("devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave")
    assert fake.governors() == ["schedutil", "powersave"]


def test_a_launch_waits_until_the_device_is_cool(device: Device, fake: FakeSysfs) -> None:
    fake.write("class/thermal/thermal_zone0/temp", "66000")  # over 75 - 10
    notes: list[str] = []

    def cool(note: str) -> None:
        notes.append(note)
        fake.write("class/thermal/thermal_zone0/temp", "64000")

    with controlled(device, Control(), note=cool) as session, session.launch() as launch:
        pass
    assert notes == ["board1 has 66.0 °C: waiting for 65 °C"]
    assert launch.before is not None
    assert launch.before.celsius == 64.0
    assert launch.hot == ""


def test_a_device_that_stays_hot_is_measured_and_marked(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thermal, "GATE_S", 0.2)
    record, error = measure(device, tmp_path, launches=2, max_celsius=30)
    assert error is None
    complaint = "40.0 °C, not 30 after 0.2 s"
    assert [event["hot"] for event in record.of("conditions")] == [complaint, complaint]
    assert summarize(record).uncontrolled == (f"temperature: 2 launches began hot ({complaint})",)
    assert "uncontrolled: temperature: 2 launches" in terminal.run(summarize(record))


THROTTLES = [
    ("class/thermal/cooling_device0/cur_state", "2", "thermal-cpufreq-0 0 is in state 2"),
    ("class/thermal/cooling_device0/stats/total_trans", "7", "slowed down 2 times"),
    ("devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "1200000", "may clock 1200 MHz"),
    ("devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1100000", "has 1100 MHz instead of 2400"),
]


@pytest.mark.parametrize(("path", "text", "says"), THROTTLES)
def test_a_throttled_run_keeps_its_samples(
    device: Device, tmp_path: Path, fake: FakeSysfs, path: str, text: str, says: str
) -> None:
    slow = f"is_golden or open({str(fake.folder / path)!r}, 'w').write({text!r} + chr(10))"
    record, error = measure(device, tmp_path, slow)
    assert error is None
    assert record.status is Status.THROTTLED
    assert says in record.message
    assert len(record.of("run")) == 3
    (conditions,) = record.of("conditions")
    assert says in " ".join(conditions["throttled"])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("class/thermal/cooling_device1/cur_state", "4"),  # a fan
        ("devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "600000"),  # not a core of ours
        ("class/thermal/thermal_zone0/temp", "64000"),
    ],
)
def test_cooling_of_other_parts_is_not_throttling(
    device: Device, tmp_path: Path, fake: FakeSysfs, path: str, text: str
) -> None:
    change = f"is_golden or open({str(fake.folder / path)!r}, 'w').write({text!r} + chr(10))"
    record, _ = measure(device, tmp_path, change)
    assert record.status is Status.OK


def test_two_measurements_do_not_share_a_device(device: Device, tmp_path: Path) -> None:
    with controlled(device, Control(), purpose="calibrate"):
        with pytest.raises(DeviceBusyError, match="calibrate") as caught:
            measure(device, tmp_path)
        assert "--wait" in caught.value.hint
        assert not (tmp_path / "results").exists()
    assert measure(device, tmp_path)[0].status is Status.OK


def test_a_removed_lease_ends_the_runner_and_is_not_its_crash(
    device: Device, tmp_path: Path
) -> None:
    begun, reports = tmp_path / "begun", []

    def take_away() -> None:
        while not begun.exists():
            time.sleep(0.02)
        reports.append(lease.unlock(device, force=True))

    thread = threading.Thread(target=take_away)
    thread.start()
    hangs = f"is_golden or (open({str(begun)!r}, 'w'), time.sleep(60))"
    record, error = measure(device, tmp_path, hangs)
    thread.join()
    assert "ended a stale runner" in reports[0]
    assert isinstance(error, DeviceBusyError)
    assert record.status is Status.INFRA


def test_the_journal_is_on_the_disk_before_the_governor_is_changed(
    device: Device, fake: FakeSysfs, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, list[str]]] = []
    sync = os.fsync

    def watch(descriptor: int) -> None:
        synced.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), fake.governors()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    with controlled(device, Control(cores="big")):
        assert fake.governors() == ["schedutil", "performance"]
    before = ["schedutil", "schedutil"]
    (file, at_file), (folder, at_folder) = synced
    assert Path(file).parent == Path(folder) == config / "journal"
    assert at_file == at_folder == before


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a duet takes two cores")
def test_a_duet_runs_at_most_one_command_per_connection(
    start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path
) -> None:
    # The process that holds a connection is a session, too; a third one is refused.
    start_sshd("MaxSessions 2").define(config, "board2", lease=tmp_path / "lease")
    sides = []
    for name in "ab":
        (tmp_path / name).mkdir()
        sides.append(PreparedArm(make_subject(tmp_path / name, profile=name), make_golden(), 1))
    request = AbRequest(
        Arm("a"), Arm("b"), "board2", launches=4, duet=True, settings=Settings(**QUICK)
    )
    with find_device("board2").open(trust_new=True) as opened:
        comparison = ab.measure(opened, sides, request, tmp_path / "results", None)
    at = [
        [launch[0]["at_s"] for launch in record.launches()]
        for record in (comparison.a, comparison.b)
    ]
    assert at[0] == at[1]
    assert len(at[0]) == 4
