"""The protocol of a device, which every transport implements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from trimtab.cores import Cache
from trimtab.devices.cache_log import CacheLog
from trimtab.devices.limits import TimeLimits
from trimtab.errors import DeviceFullError, DeviceOutputError
from trimtab.progress import SILENT, Progress

SHELL_BYTES = 4 << 20  # of a short script; the files of 1,024 processors take 1 MiB
PULL_BYTES = 1 << 30  # of a file whose size is not known here
NO_ROOM = 81  # exit code of trimtab's scripts: the disk is full; their programs do not use it


@dataclass(frozen=True)
class CommandResult:
    """The exit code and the complete output of a command.

    A command that died by a signal has `signal` set and the exit code 128 + signal, as in a shell.
    """

    exit_code: int
    signal: int | None
    stdout: bytes
    stderr: bytes

    @property
    def ok(self) -> bool:
        """True if the command ended by itself with exit code 0."""
        return self.exit_code == 0


@dataclass(frozen=True)
class DeviceInfo:
    """The present facts of a device; None or empty if the device does not report one.

    `cpu`: names of cores (`cortex-a53`), joined by `+` on a big.LITTLE. `temperature_celsius`: the
    hottest CPU zone. `is_emulated`: its clock says nothing about speed.
    """

    machine: str
    kernel: str
    cpu: str | None
    cpu_count: int | None
    memory_bytes: int | None
    boot_id: str | None
    governor: str | None
    frequencies_mhz: tuple[float, ...]
    temperature_celsius: float | None
    is_emulated: bool


@dataclass(frozen=True)
class PushedFile:
    """A file on the device: its remote path, and the bytes that crossed the link for it.

    `sent_bytes` is 0 if the device had the file already. `packing` names the program that
    decompressed it there, "" if it went uncompressed.
    """

    path: str
    sent_bytes: int = 0
    packing: str = ""


@dataclass(frozen=True)
class Room:
    """The free space in trimtab's directory on a device, None if it is unknown.

    `pushed`: the names of the files that were pushed before, which may not need space again.
    """

    device: str
    free_bytes: int | None
    pushed: frozenset[str]

    def check(self, need_bytes: int, file: str) -> None:
        """Raises `DeviceFullError` if a new file of at least `need_bytes` cannot have room."""
        if self.free_bytes is None or self.free_bytes >= need_bytes or file in self.pushed:
            return
        raise DeviceFullError(
            f"no room on the device for {file}: it needs {need_bytes:,} bytes, and "
            f"{self.free_bytes:,} are free",
            where=self.device,
            hint="free some space there, or set `directory` in the device's definition to a larger "
            "file system",
        )


@dataclass(frozen=True)
class Mark:
    """One marker of the runner, and the instructions that its process had executed before it.

    `phase` and `index` are the second and third argument of the runner's `prctl` call.
    """

    phase: int
    index: int
    instructions: int


class Transcript:
    """The output of a command so far, which survives a timeout or a broken link.

    `stdout` grows as data arrives. An `InstructionCounter` adds `marks` at the end.
    """

    def __init__(self, limit_bytes: int = 64 << 20) -> None:
        """An empty transcript. `limit_bytes` exceeds the output of any sane run."""
        self.stdout = bytearray()
        self.marks: list[Mark] = []
        self._limit_bytes = limit_bytes

    def wrote(self, data: bytes) -> None:
        """Appends output. Raises `DeviceOutputError` beyond the limit: end the command then."""
        room = self._limit_bytes - len(self.stdout)
        self.stdout += data[:room]
        if len(data) > room:
            raise DeviceOutputError(
                f"a command on the device printed more than {self._limit_bytes:,} bytes",
                hint="the end of its output shows what it was doing; for a runner, measure less",
            )


class Device(Protocol):
    """A machine that runs binaries. Entering it connects, leaving it disconnects.

    All remote paths lie under one prefix that belongs to trimtab; others are a `DeviceError`.
    """

    @property
    def name(self) -> str:
        """The name of its definition."""
        ...

    @property
    def connection(self) -> str:
        """The client of the connection and why it was chosen; "" if there is no choice."""
        ...

    @property
    def sysfs(self) -> str:
        """The folder of its kernel's state: /sys, or a stand-in."""
        ...

    @property
    def lease_folder(self) -> str:
        """The folder of its leases; "" for the one that all its users share."""
        ...

    @property
    def limits(self) -> TimeLimits:
        """How long it may take."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...

    def describe(self) -> DeviceInfo:
        """The present facts of the device; asks it at each call."""
        ...

    def push(self, local: Path, progress: Progress = SILENT) -> PushedFile:
        """Copies `local` to the device, executable.

        The copy is addressed by its content and verified there. A file that the device has is not
        sent again. A large file is compressed on its way if the device can decompress it. Raises
        `DeviceFullError` before or during the copy, which leaves nothing.
        """
        ...

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        """Runs `argv` (not through a shell) with empty stdin, in `cwd` or the prefix.

        After `timeout_s` its process group is killed and `DeviceTimeoutError` raised; the
        `transcript` holds its output until then. A program that cannot be started has exit code 126
        or 127, and `stderr` says why.
        """
        ...

    def pull(self, remote: str, local: Path, *, limit_bytes: int = PULL_BYTES) -> None:
        """Copies a remote file; `local` appears complete or not at all.

        Raises `DeviceOutputError`, before anything is read, if it has more than `limit_bytes`.
        """
        ...

    def room(self) -> Room:
        """The free space for files on the device."""
        ...

    def scratch(self) -> AbstractContextManager[str]:
        """A fresh remote directory for one run, removed afterwards."""
        ...

    def tidy(self) -> None:
        """Removes day-old files of killed runs under the prefix. The caller holds the lease."""
        ...

    def shell(self, script: str, purpose: str, *, limit_bytes: int = SHELL_BYTES) -> str:
        """The output of a short script in a POSIX shell there.

        Raises a `DeviceError` that names the `purpose` if the script fails, and a
        `DeviceOutputError` if it prints more than `limit_bytes`.
        """
        ...

    def clone(self) -> Self:
        """The same device with a connection of its own: enter it with `with`."""
        ...

    def set_launch_note(self, script: str) -> None:
        """Runs `script` at the beginning of each later `run`; "" for none."""
        ...


@dataclass(frozen=True)
class InstructionCounts:
    """Marks in order of execution; `total` is None if the process did not exit by itself."""

    marks: tuple[Mark, ...]
    total: int | None


@runtime_checkable
class InstructionCounter(Protocol):
    """A device that counts the executed instructions of a process exactly, from outside."""

    def can_count_instructions(self) -> bool:
        """False if the device's emulator was built without plug-ins."""
        ...

    def count_instructions(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        transcript: Transcript | None = None,
    ) -> tuple[CommandResult, InstructionCounts]:
        """Runs `argv` as `run` does, and counts every executed guest instruction."""
        ...


@runtime_checkable
class CacheSimulator(Protocol):
    """A device that simulates the data caches of a core while a process runs."""

    def has_plugins(self) -> bool:
        """False if the device's emulator was built without plug-ins."""
        ...

    def simulate_caches(
        self, argv: Sequence[str], caches: Sequence[Cache], *, timeout_s: float
    ) -> tuple[CommandResult, CacheLog]:
        """Runs `argv` as `run` does. `caches`: those of the core, first-level data cache first."""
        ...
