"""What the demo does when the board cannot be had, without booting or building anything."""

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


def find_device(said: RecordedProgress) -> tuple[DeviceDefinition | None, bool]:
    return demo._Demo(Path("nowhere"), said).find_device()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with all that the board needs, and a board that is down."""
    monkeypatch.setattr(doctor, "examine", tuple)
    monkeypatch.setattr(board, "status", lambda: None)
    monkeypatch.setattr(board, "up", lambda **_: BOARD)
    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")
    return monkeypatch


def test_the_board_is_taken_and_stopped_again_if_it_was_down(machine: pytest.MonkeyPatch) -> None:
    device, is_ours = find_device(RecordedProgress())
    assert device is not None
    assert (device.name, is_ours) == ("board", True)
    machine.setattr(board, "status", lambda: BOARD)
    assert find_device(RecordedProgress())[1] is False


def test_only_what_the_board_needs_is_installed(machine: pytest.MonkeyPatch) -> None:
    installed: list[Requirement] = []
    machine.setattr(doctor, "install", lambda found, progress: installed.extend(found))
    names = ("cpio", "g++", "ssh-keygen", "qemu-system-aarch64")
    found = tuple(Requirement(name, "", "", name, "", needed=False) for name in names)
    machine.setattr(doctor, "examine", lambda: found)
    find_device(RecordedProgress())
    assert [requirement.name for requirement in installed] == ["qemu-system-aarch64"]


@pytest.mark.parametrize("trouble", ["no root", "no boot"])
def test_without_the_board_it_goes_on_in_user_mode_and_says_so(
    machine: pytest.MonkeyPatch, trouble: str
) -> None:
    if trouble == "no root":
        name = "qemu-system-aarch64"
        missing = Requirement(name, "", "", "qemu-system-arm", "", needed=False)
        machine.setattr(doctor, "examine", lambda: (missing,))
        machine.setattr(doctor, "install", raising(MissingRequirementError("needs root")))
    else:
        machine.setattr(board, "up", raising(EmulatorError("did not boot")))
    said = RecordedProgress()
    device, is_ours = find_device(said)
    assert device is not None
    assert (device.name, is_ours) == ("qemu-a53", False)
    assert said.lines[-2].startswith("no board: ")
    assert "user mode" in said.lines[-1]


def test_without_any_emulator_it_goes_on_with_this_machine(machine: pytest.MonkeyPatch) -> None:
    said = RecordedProgress()
    machine.setattr(board, "up", raising(EmulatorError("not installed")))
    machine.setattr("shutil.which", lambda program: None)
    assert find_device(said) == (None, False)
    assert "no ARM code is run" in said.lines[-1]
