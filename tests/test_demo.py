"""The demo without a board; nothing is booted or built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.recorded_progress import RecordedProgress
from trimtab import demo, doctor
from trimtab.devices import DeviceDefinition, board
from trimtab.devices.board import BoardState
from trimtab.doctor import Requirement
from trimtab.errors import EmulatorError, MissingRequirementError

BOARD = BoardState(pid=1, port=2222, cpu_model="cortex-a53", cpus=1, image="/nowhere")


def raising(error: Exception) -> Callable[..., NoReturn]:
    def fail(*_: Any, **__: Any) -> NoReturn:
        raise error

    return fail


def find_device(progress: RecordedProgress) -> tuple[DeviceDefinition | None, bool]:
    return demo.Demo(Path("nowhere"), progress).find_device()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with every requirement of the board, and a board that is down."""
    monkeypatch.setattr(doctor, "examine", tuple)
    monkeypatch.setattr(board, "status", lambda: None)
    monkeypatch.setattr(board, "up", lambda **_: BOARD)
    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")
    return monkeypatch


def test_the_board_is_used_and_stopped_if_it_was_down_before(machine: pytest.MonkeyPatch) -> None:
    device, is_ours = find_device(RecordedProgress())
    assert device is not None
    assert (device.name, is_ours) == ("board", True)
    machine.setattr(board, "status", lambda: BOARD)
    assert find_device(RecordedProgress())[1] is False


def test_only_requirements_of_the_board_are_installed(machine: pytest.MonkeyPatch) -> None:
    installed: list[Requirement] = []
    machine.setattr(doctor, "install", lambda missing, progress: installed.extend(missing))
    names = ("cpio", "g++", "ssh-keygen", "qemu-system-aarch64")
    requirements = tuple(Requirement(name, "", "", name, "", needed=False) for name in names)
    machine.setattr(doctor, "examine", lambda: requirements)
    find_device(RecordedProgress())
    assert [requirement.name for requirement in installed] == ["qemu-system-aarch64"]


@pytest.mark.parametrize("trouble", ["no root", "no boot"])
def test_without_the_board_the_demo_continues_in_user_mode_and_reports_it(
    machine: pytest.MonkeyPatch, trouble: str
) -> None:
    if trouble == "no root":
        name = "qemu-system-aarch64"
        missing = Requirement(name, "", "", "qemu-system-arm", "", needed=False)
        machine.setattr(doctor, "examine", lambda: (missing,))
        machine.setattr(doctor, "install", raising(MissingRequirementError("needs root")))
    else:
        machine.setattr(board, "up", raising(EmulatorError("did not boot")))
    progress = RecordedProgress()
    device, is_ours = find_device(progress)
    assert device is not None
    assert (device.name, is_ours) == ("qemu-a53", False)
    assert progress.lines[-2].startswith("no board: ")
    assert "user mode" in progress.lines[-1]


def test_without_any_emulator_the_demo_continues_here(machine: pytest.MonkeyPatch) -> None:
    progress = RecordedProgress()
    machine.setattr(board, "up", raising(EmulatorError("not installed")))
    machine.setattr("shutil.which", lambda program: None)
    assert find_device(progress) == (None, False)
    assert "no ARM code is run" in progress.lines[-1]
