"""Leases that are taken in the moment in which another one is, and launches that lose theirs."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.devices.control.test_lease import OtherShell, acquire, uptime, write_lease
from tests.devices.servers import require
from trimtab.bench.jobs import Settings
from trimtab.bench.protocol import measure
from trimtab.devices.control import lease
from trimtab.errors import DeviceBusyError

pytestmark = pytest.mark.device


@pytest.fixture
def device(tmp_path: Path) -> OtherShell:
    """This machine as a device that is not connected, whose first PATH folder is a test's own."""
    device = OtherShell("here", str(tmp_path / "directory"))
    device.lease_folder = str(tmp_path / "lease")
    (tmp_path / "bin").mkdir()
    device.path = f"{tmp_path}/bin:{os.environ['PATH']}"
    return device


@pytest.fixture
def meanwhile(tmp_path: Path) -> Callable[[str, str, str], None]:
    """Makes a program of the device let somebody else act right after its call."""

    def write(program: str, argument: str, action: str) -> None:
        real = shutil.which(require(program, "coreutils"))
        file = tmp_path / "bin" / program
        lines = (
            "#!/bin/sh",
            f'{real} "$@"; code=$?',
            f'case "$*" in *{argument}) {action} ;; esac',
            "exit $code",
        )
        file.write_text("\n".join(lines) + "\n")
        file.chmod(0o755)

    return write


def elsewhere(device: OtherShell, number: int, folder: Path) -> str:
    """The shell command that makes lease `number` that of a process of another machine."""
    store = OtherShell("elsewhere", str(folder / "elsewhere"))
    store.lease_folder = str(folder / "others")
    write_lease(store, until=uptime() + 1000, number=number)
    target = shlex.quote(f"{device.lease_folder}/{number}")
    return f"mkdir -p {target}; cp {shlex.quote(f'{folder}/others/{number}')}/* {target}"


def test_a_holder_that_is_slow_to_write_its_lease_keeps_it(
    device: OtherShell, meanwhile: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    Path(device.lease_folder, "5").mkdir(parents=True)  # its maker has not written it yet ...
    meanwhile("mkdir", "/lease/6", elsewhere(device, 5, tmp_path))  # ... and does so only now
    with device:
        with pytest.raises(DeviceBusyError, match="eve@elsewhere"):
            acquire(device)
        assert not Path(device.lease_folder, "6").exists()
        holder = lease.look(device)
    assert holder is not None
    assert holder.number == 5


def test_a_claimant_that_was_slow_to_write_its_lease_yields_to_a_newer_one(
    device: OtherShell, meanwhile: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    meanwhile("mv", "owner", elsewhere(device, 2, tmp_path))
    with device:
        with pytest.raises(DeviceBusyError, match="eve@elsewhere"):
            acquire(device)
        assert not Path(device.lease_folder, "1").exists()
        holder = lease.look(device)
    assert holder is not None
    assert holder.number == 2


@pytest.mark.parametrize("fault", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(9)"])
def test_a_launch_that_fails_because_its_lease_was_taken_says_so(
    device: OtherShell, tmp_path: Path, fault: str
) -> None:
    take = tmp_path / "take"
    take.write_text(elsewhere(device, 2, tmp_path))
    subject = make_subject(tmp_path, f"is_golden or (os.system('sh {take}'), {fault})")
    with device:
        outcome = measure(device, subject, make_golden(), Settings(runs=1), tmp_path / "runs")
    assert isinstance(outcome.error, DeviceBusyError)
    assert "taken by eve@elsewhere" in outcome.error.what
