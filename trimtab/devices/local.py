"""Transport `local`: this machine.

    transport = "local"
    toolchain = "host"
    directory = "/tmp/trimtab"      # default: a folder in the cache

Pushed files are copied there, as on any other device.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from trimtab import paths, system
from trimtab.devices.process import ChildProcess, Source
from trimtab.devices.process_group import timed_out
from trimtab.devices.protocol import CommandResult, Transcript
from trimtab.devices.registry import DeviceDefinition
from trimtab.devices.shell import ShellDevice
from trimtab.errors import DeviceError

_GRACE_S = 1.0  # between SIGTERM and SIGKILL


@dataclass(frozen=True)
class LocalOptions:
    """The transport's keys in a device's file; `directory`: "" for a folder in the cache."""

    directory: str = ""


OPTIONS = LocalOptions


class LocalDevice(ShellDevice):
    """Runs commands as children of this process."""

    def _connect(self) -> None:
        system.require_linux(
            f"the device {self.name}, which runs programs of Linux on this machine,",
            "measure on a board over SSH or adb (docs/devices.md), or use WSL",
        )

    def _disconnect(self) -> None:
        pass

    def _transmit(
        self, script: str, timeout_s: float, stdin: Source | None, transcript: Transcript
    ) -> CommandResult:
        deadline, errors = time.monotonic() + timeout_s, Transcript()
        try:
            argv = ["/bin/sh", "-c", script]
            process = ChildProcess(argv, transcript.wrote, errors.wrote, stdin=stdin)
        except OSError as error:
            raise DeviceError(f"cannot start a shell: {error.strerror}", where=self.name) from error
        with process:
            try:
                code = process.finish(deadline)
            except BaseException as error:
                process.end_group(_GRACE_S)
                if isinstance(error, TimeoutError):
                    raise timed_out(self.name, script, timeout_s, is_ended=True) from None
                raise
        assert code is not None
        outputs = bytes(transcript.stdout), bytes(errors.stdout)
        if code < 0:
            return CommandResult(128 - code, -code, *outputs)
        return CommandResult(code, None, *outputs)


def create(definition: DeviceDefinition, *, trust_new: bool) -> LocalDevice:
    """Makes the device of a definition with this transport, which has no host key."""
    options = definition.read_options(LocalOptions)
    directory = Path(options.directory or paths.cache() / "device").expanduser()
    return LocalDevice(definition.name, str(directory.absolute()))
