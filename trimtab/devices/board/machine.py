"""Transport `board`: an ARM Linux with an SSH server in QEMU, on this machine.

    transport = "board"
    toolchain = "aarch64-linux-musl"
    cpu = "cortex-a53"
    arch = "aarch64"                # or "armv7"

`up` and `down` start and stop it; there is one board per architecture. With one processor QEMU
counts instructions itself (`-icount`), so that perf_event_open in the guest gives exact counts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from trimtab import cores, files, paths, strict_json, system
from trimtab.devices import ssh
from trimtab.devices.board import image as board_image
from trimtab.devices.board.image import MACHINES
from trimtab.devices.registry import DeviceDefinition
from trimtab.devices.ssh import Address, SshDevice, host_keys
from trimtab.errors import DeviceError, DeviceUnreachableError, EmulatorError
from trimtab.paths import PROGRAM
from trimtab.progress import SILENT, Progress

_STOP_S = 10.0
PROGRAMS = ssh.PROGRAMS

_HOST = "127.0.0.1"
_PORT_ATTEMPTS = 3


@dataclass(frozen=True)
class BoardState:
    """A running board: QEMU's process, the SSH port, and the emulated processor."""

    pid: int
    port: int
    cpu_model: str
    cpus: int
    image: str


def up(
    arch: str = "aarch64",
    *,
    cpu_model: str | None = None,
    cpus: int = 1,
    boot_s: float = 120.0,
    progress: Progress = SILENT,
) -> BoardState:
    """Starts the board if it is not running. The first time it downloads and builds its image.

    With several `cpus` there are no exact instruction counts. `boot_s`: the time limit of its boot,
    which takes 2 s on a quiet machine. Raises `EmulatorError` if QEMU or packages are missing or it
    does not boot, `DeviceError` if it runs with another processor.
    """
    _require_linux()
    machine = _machine(arch)
    program = shutil.which(machine.program)
    if program is None:
        raise EmulatorError(
            f"{machine.program} is not installed", hint="apt-get install qemu-system-arm"
        )
    model = cores.spelling(cpu_model or machine.cpu_model)
    with _locked(arch) as folder:
        state = _running(folder)
        if state is not None:
            if (state.cpu_model, state.cpus) != (model, cpus):
                raise DeviceError(
                    f"the board runs as {state.cpus} x {state.cpu_model}",
                    hint=f"stop it first: {PROGRAM} board --stop --arch {arch}",
                )
            return state
        image = _image(arch, folder, progress)
        with progress.step(f"boot {machine.program}, {cpus} x {model}"):
            for attempt in range(_PORT_ATTEMPTS):
                state = _boot(program, folder, image, model, cpus, boot_s)
                if state is not None:
                    return state
                trial = f"attempt {attempt + 1} of {_PORT_ATTEMPTS}"
                progress.note(f"another program took the port ({trial})")
    raise EmulatorError("no free port for the board's SSH server", where=_HOST)


def prepare(arch: str = "aarch64", progress: Progress = SILENT) -> Path:
    """The folder of the board's image, which is downloaded and built if it is missing."""
    _require_linux()
    with _locked(arch) as folder:
        return _image(arch, folder, progress)


def down(arch: str = "aarch64") -> bool:
    """Stops the board; False if it was not running."""
    with _locked(arch) as folder:
        state = _running(folder)
        if state is not None:
            stop(state.pid)
        (folder / "state.json").unlink(missing_ok=True)
    return state is not None


def status(arch: str = "aarch64") -> BoardState | None:
    """The running board, or None."""
    folder = _folder(arch)
    return _running(folder) if folder.is_dir() else None


def as_json(state: BoardState | None) -> str:
    """The state of a board as JSON; `{"up": false}` if it is down."""
    return strict_json.dumps({"up": state is not None} | (asdict(state) if state else {}))


@dataclass(frozen=True)
class BoardOptions:
    """The transport's keys in a device's file."""

    arch: str
    client: Literal["openssh", "paramiko", ""] = ""


OPTIONS = BoardOptions


class BoardDevice(SshDevice):
    """The running board."""


def create(definition: DeviceDefinition, *, trust_new: bool) -> BoardDevice:
    """Makes the device of a definition with this transport. The board's host key is pinned by `up`.

    Raises `DeviceUnreachableError` if the board is not up.
    """
    options = definition.read_options(BoardOptions)
    arch = options.arch
    state = status(arch)
    if state is None:
        raise DeviceUnreachableError(
            "the board is not up", where=definition.name, hint=f"{PROGRAM} board --arch {arch}"
        )
    image = Path(state.image)
    address = Address(
        host=_HOST,
        port=state.port,
        user="root",
        key=image / board_image.CLIENT_KEY,
        known_hosts=_folder(arch) / "known_hosts",
        config=Path(os.devnull),
    )
    return BoardDevice(definition.name, "trimtab", address, client=options.client, is_emulated=True)


def _machine(arch: str) -> board_image.BoardMachine:
    if arch not in MACHINES:
        raise DeviceError(
            f"there is no board for {arch!r}", hint=f"known: {', '.join(sorted(MACHINES))}"
        )
    return MACHINES[arch]


def _folder(arch: str) -> Path:
    _machine(arch)
    return paths.cache() / "board" / arch


@contextlib.contextmanager
def _locked(arch: str) -> Iterator[Path]:
    """The board's folder, locked for this process."""
    folder = _folder(arch)
    try:
        with files.locked(folder / "lock", error=EmulatorError):
            yield folder
    except OSError as error:
        raise EmulatorError(f"the board cannot be prepared: {error}", where=str(folder)) from error


def _running(folder: Path) -> BoardState | None:
    """The stored state, if the same QEMU still runs; process numbers are reused."""
    try:
        state = BoardState(**strict_json.loads((folder / "state.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return state if os.fsencode(f"file:{folder / 'serial.log'}") in _command(state.pid) else None


def _command(pid: int) -> bytes:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _image(arch: str, folder: Path, progress: Progress) -> Path:
    """The image's folder. Its name holds the recipe's hash: a new recipe makes a new one."""
    image = folder / f"image-{board_image.recipe()}"
    if not image.is_dir():
        board_image.build(arch, folder, image, progress)
        for old in folder.glob("image-*"):
            if old != image:
                shutil.rmtree(old, ignore_errors=True)
    return image


def _boot(
    program: str, folder: Path, image: Path, cpu_model: str, cpus: int, boot_s: float
) -> BoardState | None:
    """Starts QEMU and waits for the ready line; None if another program took the port."""
    serial, log = folder / "serial.log", folder / "qemu.log"
    serial.unlink(missing_ok=True)
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
    words = [program, "-M", "virt", "-cpu", cpu_model, "-smp", str(cpus), "-m", "1024"]
    words += ["-nographic", "-nodefaults", "-no-reboot", "-serial", f"file:{serial}"]
    words += ["-icount", "shift=1,sleep=on"] if cpus == 1 else []
    words += ["-kernel", str(image / board_image.KERNEL)]
    words += ["-initrd", str(image / board_image.INITRD)]
    words += ["-append", "console=ttyAMA0 quiet panic=-1"]
    words += ["-netdev", f"user,id=n0,restrict=on,hostfwd=tcp:{_HOST}:{port}-:22"]
    words += ["-device", "virtio-net-device,netdev=n0"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        if not _wait_ready(process, serial, log, boot_s):
            return None
    except BaseException:
        process.kill()
        process.wait()
        raise
    state = BoardState(process.pid, port, cpu_model, cpus, str(image))
    known_hosts = folder / "known_hosts"
    known_hosts.unlink(missing_ok=True)
    host_keys.pin(known_hosts, f"[{_HOST}]:{port}", (image / board_image.HOST_KEY).read_text())
    files.write_text(folder / "state.json", strict_json.dumps(asdict(state)), error=EmulatorError)
    return state


def _wait_ready(process: subprocess.Popen[bytes], serial: Path, log: Path, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if serial.exists() and board_image.READY_LINE.encode() in serial.read_bytes():
            return True
        if process.poll() is not None:
            output = log.read_text(errors="replace").strip()[-400:]
            if "host forwarding" in output:
                return False
            raise EmulatorError(f"QEMU ended with {process.returncode}: {output}", where=str(log))
        time.sleep(0.05)
    raise EmulatorError(
        f"the board did not boot within {limit_s:g} s", where=str(serial), hint="read that file"
    )


def _require_linux() -> None:
    hint = "measure on a real board (docs/devices.md), or use WSL"
    system.require_linux("the board that QEMU emulates", hint)


def stop(pid: int) -> None:
    """Ends the process of a board, as a loss of power does; EmulatorError if it stays."""
    if sys.platform == "win32":
        return  # no board runs there: `up` needs Linux
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + _STOP_S
        while time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            if not _command(pid):
                return
            time.sleep(0.02)
    raise EmulatorError(f"QEMU (process {pid}) does not end")
