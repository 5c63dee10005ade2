"""Checks of what a device can run and store, before the work."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import disks
from tests.devices.conftest import SshServer, require
from trimtab.build.toolchain import find_toolchain, list_toolchains
from trimtab.devices import Device, Room, find_device, readiness
from trimtab.devices.protocol import CommandResult
from trimtab.errors import DeviceError, DeviceFullError
from trimtab.pipeline import measured
from trimtab.pipeline.measured import bench
from trimtab.pipeline.recipe import MeasurementRequest, Recipe

pytestmark = pytest.mark.device

EMULATORS = {
    "aarch64": "qemu-aarch64",
    "armv7": "qemu-arm",
    "riscv64": "qemu-riscv64",
    "x86_64": "qemu-x86_64",
}
FOREIGN = "aarch64-linux-musl"


def test_every_toolchain_has_a_tiny_program() -> None:
    assert {find_toolchain(name).arch for name in list_toolchains()} <= EMULATORS.keys()


@pytest.mark.parametrize("arch", EMULATORS)
def test_a_tiny_program_runs_on_its_architecture(arch: str, tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_bytes(readiness.program(arch))
    file.chmod(0o755)
    words = [require(EMULATORS[arch], "qemu-user"), str(file)]
    assert subprocess.run(words, check=False).returncode == 42
    if arch == find_toolchain("host").arch:
        assert subprocess.run([file], check=False).returncode == 42
    shown = subprocess.run(["readelf", "-hl", file], capture_output=True, text=True, check=True)
    assert not shown.stderr


@pytest.mark.parametrize("kind", ["local", "paramiko", "openssh"])
def test_a_foreign_build_is_refused_with_the_toolchains_of_the_machine(
    sshd: SshServer, config: Path, kind: str
) -> None:
    own = find_toolchain("host").arch
    foreign = FOREIGN if own != "aarch64" else "x86_64-linux-musl"
    sshd.define(config, "board1", client=kind)
    name = "local" if kind == "local" else "board1"
    with find_device(name).open(trust_new=True) as device:
        assert readiness.check(device, "host").free_bytes
        with pytest.raises(
            DeviceError, match=f"runs no .* programs: its machine is {own}"
        ) as caught:
            readiness.check(device, foreign)
    assert f"toolchain {foreign}" in caught.value.where
    assert f"{own}-linux-musl" in caught.value.hint


def test_an_emulated_device_takes_what_it_emulates_and_nothing_else() -> None:
    require("qemu-arm", "qemu-user")
    with find_device("qemu-armv7").open() as device:
        readiness.check(device, "armv7-linux-musleabihf")
        with pytest.raises(DeviceError, match="runs no aarch64 programs: its machine is armv7l"):
            readiness.check(device, FOREIGN)


class Pretender:
    """A device that answers as another machine."""

    name = "board1"

    def __init__(self, device: Device, machine: str, exit_code: int, *, has_loader: bool) -> None:
        self._device, self._machine, self._exit_code = device, machine, exit_code
        self._has_loader = has_loader

    def __getattr__(self, name: str) -> object:
        return getattr(self._device, name)

    def run(self, *_: object, **__: object) -> CommandResult:
        return CommandResult(self._exit_code, None, b"", b"")

    def shell(self, script: str, purpose: str, **_: object) -> str:
        return "found\n" if self._has_loader else ""

    def describe(self) -> object:
        return type("Info", (), {"machine": self._machine})()


@pytest.mark.parametrize(
    ("machine", "code", "has_loader", "toolchain", "message"),
    [
        ("aarch64", 42, False, "armv7-linux-musleabihf", ""),
        ("aarch64", 42, False, "aarch64-linux-musl", ""),
        ("aarch64", 42, True, "aarch64-linux-gnu", ""),
        ("aarch64", 42, False, "aarch64-linux-gnu", "lacks /lib/ld-linux-aarch64.so.1"),
        ("aarch64", 126, True, "armv7-linux-musleabihf", "without support for 32-bit programs"),
        (
            "armv7l",
            2,
            True,
            "aarch64-linux-musl",
            "runs no aarch64 programs: its machine is armv7l",
        ),
        ("armv6l", 132, True, "armv7-linux-musleabihf", "its machine is armv6l"),
    ],
)
def test_a_machine_takes_what_its_kernel_runs_and_its_userland_links(
    machine: str, code: int, has_loader: bool, toolchain: str, message: str
) -> None:
    with find_device("local").open() as local:
        device = Pretender(local, machine, code, has_loader=has_loader)
        if not message:
            assert readiness.check(device, toolchain)  # type: ignore[arg-type]
            return
        with pytest.raises(DeviceError, match=message):
            readiness.check(device, toolchain)  # type: ignore[arg-type]


def never(what: str) -> Callable[..., object]:
    def refuse(*_: object, **__: object) -> object:
        pytest.fail(f"{what} was begun in vain")

    return refuse


def test_a_foreign_build_is_refused_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(measured, "load", never("loading"))
    request = MeasurementRequest("local", results=tmp_path)
    own = find_toolchain("host").arch
    foreign = FOREIGN if own != "aarch64" else "x86_64-linux-musl"
    with pytest.raises(DeviceError, match="runs no"):
        bench(Recipe(model="yolo_fastest", toolchain=foreign, measurement=request))


@pytest.mark.parametrize(
    ("size_bytes", "step"), [(512 << 10, "plan"), (1 << 20, "build"), (100 << 10, "load")]
)
def test_a_model_without_room_is_refused_before_the_step_that_takes_long(
    sshd: SshServer,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size_bytes: int,
    step: str,
) -> None:
    """mobilenet_v1 has 17 MB of weights, squeezenet 5 MB, yolo_fastest 1.4 MB."""
    monkeypatch.setattr(measured, step, never(step))
    with disks.small_disk(tmp_path / "disk", size_bytes) as disk:
        sshd.define(config, "board1", directory=disk / "trimtab")
        request = MeasurementRequest("board1", results=tmp_path, trust_new=True)
        model = {"plan": "squeezenet", "build": "yolo_fastest", "load": "squeezenet"}[step]
        with pytest.raises(DeviceFullError, match="no room on the device for") as caught:
            bench(Recipe(model=model, measurement=request))
    assert "`directory`" in caught.value.hint


def test_a_file_that_was_pushed_before_needs_no_room_again() -> None:
    room = Room("board1", 0, frozenset({"net.ttm"}))
    room.check(1 << 20, "net.ttm")
    with pytest.raises(DeviceFullError):
        room.check(1 << 20, "other.ttm")
    Room("board1", None, frozenset()).check(1 << 40, "net.ttm")
