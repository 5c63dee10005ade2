"""A command in a channel of a paramiko connection.

One loop serves all three streams: both outputs are drained whenever they have data, so that neither
fills the channel's window while the other is read, and stdin is sent as far as the window allows.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Self

import paramiko

from trimtab.devices.process import CHUNK_BYTES, IsDone, Sink, Source, remaining_s

_UNLIMITED_S = 1e9  # paramiko's own limits follow the time of day; trimtab's deadlines do not
_POLL_S = 0.01  # while the window for stdin is closed, which no descriptor announces


class ChannelCommand:
    """A running command; implements `RunningCommand`.

    A thread opens the channel, because paramiko waits for the server's answers without a limit on
    the monotonic clock.
    """

    def __init__(
        self,
        transport: paramiko.Transport,
        script: str,
        environment: Mapping[str, str],
        stdout: Sink,
        stderr: Sink,
        stdin: Source | None,
    ) -> None:
        self.complaint = ""
        self._stdout, self._stderr, self._stdin = stdout, stderr, stdin
        self._unsent = b""
        self._channel: paramiko.Channel | None = None
        self._opened = threading.Event()
        self._arrived = threading.Event()  # output that is not read yet, or the end of it
        self._is_abandoned = False
        arguments = (transport, script, environment)
        threading.Thread(target=self._open, args=arguments, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.end()

    def finish(self, deadline: float, is_done: IsDone = lambda: False) -> int | None:
        """See `RunningCommand.finish`; the exit status, None if there is none yet."""
        if not self._opened.wait(remaining_s(deadline)):
            raise TimeoutError
        channel = self._channel
        if channel is None:
            return None
        while not is_done():
            has_ended = bool(channel.closed or channel.eof_received)  # before the last data is read
            has_moved = self._drain(channel)
            has_moved |= self._feed(channel)
            if has_ended and not has_moved:
                break
            wait_s = remaining_s(deadline)
            if not has_moved:
                self._arrived.wait(min(wait_s, _POLL_S) if self._stdin else wait_s)
        return channel.exit_status if channel.exit_status_ready() else None

    def end(self, grace_s: float = 0.0) -> None:
        """Closes the channel: the command's stdin ends, and its output is discarded."""
        self._is_abandoned = True
        if self._channel is not None:
            self._channel.close()

    def _open(
        self, transport: paramiko.Transport, script: str, environment: Mapping[str, str]
    ) -> None:
        try:
            channel = transport.open_session(timeout=_UNLIMITED_S)
            # Not `select`: a channel closes the pipe behind its descriptor while paramiko's thread
            # may write to it, which ends the connection.
            for buffer in (channel.in_buffer, channel.in_stderr_buffer):
                buffer.set_event(self._arrived)
            if environment:
                channel.update_environment(dict(environment))
            channel.exec_command(script)
            channel.settimeout(0.0)
            if self._stdin is None:
                channel.shutdown_write()
            self._channel = channel
            if self._is_abandoned:
                channel.close()
        except (paramiko.SSHException, OSError, EOFError) as error:
            self.complaint = str(error)
        finally:
            self._opened.set()

    def _drain(self, channel: paramiko.Channel) -> bool:
        """Passes on what has arrived; True if there was anything."""
        has_output, has_errors = channel.recv_ready(), channel.recv_stderr_ready()
        if has_output:
            self._stdout(channel.recv(CHUNK_BYTES))
        if has_errors:
            self._stderr(channel.recv_stderr(CHUNK_BYTES))
        return has_output or has_errors

    def _feed(self, channel: paramiko.Channel) -> bool:
        """Sends a chunk of stdin if the window is open; True if anything was sent."""
        if self._stdin is None or not channel.send_ready():
            return False
        try:
            self._unsent = self._unsent or self._stdin.read(CHUNK_BYTES)
            if self._unsent:
                self._unsent = self._unsent[channel.send(self._unsent) :]
                return not channel.closed
            channel.shutdown_write()
        except (OSError, EOFError):  # the command ended early; its exit code says why
            pass
        self._stdin = None
        return False
