"""A process of this machine whose stdin is fed and whose outputs are read as they arrive."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Protocol, Self

from trimtab.errors import DeviceError, MissingRequirementError

CHUNK_BYTES = 64 * 1024

Sink = Callable[[bytes], object]
IsDone = Callable[[], bool]


class Source(Protocol):
    """The bytes for a process's stdin."""

    def read(self, size: int = -1, /) -> bytes:
        """The next `size` bytes; fewer at the end."""


class ChildProcess:
    """A child process in a session of its own, without a terminal that could ask questions.

    Use it in a `with`, which closes the pipes and does not end the process.
    """

    complaint = ""

    def __init__(
        self,
        argv: Sequence[str],
        stdout: Sink,
        stderr: Sink,
        *,
        stdin: Source | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Starts `argv`; raises OSError. `env` is added to this process's environment.

        MissingRequirementError on Windows, whose pipes cannot be waited for.
        """
        _require_pipes(argv[0])
        self._stdin, self._unsent = stdin, b""
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=os.environ | (env or {}),
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._open = selectors.DefaultSelector()
        for pipe, sink in ((self._process.stdout, stdout), (self._process.stderr, stderr)):
            assert pipe
            self._open.register(pipe, selectors.EVENT_READ, sink)
        if pipe := self._process.stdin:
            if sys.platform != "win32":
                os.set_blocking(pipe.fileno(), False)
            self._open.register(pipe, selectors.EVENT_WRITE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._open.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def finish(self, deadline: float, is_done: IsDone = lambda: False) -> int | None:
        """The return code after both outputs have ended, or None as soon as `is_done`.

        Raises TimeoutError at `deadline` (monotonic clock), and what the sinks raise.
        """
        while self._open.get_map():
            if is_done():
                return None
            for key, _ in self._open.select(remaining_s(deadline)):
                if key.fileobj is self._process.stdin:
                    self._feed(self._process.stdin)
                elif data := os.read(key.fd, CHUNK_BYTES):
                    key.data(data)
                else:
                    self._open.unregister(key.fileobj)
        try:
            return self._process.wait(remaining_s(deadline))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def end(self, grace_s: float = 0.0) -> None:
        """Ends this process, but not its children. It may end by itself within `grace_s`."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        self._process.kill()
        self._process.wait()

    def end_group(self, grace_s: float) -> None:
        """Ends this process and its children, which may end by themselves within `grace_s`."""
        if sys.platform != "win32":
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, number)
                with contextlib.suppress(TimeoutError, DeviceError):
                    self.finish(time.monotonic() + grace_s)
        self.end()

    def _feed(self, pipe: IO[bytes]) -> None:
        assert self._stdin
        self._unsent = self._unsent or self._stdin.read(CHUNK_BYTES)
        try:
            if self._unsent:
                self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent) :]
                return
        except BlockingIOError:
            return
        except BrokenPipeError:  # the process ended early; its return code says why
            pass
        self._open.unregister(pipe)
        pipe.close()


def _require_pipes(program: str) -> None:
    if sys.platform == "win32":
        raise MissingRequirementError(
            f"devices that are reached through the program {program} need Linux or macOS",
            hint="reach the device over SSH without it (docs/hosts.md), or use WSL",
        )


def remaining_s(deadline: float) -> float:
    """Seconds until `deadline` of the monotonic clock. Raises TimeoutError when it has passed."""
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining
