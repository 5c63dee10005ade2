"""A device whose commands travel through a client: a program such as `adb`, or an SSH library.

Login scripts, banners and the client itself may print, and the client has an exit code of its own.
None of that may pass for the command's output or exit code. So the command's stdout and stderr each
stand between two marker lines with a random token, and the last marker carries the exit code. A
command without its last marker was cut off.

The login shell may be any: `command_line` passes a script through csh and fish as through sh.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from abc import abstractmethod
from typing import Protocol, Self

from trimtab.devices import process_group, scripts
from trimtab.devices.process import IsDone, Sink, Source
from trimtab.devices.protocol import CommandResult, Transcript
from trimtab.devices.shell import ShellDevice
from trimtab.errors import DeviceError, MissingRequirementError
from trimtab.paths import PROGRAM

_GRACE_S = 1.0  # for output that is still on its way when a command has ended
_NOISE_BYTES = 64 * 1024
_MAX_SIGNAL = 64
_HALF = 8  # characters of a token


def command_line(script: str) -> str:
    r"""A script as one line that every login shell passes on unchanged.

    Within single quotes csh takes no newline and replaces `!`, and fish replaces `\\`. So these
    characters, and bytes that are not ASCII, travel as escapes of `printf`.
    """
    escapes = {"\n": r"\n", "%": "%%"}
    safe = "".join(
        escapes.get(char, char if char not in "\\'!" and char.isascii() else _octal(char))
        for char in script
    )
    return f"""sh -c 'eval "$(printf "$0")"' '{safe}'"""


def _octal(char: str) -> str:
    return "".join(rf"\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


class RunningCommand(Protocol):
    """A command that a client carries: a local process, or a channel of a connection."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...

    @property
    def complaint(self) -> str:
        """Why the client could not run the command, "" if it did."""

    def finish(self, deadline: float, is_done: IsDone = ...) -> object:
        """Passes output to the sinks until both streams end or `is_done`.

        Raises TimeoutError at `deadline` (monotonic clock), and what the sinks raise.
        """

    def end(self, grace_s: float = 0.0) -> None:
        """Ends the client's side of the command. It may end by itself within `grace_s`."""


class RemoteDevice(ShellDevice):
    """A `ShellDevice` whose commands go through a client."""

    @abstractmethod
    def _start(
        self, script: str, stdout: Sink, stderr: Sink, stdin: Source | None
    ) -> RunningCommand:
        """Starts a script in the device's shell. Raises OSError if the client does not start."""

    @abstractmethod
    def _cut_off(self, output: str) -> DeviceError:
        """The error for a command that was cut off. `output`: the end of its stray output."""

    def _transmit(
        self, script: str, timeout_s: float, stdin: Source | None, transcript: Transcript
    ) -> CommandResult:
        deadline = time.monotonic() + timeout_s
        with _MarkedCommand(self, script, transcript, stdin) as command:
            try:
                result = command.finish(deadline)
            except BaseException as error:
                is_ended = self._end(command)
                if isinstance(error, TimeoutError):
                    if is_ended is None and not (self._is_settled or command.has_begun):
                        raise self._cut_off(command.stray_output()) from None
                    if is_ended is None:
                        raise process_group.frozen(self.name, script, timeout_s) from None
                    raise process_group.timed_out(self.name, script, timeout_s, is_ended) from None
                raise
            if result is None:
                raise self._cut_off(command.stray_output())
        return result

    def _end(self, command: _MarkedCommand) -> bool | None:
        """Ends the process group on the device and collects its last output.

        True if its end was observed, None if the device does not answer.
        """
        result = None
        with contextlib.suppress(TimeoutError, DeviceError):
            group = command.read_process_group()
            script = "true" if group is None else process_group.end_script(group)
            with _MarkedCommand(self, script, Transcript(), None) as killer:
                result = killer.finish(time.monotonic() + self.limits.kill_s)
            with contextlib.suppress(TimeoutError, DeviceError):
                command.finish(time.monotonic() + _GRACE_S)
        return None if result is None else process_group.is_ended(result)


class _MarkedCommand:
    """A running command and its output between the markers."""

    def __init__(
        self, device: RemoteDevice, script: str, transcript: Transcript, stdin: Source | None
    ) -> None:
        token = f"trimtab-{secrets.token_hex(8)}"
        self._transcript, self._errors = transcript, Transcript()
        self._stdout = _MarkedStream(token, transcript.wrote)
        self._stderr = _MarkedStream(token, self._errors.wrote)
        # In two halves: a shell that echoes its input shows no marker.
        halves = token[:_HALF], token[_HALF:]
        text = scripts.script("run_marked", *halves, "open" if stdin else "empty", script)
        try:
            self._running = device._start(
                command_line(text), self._stdout.feed, self._stderr.feed, stdin
            )
        except OSError as error:
            raise DeviceError(
                f"cannot start the client: {error.strerror}", where=device.name
            ) from error

    def __enter__(self) -> _MarkedCommand:
        self._running.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._running.end(_GRACE_S if self._has_ended() else 0.0)
        self._running.__exit__(*exc_info)
        with contextlib.suppress(DeviceError):
            self._stdout.flush()

    @property
    def has_begun(self) -> bool:
        """Whether the device's shell has printed a marker."""
        return self._stdout.head is not None or self._stderr.head is not None

    @property
    def process_group(self) -> int | None:
        """Its number on the device; None if the command has not started."""
        head = self._stderr.head
        return int(head) if head and re.fullmatch(rb" [0-9]{1,10}", head) else None

    def read_process_group(self) -> int | None:
        """`process_group`. If stdout, which is dropped then, arrived before it, waits for it."""
        if self._stdout.head is not None and self._stderr.head is None:
            self._stdout.drop()
            deadline = time.monotonic() + _GRACE_S
            with contextlib.suppress(TimeoutError, DeviceError):
                self._running.finish(deadline, lambda: self._stderr.head is not None)
        return self.process_group

    def finish(self, deadline: float) -> CommandResult | None:
        """The result, or None if the command was cut off. Raises TimeoutError at `deadline`."""
        self._running.finish(deadline, self._has_ended)
        tail = self._stderr.tail
        if not self._has_ended() or not tail or not re.fullmatch(rb" [0-9]{1,3}", tail):
            return None
        status = int(tail)
        signal = status - 128 if 128 < status <= 128 + _MAX_SIGNAL else None
        outputs = bytes(self._transcript.stdout), bytes(self._errors.stdout)
        return CommandResult(status, signal, *outputs)

    def stray_output(self) -> str:
        """The end of stderr, and of stdout if it has no marker yet."""
        noise = b"" if self._stdout.head is not None else self._stdout.pending
        texts = (noise, bytes(self._errors.stdout), self._stderr.pending)
        printed = b"\n".join(texts).decode("utf-8", "replace").strip()[-400:]
        return printed or self._running.complaint

    def _has_ended(self) -> bool:
        return self._stdout.tail is not None and self._stderr.tail is not None


class _MarkedStream:
    """Passes on the bytes between two marker lines.

    `head` and `tail` are the text after the token in the first and second marker, None until they
    arrive. The second marker may follow a line without a newline.
    """

    def __init__(self, token: str, sink: Sink) -> None:
        self._token, self._sink = token.encode(), sink
        self.head: bytes | None = None
        self.tail: bytes | None = None
        self.pending = b""  # bytes that may be part of a marker

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the stream."""
        if self.tail is not None:
            return
        self.pending += data
        if self.head is None:
            match = re.search(re.escape(self._token) + rb"([^\r\n]*)\r?\n", self.pending)
            if not match:
                self.pending = self.pending[-_NOISE_BYTES:]
                return
            self.head, self.pending = match[1], self.pending[match.end() :]
        body, mark, after = self.pending.partition(self._token)
        line, newline, _ = after.partition(b"\n")
        if newline:
            self.tail = line.removesuffix(b"\r")
        elif not mark:
            body = body[: len(body) - self._partial_marker(body)]
        self.pending = self.pending[len(body) :]
        if body:
            self._sink(body)

    def drop(self) -> None:
        """Passes on nothing from now on."""
        self._sink = lambda _: None

    def flush(self) -> None:
        """Passes on the pending bytes, which are no marker because the stream has ended."""
        if self.head is not None and self.tail is None and self._token not in self.pending:
            body, self.pending = self.pending, b""
            if body:
                self._sink(body)

    def _partial_marker(self, body: bytes) -> int:
        """The number of bytes at the end of `body` that may begin a marker."""
        lengths = range(min(len(self._token), len(body)), 0, -1)
        return next((n for n in lengths if body.endswith(self._token[:n])), 0)


def missing_client(program: str, package: str, device: str) -> MissingRequirementError:
    """The error for a client program that is not installed."""
    hint = f"{PROGRAM} setup, or: apt-get install {package}"
    return MissingRequirementError(f"{program} is not installed", where=device, hint=hint)
