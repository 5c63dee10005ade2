"""Leases in a folder into which other users of the device put anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.devices.control.test_lease import (
    GOVERNOR,
    OtherShell,
    acquire,
    device,
    fake,
    uptime,
    write_lease,
)
from tests.devices.fake_sysfs import FakeSysfs
from trimtab.devices.control import lease, watchdog
from trimtab.devices.limits import TimeLimits
from trimtab.errors import DeviceError, DeviceUnreachableError

__all__ = ["device", "fake"]

pytestmark = pytest.mark.device

STRANGER = 65534  # "nobody"


def mode(path: str | Path) -> int:
    return Path(path).stat().st_mode & 0o7777


def test_everybody_may_take_a_lease_and_nobody_may_change_one_of_others(
    device: OtherShell,
) -> None:
    with device:
        own = acquire(device)
        assert mode(device.lease_folder) == 0o1777
        assert mode(own.folder) == 0o755
        own.release()


def test_a_folder_of_an_earlier_version_becomes_sticky(device: OtherShell) -> None:
    Path(device.lease_folder).mkdir()
    Path(device.lease_folder).chmod(0o777)
    with device:
        acquire(device).release()
    assert mode(device.lease_folder) == 0o1777


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make files of another user")
def test_nothing_of_a_stranger_is_run_or_believed(
    device: OtherShell, fake: FakeSysfs, tmp_path: Path
) -> None:
    marker = tmp_path / "executed"
    script = tmp_path / "script"  # of root, as a system has many
    script.write_text(f"echo >{marker}\n{GOVERNOR} powersave performance\n")
    write_lease(device, until=uptime() - 1)
    folder = Path(device.lease_folder)
    (folder / "5/undo").symlink_to(script)
    (folder / f"5/runner.{os.getpid()}.1").symlink_to(script)
    for path in (folder, folder / "5", *(folder / "5").iterdir()):
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
    with device:
        own = acquire(device)
        assert own.cleaned_up == ""
        own.release()
    assert not marker.exists()
    assert fake.governors() == ["performance", "performance"]
    assert (folder / "5").is_dir(), "it stays for its user"


def test_a_link_in_place_of_a_lease_is_not_followed(device: OtherShell, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    with device:
        own = acquire(device)
        for path in Path(own.folder).iterdir():
            (victim / path.name).write_bytes(path.read_bytes())
        before = {path.name: path.read_bytes() for path in victim.iterdir()}
        Path(own.folder).rename(tmp_path / "moved")
        Path(own.folder).symlink_to(victim)
        with pytest.raises((DeviceError, DeviceUnreachableError)):
            own.note(["a line"])
        with pytest.raises(DeviceUnreachableError, match="lost"):
            own.confirm()
        own.release()
        assert {path.name: path.read_bytes() for path in victim.iterdir()} == before
        device.set_launch_note(watchdog.launch_note(own.folder))
        assert device.run(["true"], timeout_s=30).exit_code == 75
    assert {path.name: path.read_bytes() for path in victim.iterdir()} == before


def test_a_folder_of_leases_that_is_a_link_is_refused(device: OtherShell, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    Path(device.lease_folder).symlink_to(tmp_path / "elsewhere")
    with device, pytest.raises(DeviceError, match="is a symbolic link"):
        acquire(device)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["boot", "until", "owner"])
def test_a_pipe_in_place_of_a_file_blocks_nobody(device: OtherShell, name: str) -> None:
    write_lease(device, until=uptime() + 1000)
    file = Path(device.lease_folder, "5", name)
    file.unlink()
    os.mkfifo(file)
    with device:
        holder = lease.look(device)
    assert (holder is not None) == (name == "owner")


def test_a_restored_governor_is_a_word_in_the_file_of_a_core(
    device: OtherShell, fake: FakeSysfs, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_text("performance\n")
    escape = "devices/system/cpu/cpu1/../../../../../other"
    with device:
        own = acquire(device)
        own.note(
            [
                f"{escape} powersave performance",
                "../other powersave performance",
                f"{GOVERNOR} $(echo>{tmp_path}/made) performance",
                f"{GOVERNOR} powersave performance more",
                GOVERNOR.replace("cpu1", "cpu0") + " schedutil performance",
            ]
        )
        Path(own.folder, "until").write_text(f"{uptime() - 1}\n")
        acquire(device).release()
    assert fake.governors() == ["schedutil", "performance"]
    assert other.read_text() == "performance\n"
    assert not (tmp_path / "made").exists()


HELD = "held 5 1000 1030"


@pytest.mark.parametrize(
    ("printed", "pid", "owner"),
    [
        (f"{HELD}\nowner=eve\npid=7\nsince=990", 7, "eve"),
        (f"{HELD}\nowner=eve\npid=x\nsince=9{'9' * 5000}", 0, "eve"),
        (f"{HELD}\nsince=-1\npid={'1' * 5000}\nowner={'e' * 5000}", 0, "e" * 200),
        (f"{HELD}\npid=1e3\nother=1", 0, "somebody"),
        ("held 5 1000", None, None),
        ("held 5 x y", None, None),
        (f"held 5 {'9' * 5000} 1", None, None),
        ("", None, None),
    ],
)
def test_a_holder_is_read_as_words_and_numbers_within_limits(
    printed: str, pid: int | None, owner: str | None
) -> None:
    holder = lease.holder_of(printed.splitlines())
    assert (holder and holder.pid) == pid
    assert (holder and holder.owner) == owner
    assert holder is None or str(holder)


class Printing(OtherShell):
    """A device whose scripts print something else."""

    printed = ""

    def shell(self, script: str, purpose: str, **_: object) -> str:
        return self.printed


@pytest.mark.parametrize("printed", ["taken 5", "taken x /tmp", "taken 5 tmp", "again", ""])
def test_a_device_that_never_gives_its_lease_is_an_error(printed: str, tmp_path: Path) -> None:
    device = Printing("here", str(tmp_path))
    device.limits = TimeLimits(race_s=0)
    device.printed = printed
    with pytest.raises(DeviceError, match="the lease cannot be taken"):
        acquire(device)
