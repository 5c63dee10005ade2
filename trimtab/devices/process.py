"""A process of this machine: its input is fed and both outputs are read as they come."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Protocol, Self

_CHUNK_BYTES = 64 * 1024

Sink = Callable[[bytes], object]


class Source(Protocol):
    """What a process gets as its stdin."""

    def read(self, size: int = -1, /) -> bytes:
        """The next `size` bytes; fewer at the end."""


class Process:
    """A child in a session of its own, so that no terminal reaches it and it can ask nobody.

    To be used in a `with`, which closes the pipes and leaves the process itself as it is.
    """

    def __init__(
        self,
        argv: Sequence[str],
        stdout: Sink,
        stderr: Sink,
        *,
        stdin: Source | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Starts `argv`; raises OSError. `env`: what is added to our own environment."""
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

    def finish(self, deadline: float, is_done: Callable[[], bool] = lambda: False) -> int | None:
        """The return code, once both outputs have ended; None when `is_done` says so before that.

        Raises TimeoutError at `deadline` (of the monotonic clock), and what the sinks raise.
        """
        while self._open.get_map():
            if is_done():
                return None
            for key, _ in self._open.select(_left_s(deadline)):
                if key.fileobj is self._process.stdin:
                    self._feed(self._process.stdin)
                elif data := os.read(key.fd, _CHUNK_BYTES):
                    key.data(data)
                else:
                    self._open.unregister(key.fileobj)
        try:
            return self._process.wait(_left_s(deadline))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def end(self, grace_s: float = 0.0) -> None:
        """Ends this process, but none that it started; `grace_s`: so long it may end by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        self._process.kill()
        self._process.wait()

    def _feed(self, pipe: IO[bytes]) -> None:
        assert self._stdin
        self._unsent = self._unsent or self._stdin.read(_CHUNK_BYTES)
        try:
            if self._unsent:
                self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent) :]
                return
        except BlockingIOError:
            return
        except BrokenPipeError:  # it ended without reading all; its return code says why
            pass
        self._open.unregister(pipe)
        pipe.close()


def _left_s(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s
