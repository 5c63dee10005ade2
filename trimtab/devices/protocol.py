"""What every device can do, whatever carries the bytes to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from trimtab.cores import Cache
from trimtab.devices.cache_log import CacheLog
from trimtab.errors import DeviceOutputError
from trimtab.progress import SILENT, Progress

NO_ROOM = 81  # exit code of our scripts on the device: its disk is full; nothing they call uses it


@dataclass(frozen=True)
class CommandResult:
    """How a command ended, and all that it wrote.

    A command that a signal ended has `signal` set and `exit_code` 128 + signal, as shells count.
    """

    exit_code: int
    signal: int | None
    stdout: bytes
    stderr: bytes

    @property
    def ok(self) -> bool:
        """True when the command ended by itself with exit code 0."""
        return self.exit_code == 0


@dataclass(frozen=True)
class DeviceInfo:
    """Facts about a device at the moment of asking; None (or empty) where the device does not tell.

    `cpu`: names of cores (`cortex-a53`), `+` between those of a big.LITTLE;
    `temperature_celsius`: the hottest CPU zone; `is_emulated`: its clock says nothing about speed.
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
class Pushed:
    """A file that is on the device: its remote path, and what crossed the link for it.

    `sent_bytes` is 0 for what the device had already; `packing` names the program that unpacked
    them there, "" when they went as they are.
    """

    path: str
    sent_bytes: int = 0
    packing: str = ""


@dataclass(frozen=True)
class Mark:
    """One marker of the runner: `instructions` were executed by the process before it.

    `phase` and `index` are the second and third argument of the runner's `prctl` marker.
    """

    phase: int
    index: int
    instructions: int


class Transcript:
    """What a command has written so far, for who wants it although the command comes to a bad end:
    a time-out or a broken link raises, and gives no result.

    `stdout` grows as it arrives; `marks` of an `InstructionCounter` are there at the end.
    """

    def __init__(self, limit_bytes: int = 64 << 20) -> None:
        """Nothing was written yet. `limit_bytes`: more than any run prints that goes well, and less
        than what hurts this machine.
        """
        self.stdout = bytearray()
        self.marks: list[Mark] = []
        self._limit_bytes = limit_bytes

    def wrote(self, data: bytes) -> None:
        """Called by the transport for each piece of output, until it raises `DeviceOutputError`:
        what is over the limit is not kept, and the command is to be ended.
        """
        room = self._limit_bytes - len(self.stdout)
        self.stdout += data[:room]
        if len(data) > room:
            raise DeviceOutputError(
                f"a command on the device printed more than {self._limit_bytes:,} bytes",
                hint="the end of what it printed says what it was doing; a runner: measure less",
            )


class Device(Protocol):
    """A place where a binary runs. Entering connects, leaving disconnects.

    All remote paths lie under one prefix that belongs to trimtab; any other is a `DeviceError`.
    """

    @property
    def name(self) -> str:
        """The name of the definition it was opened from."""
        ...

    @property
    def connection(self) -> str:
        """The client of the connection and why it was chosen; "" if there is no choice."""
        ...

    @property
    def sysfs(self) -> str:
        """Where its kernel tells of processors and heat: /sys, or what stands in for it."""
        ...

    @property
    def lease_folder(self) -> str:
        """Where its leases lie; "" for the place that all its users share."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...

    def describe(self) -> DeviceInfo:
        """Asks the device for its facts, anew at each call."""
        ...

    def push(self, local: Path, progress: Progress = SILENT) -> Pushed:
        """Puts a copy of `local` (executable) on the device.

        The copy is addressed by its content and verified there: bytes that the device has already
        are not moved again, and where it can unpack, a large file is packed on its way. Raises
        `DeviceFullError` before or during the copy, leaving nothing.
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
        """Runs `argv` (no shell sees it) with empty stdin, in `cwd` or the prefix.

        After `timeout_s` its process group is killed and `DeviceTimeoutError` raised; what it wrote
        before is in the `transcript`. A program that cannot be started is exit code 126 or 127 with
        the reason in `stderr`.
        """
        ...

    def pull(self, remote: str, local: Path) -> None:
        """Copies a remote file; `local` appears complete or not at all."""
        ...

    def scratch(self) -> AbstractContextManager[str]:
        """A fresh remote directory for one run, removed afterwards."""
        ...

    def tidy(self) -> None:
        """Removes what runs that were killed have left under the prefix, a day after. The caller
        has the device to itself.
        """
        ...

    def shell(self, script: str, purpose: str) -> str:
        """What a short script of ours prints in a POSIX shell there. Raises `DeviceError` where it
        fails: it cannot do what is its `purpose`.
        """
        ...

    def beside(self) -> Self:
        """The same device once more, for a connection of its own: enter it with `with`."""
        ...

    def supervise(self, note: str) -> None:
        """From now on each `run` begins with the script `note`; "" for none."""
        ...


@dataclass(frozen=True)
class InstructionCounts:
    """Marks in order of execution; `total` is None when the process did not exit by itself."""

    marks: tuple[Mark, ...]
    total: int | None


@runtime_checkable
class InstructionCounter(Protocol):
    """A device that counts the executed instructions of a process exactly, from outside."""

    def can_count_instructions(self) -> bool:
        """False where the device's emulator was built without what counting takes."""
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
        """Runs `argv` as `run` does, with every executed guest instruction counted."""
        ...


@runtime_checkable
class CacheSimulator(Protocol):
    """A device that simulates the data caches of a core beside what a process executes."""

    def has_plugins(self) -> bool:
        """False where the device's emulator was built without what simulating takes."""
        ...

    def simulate_caches(
        self, argv: Sequence[str], caches: Sequence[Cache], *, timeout_s: float
    ) -> tuple[CommandResult, CacheLog]:
        """Runs `argv` as `run` does. `caches`: of the core, the first-level data cache first."""
        ...
