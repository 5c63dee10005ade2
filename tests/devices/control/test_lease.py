"""Leases and watchdogs in the shells of boards and phones."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.devices.conftest import SshServer, require
from tests.devices.fake_sysfs import FakeSysfs
from tests.devices.servers import kill_sessions
from trimtab.devices import find_device, requirements
from trimtab.devices.control import Control, controlled, lease, watchdog
from trimtab.devices.control.lease import Lease
from trimtab.devices.limits import TimeLimits
from trimtab.devices.local import LocalDevice
from trimtab.devices.process import Source
from trimtab.devices.protocol import CommandResult, Transcript
from trimtab.errors import (
    DeviceBusyError,
    DeviceError,
    DeviceUnreachableError,
)

pytestmark = pytest.mark.device

GOVERNOR = "devices/system/cpu/cpu1/cpufreq/scaling_governor"

# Those of a phone are toybox's, those of a small board busybox's.
PROGRAMS = [p.name for p in requirements.PROGRAMS if p.name not in ("zstd", "gzip")] + ["true"]


class OtherShell(LocalDevice):
    """This machine as a device with another shell and other programs."""

    shell_argv: tuple[str, ...] = ("/bin/sh",)
    path = os.environ["PATH"]

    def _execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Source | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        words = (*self.shell_argv, "-c", script)
        return super()._execute(
            f"PATH={shlex.quote(self.path)} exec {shlex.join(words)}",
            timeout_s=timeout_s,
            stdin=stdin,
            transcript=transcript,
        )


@pytest.fixture(params=["sh", "busybox", "android"])
def device(request: pytest.FixtureRequest, tmp_path: Path) -> OtherShell:
    """A device that is not connected, with the shell of a PC, a small board or a phone."""
    device = OtherShell("here", str(tmp_path / "directory"))
    device.lease_folder = str(tmp_path / "lease")
    if request.param != "sh":
        package = {"busybox": "busybox", "android": "toybox"}[request.param]
        links = tmp_path / "bin"
        links.mkdir()
        for name in PROGRAMS:
            (links / name).symlink_to(require(package, package))
        device.path = str(links)
        device.shell_argv = (str(links / "sh"),)
        if request.param == "android":
            (links / "sh").unlink()
            (links / "sh").symlink_to(require("mksh", "mksh"))
    return device


@pytest.fixture
def fake(device: OtherShell, tmp_path: Path) -> FakeSysfs:
    """The device's kernel, with the governor performance."""
    fake = FakeSysfs(tmp_path / "sys", governor="performance")
    device.sysfs = str(fake.folder)
    return fake


def acquire(device: LocalDevice, purpose: str = "test", wait_s: float = 0) -> Lease:
    return lease.acquire(device, purpose, wait_s=wait_s, note=lambda _: None)


def write_lease(device: LocalDevice, *, until: int, boot: str = "", number: int = 5) -> None:
    """Writes the lease of another machine's process."""
    folder = Path(device.lease_folder, str(number))
    folder.mkdir(parents=True)
    boot = boot or Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    owner = "owner=eve@elsewhere\npurpose=bench\npid=7\nmachine=elsewhere 1\nstarted=1\nsince=1\n"
    for name, text in (("boot", f"{boot}\n"), ("until", f"{until}\n"), ("owner", owner)):
        (folder / name).write_text(text)


def uptime() -> int:
    return int(float(Path("/proc/uptime").read_text().split()[0]))


def test_a_lease_names_its_owner_and_ends_with_its_release(device: OtherShell) -> None:
    with device:
        own = acquire(device, "calibrate")
        holder = lease.look(device)
        assert holder is not None
        assert holder.purpose == "calibrate"
        assert holder.pid == os.getpid()
        assert 0 <= (holder.until - holder.since).total_seconds() - device.limits.lease_s <= 2
        with pytest.raises(DeviceBusyError, match="calibrate") as caught:
            acquire(device)
        assert "--wait" in caught.value.hint
        own.release()
        assert lease.look(device) is None
        acquire(device).release()


@pytest.mark.parametrize("free", ["expired", "of another boot"])
def test_a_lease_that_expired_or_is_of_another_boot_is_taken_over(
    device: OtherShell, free: str
) -> None:
    if free == "expired":
        write_lease(device, until=uptime() - 1)
    else:
        write_lease(device, until=uptime() + 1000, boot="before")
    with device:
        own = acquire(device)
        assert own.number == 6
        assert lease.look(device) is not None
        own.release()


def test_one_of_many_claimants_gets_an_expired_lease(device: OtherShell) -> None:
    write_lease(device, until=uptime() - 1)
    outcomes: list[str] = []

    def contend() -> None:
        try:
            acquire(device)
            outcomes.append("taken")
        except DeviceBusyError:
            outcomes.append("busy")

    with device:
        threads = [threading.Thread(target=contend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(outcomes) == ["busy"] * 7 + ["taken"]


def test_a_lease_is_waited_for_until_its_expiry(device: OtherShell) -> None:
    write_lease(device, until=uptime() + 2)
    with device:
        with pytest.raises(DeviceBusyError, match="eve@elsewhere"):
            acquire(device)
        acquire(device, wait_s=60).release()


def test_the_lease_of_a_dead_local_process_is_taken_over_at_once(
    device: OtherShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with device:
        own = acquire(device)
        monkeypatch.setattr(lease, "start_of", lambda _: "long ago")
        acquire(device).release()
        with pytest.raises(DeviceBusyError, match="lost"):
            own.confirm()


def test_unlocking_a_live_lease_needs_force(device: OtherShell) -> None:
    write_lease(device, until=uptime() + 1000)
    with device:
        with pytest.raises(DeviceBusyError, match="eve@elsewhere") as caught:
            lease.unlock(device, force=False)
        assert "--force" in caught.value.hint
        assert "eve@elsewhere" in lease.unlock(device, force=True)
        assert lease.look(device) is None
        assert lease.unlock(device, force=False) == "the device is free"


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def wait_until(is_so: Callable[[], bool], timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


def start_runner(device: LocalDevice, own: Lease) -> tuple[threading.Thread, int]:
    """Starts a runner with a child, both without end, under a lease. Returns its process."""

    def run() -> None:
        with contextlib.suppress(DeviceError):
            device.run(["sh", "-c", "sleep 300 & wait"], timeout_s=200)

    device.set_launch_note(watchdog.launch_note(own.folder))
    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: noted_in(own) != [])
    return thread, int(noted_in(own)[0].name.split(".")[1])


def noted_in(own: Lease) -> list[Path]:
    return list(Path(own.folder).glob("runner.*"))


def test_a_watchdog_ends_the_runner_of_an_expired_lease_and_reverts_changes(
    device: OtherShell, fake: FakeSysfs
) -> None:
    device.limits = TimeLimits(lease_s=3, renew_s=1000)
    with device:
        own = acquire(device)
        watchdog.start(device, own.root, own.number)
        own.note([f"{GOVERNOR} schedutil performance"])
        thread, pid = start_runner(device, own)
        wait_until(lambda: not runs(pid))
        thread.join()
        wait_until(lambda: fake.governors() == ["performance", "schedutil"])
        result = device.run(["true"], timeout_s=30)
        assert result.exit_code == 75, "nothing starts under a lease that ran out"
        with pytest.raises(DeviceUnreachableError, match="lost: it could not be renewed"):
            own.confirm()


def test_a_watchdog_ends_with_its_lease_and_harms_nobody(
    device: OtherShell, fake: FakeSysfs
) -> None:
    with device:
        own = acquire(device)
        watchdog.start(device, own.root, own.number)
        own.note([f"{GOVERNOR} schedutil performance"])
        assert watchdogs(own) != []
        own.release()
        wait_until(lambda: watchdogs(own) == [])
        assert fake.governors() == ["performance", "performance"]


def watchdogs(own: Lease) -> list[str]:
    words = ["ps", "-ww", "-eo", "stat,args"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    lines = [line for line in shown.splitlines() if not line.startswith("Z")]
    return [line for line in lines if f"{own.root} watch" in line]


def test_a_takeover_ends_the_stale_runner(device: OtherShell) -> None:
    with device:
        own = acquire(device)
        thread, pid = start_runner(device, own)
        Path(own.folder, "until").write_text(f"{uptime() - 1}\n")
        later = acquire(device)
        assert later.cleaned_up == f"ended a stale runner (process {pid})"
        assert not runs(pid)
        thread.join()
        later.release()


def test_a_process_that_reuses_a_runners_number_is_left_alone(device: OtherShell) -> None:
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as other, device:
        own = acquire(device)
        Path(own.folder, f"runner.{other.pid}.1").touch()
        Path(own.folder, "until").write_text(f"{uptime() - 1}\n")
        later = acquire(device)
        assert later.cleaned_up == ""
        assert other.poll() is None
        later.release()
        other.kill()


def test_a_cut_link_leaves_no_runner_and_no_governor(
    start_sshd: Callable[..., SshServer],
    config: Path,
    tmp_path: Path,
) -> None:
    fake, server, noted = FakeSysfs(tmp_path / "sys"), start_sshd(), tmp_path / "pid"
    server.define(config, "board1", sysfs=fake.folder, lease=tmp_path / "lease")

    def cut() -> None:
        wait_until(noted.exists)
        kill_sessions(server.pid)

    cutter = threading.Thread(target=cut)
    cutter.start()
    notes: list[str] = []
    limits = TimeLimits(lease_s=4, renew_s=1)
    with find_device("board1").open(trust_new=True, limits=limits) as device:
        script = f"echo $$ >{noted}.part; mv {noted}.part {noted}; sleep 300"
        with controlled(device, Control(), note=notes.append), pytest.raises(DeviceError):
            device.run(["sh", "-c", script], timeout_s=60)
    cutter.join()
    pid = int(noted.read_text())
    wait_until(lambda: not runs(pid))
    wait_until(lambda: fake.governors() == ["schedutil", "schedutil"])
    assert "was not restored" not in "".join(notes), "nobody knows that yet"
