"""Transport `local`: this machine.

    transport = "local"
    toolchain = "host"
    directory = "/tmp/trimtab"      # default: a folder in the cache

What is pushed is copied there, as to any other device.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import BinaryIO

from trimtab import paths
from trimtab.devices.definition import Definition, Options
from trimtab.devices.protocol import CommandResult
from trimtab.devices.shell import ShellDevice
from trimtab.errors import DeviceError, DeviceTimeoutError

_GRACE_S = 1.0  # between SIGTERM and SIGKILL


class LocalDevice(ShellDevice):
    """Runs commands as children of this process."""

    def _connect(self) -> None:
        pass

    def _disconnect(self) -> None:
        pass

    def _execute(self, script: str, *, timeout_s: float, stdin: BinaryIO | None) -> CommandResult:
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", script],
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise DeviceError(f"cannot start a shell: {error.strerror}", where=self.name) from error
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except BaseException as error:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=_GRACE_S)
            if isinstance(error, subprocess.TimeoutExpired):
                raise DeviceTimeoutError(
                    f"no end after {timeout_s:g} s, killed: {script[-200:]}", where=self.name
                ) from None
            raise
        if process.returncode < 0:
            return CommandResult(128 - process.returncode, -process.returncode, stdout, stderr)
        return CommandResult(process.returncode, None, stdout, stderr)


def create(definition: Definition, *, trust_new: bool) -> LocalDevice:
    """Makes the device of a definition with this transport; there is no key to trust."""
    options = Options(definition)
    directory = Path(options.text("directory", str(paths.cache() / "device"))).expanduser()
    options.finish()
    return LocalDevice(definition.name, str(directory.absolute()))
