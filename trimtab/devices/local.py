"""Transport `local`: this machine.

    transport = "local"
    toolchain = "host"
    directory = "/tmp/trimtab"      # default: a folder in the cache

What is pushed is copied there, as to any other device.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

from trimtab import paths
from trimtab.devices import watchdog
from trimtab.devices.definition import Definition, Options
from trimtab.devices.protocol import CommandResult, Transcript
from trimtab.devices.shell import ShellDevice, Source
from trimtab.errors import DeviceError

_GRACE_S = 1.0  # between SIGTERM and SIGKILL
_CHUNK_BYTES = 64 * 1024


class LocalDevice(ShellDevice):
    """Runs commands as children of this process."""

    def _connect(self) -> None:
        pass

    def _disconnect(self) -> None:
        pass

    def _execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Source | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        deadline = time.monotonic() + timeout_s
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", script],
                stdin=subprocess.DEVNULL if stdin is None else stdin.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise DeviceError(f"cannot start a shell: {error.strerror}", where=self.name) from error
        with _Outputs(process, transcript or Transcript()) as outputs:
            try:
                outputs.finish(deadline)
            except BaseException as error:
                for number in (signal.SIGTERM, signal.SIGKILL):
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, number)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        outputs.finish(time.monotonic() + _GRACE_S)
                if isinstance(error, subprocess.TimeoutExpired):
                    is_ended = process.poll() is not None
                    raise watchdog.timed_out(self.name, script, timeout_s, is_ended) from None
                raise
            return outputs.result()


class _Outputs:
    """Both outputs of a process, collected as they come."""

    def __init__(self, process: subprocess.Popen[bytes], transcript: Transcript) -> None:
        self._process, self._transcript = process, transcript
        self._stderr = bytearray()
        self._open = selectors.DefaultSelector()
        assert process.stdout
        assert process.stderr
        self._open.register(process.stdout, selectors.EVENT_READ, transcript.wrote)
        self._open.register(process.stderr, selectors.EVENT_READ, self._stderr.extend)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._open.close()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe
            pipe.close()

    def finish(self, deadline: float) -> None:
        """Reads to the end of both, then waits for the process; raises subprocess.TimeoutExpired at
        `deadline` (of the monotonic clock).
        """
        while self._open.get_map():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise subprocess.TimeoutExpired(self._process.args, left_s)
            for key, _ in self._open.select(left_s):
                if data := os.read(key.fd, _CHUNK_BYTES):
                    key.data(data)
                else:
                    self._open.unregister(key.fileobj)
        self._process.wait(max(0.0, deadline - time.monotonic()))

    def result(self) -> CommandResult:
        """Of the process, which has ended."""
        outputs = bytes(self._transcript.stdout), bytes(self._stderr)
        code = self._process.returncode
        if code < 0:
            return CommandResult(128 - code, -code, *outputs)
        return CommandResult(code, None, *outputs)


def create(definition: Definition, *, trust_new: bool) -> LocalDevice:
    """Makes the device of a definition with this transport; there is no key to trust."""
    options = Options(definition)
    directory = Path(options.text("directory", str(paths.cache() / "device"))).expanduser()
    options.finish()
    return LocalDevice(definition.name, str(directory.absolute()))
