"""A device that a client program of this machine reaches: `ssh`, `adb`.

Each command is one process of the client. What a login script, a banner or the client itself prints
must not pass for what the command printed, and the client's return code must not pass for the
command's: both outputs stand between two marks, which nobody else can know, and the second one
tells how the command ended. A command without it was cut off.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shlex
import time
from abc import abstractmethod
from collections.abc import Sequence

from trimtab.devices import process_group
from trimtab.devices.process import Process, Sink, Source
from trimtab.devices.protocol import CommandResult, Transcript
from trimtab.devices.shell import ShellDevice
from trimtab.errors import DeviceError, MissingRequirementError

_KILL_S = 10.0
_GRACE_S = 1.0  # for what is on its way when a command has ended
_NOISE_BYTES = 64 * 1024
_MAX_SIGNAL = 64

# The inner shell leads the process group and tells its number. Descriptor 3 carries the
# program's stderr past the outer shell, whose remarks on a child that a signal ended are not the
# program's; a subshell, because shells redirect for a plain command themselves. `setsid` runs in a
# child: as a group's leader it would fork and not wait. Without it only the process is killed.
_INNER = "echo {mark}; echo {mark} $$ >&2; {script}"
_OUTER = (
    "exec 3>&2 2>/dev/null; s=; command -v setsid >/dev/null && s=setsid; "
    "(exec 2>&3 3>&- {stdin}; exec $s sh -c {inner}); r=$?; "
    "echo {mark}; echo {mark} $r >&3; exit $r"
)


class ClientDevice(ShellDevice):
    """A `ShellDevice` whose commands go through a client program."""

    @abstractmethod
    def _client(self, script: str) -> Sequence[str]:
        """The client's command line for a script that the device's shell is to read."""

    @abstractmethod
    def _lost(self, said: str) -> DeviceError:
        """The error for a command that was cut off; `said`: the end of what the client wrote."""

    def _transmit(
        self, script: str, timeout_s: float, stdin: Source | None, transcript: Transcript
    ) -> CommandResult:
        deadline = time.monotonic() + timeout_s
        with _Command(self, script, transcript, stdin) as command:
            try:
                result = command.finish(deadline)
            except BaseException as error:
                is_ended = self._end(command)
                if isinstance(error, TimeoutError):
                    if is_ended is None:
                        raise process_group.frozen(self.name, script, timeout_s) from None
                    raise process_group.timed_out(self.name, script, timeout_s, is_ended) from None
                raise
            if result is None:
                raise self._lost(command.said())
        return result

    def _end(self, command: _Command) -> bool | None:
        """Ends what still runs on the device, and collects what it wrote; True when its end was
        seen, None when the device does not answer.
        """
        group = command.process_group
        result = None
        with contextlib.suppress(TimeoutError, DeviceError):
            script = "true" if group is None else process_group.end_script(group)
            with _Command(self, script, Transcript(), None) as killer:
                result = killer.finish(time.monotonic() + _KILL_S)
            with contextlib.suppress(TimeoutError, DeviceError):
                command.finish(time.monotonic() + _GRACE_S)
        return None if result is None else process_group.is_ended(result)


class _Command:
    """A command on its way through a client."""

    def __init__(
        self, device: ClientDevice, script: str, transcript: Transcript, stdin: Source | None
    ) -> None:
        token = f"trimtab-{secrets.token_hex(8)}"
        mark = token[:8] + '""' + token[8:]  # where a shell shows what it reads, it shows no mark
        self._transcript, self._errors = transcript, Transcript()
        self._stdout = _Framed(token, transcript.wrote)
        self._stderr = _Framed(token, self._errors.wrote)
        inner = shlex.quote(_INNER.format(mark=mark, script=script))
        outer = _OUTER.format(mark=mark, inner=inner, stdin="" if stdin else "</dev/null")
        argv = device._client(f"sh -c {shlex.quote(outer)}")
        try:
            self._process = Process(argv, self._stdout.feed, self._stderr.feed, stdin=stdin)
        except OSError as error:
            raise DeviceError(
                f"cannot start {argv[0]}: {error.strerror}", where=device.name
            ) from error

    def __enter__(self) -> _Command:
        self._process.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._process.end(_GRACE_S if self._has_ended() else 0.0)
        self._process.__exit__(*exc_info)
        with contextlib.suppress(DeviceError):
            self._stdout.flush()

    @property
    def process_group(self) -> int | None:
        """Its number on the device; None when the command did not even start."""
        head = self._stderr.head
        return int(head) if head and re.fullmatch(rb" [0-9]{1,10}", head) else None

    def finish(self, deadline: float) -> CommandResult | None:
        """The result, or None when the command was cut off; raises TimeoutError at `deadline`."""
        self._process.finish(deadline, self._has_ended)
        tail = self._stderr.tail
        if not self._has_ended() or not tail or not re.fullmatch(rb" [0-9]{1,3}", tail):
            return None
        status = int(tail)
        signal = status - 128 if 128 < status <= 128 + _MAX_SIGNAL else None
        outputs = bytes(self._transcript.stdout), bytes(self._errors.stdout)
        return CommandResult(status, signal, *outputs)

    def said(self) -> str:
        """The end of stderr, and of stdout where nothing but noise came."""
        noise = b"" if self._stdout.head is not None else self._stdout.pending
        texts = (noise, bytes(self._errors.stdout), self._stderr.pending)
        return b"\n".join(texts).decode("utf-8", "replace").strip()[-400:]

    def _has_ended(self) -> bool:
        return self._stdout.tail is not None and self._stderr.tail is not None


class _Framed:
    """Hands on what stands between two lines that begin with a token; `head` and `tail` are what
    else is in these, None until they come. The second one may follow a line that has no end.
    """

    def __init__(self, token: str, sink: Sink) -> None:
        self._token, self._sink = token.encode(), sink
        self.head: bytes | None = None
        self.tail: bytes | None = None
        self.pending = b""  # of which it is not known what it is

    def feed(self, data: bytes) -> None:
        """Takes what comes next."""
        if self.tail is not None:
            return
        self.pending += data
        if self.head is None:
            found = re.search(re.escape(self._token) + rb"([^\r\n]*)\r?\n", self.pending)
            if not found:
                self.pending = self.pending[-_NOISE_BYTES:]
                return
            self.head, self.pending = found[1], self.pending[found.end() :]
        body, mark, rest = self.pending.partition(self._token)
        line, end, _ = rest.partition(b"\n")
        if end:
            self.tail = line.removesuffix(b"\r")
        elif not mark:
            body = body[: len(body) - self._begun(body)]
        self.pending = self.pending[len(body) :]
        if body:
            self._sink(body)

    def flush(self) -> None:
        """No more will come: what looked like the beginning of a mark was none."""
        if self.head is not None and self.tail is None and self._token not in self.pending:
            body, self.pending = self.pending, b""
            if body:
                self._sink(body)

    def _begun(self, body: bytes) -> int:
        """How many of the last bytes of `body` may be those of a mark that is not all there."""
        lengths = range(min(len(self._token), len(body)), 0, -1)
        return next((n for n in lengths if body.endswith(self._token[:n])), 0)


def missing_client(program: str, package: str, device: str) -> MissingRequirementError:
    """The error for a client that is not installed."""
    hint = f"./inv setup, or: apt-get install {package}"
    return MissingRequirementError(f"{program} is not installed", where=device, hint=hint)
