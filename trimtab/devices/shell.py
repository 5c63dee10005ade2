"""A device reached through a POSIX shell: all but the transport itself, written once.

Push, pull and scratch directories need nothing on the device but a shell, `cat`, `df` and
`sha256sum` (busybox and toybox have them), so that a board without an sftp server will do. A device
that has `zstd` or `gzip` gets large files packed, and unpacks them as they come.

A link that breaks ends the command that was under way, and nothing is done twice behind the
caller's back; the next command connects again, with growing pauses. If the device has restarted
meanwhile, that raises `DeviceRebootedError`, once: what is measured over a restart does not belong
together.
"""

from __future__ import annotations

import copy
import hashlib
import os
import posixpath
import re
import secrets
import shlex
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Self

from trimtab import compression, files
from trimtab.devices import facts, scripts
from trimtab.devices.process import Source
from trimtab.devices.protocol import NO_ROOM, CommandResult, DeviceInfo, Pushed, Transcript
from trimtab.errors import (
    DeviceError,
    DeviceFullError,
    DeviceRebootedError,
    DeviceUnreachableError,
)
from trimtab.progress import SILENT, Progress, Step

_HOUSEKEEPING_S = 60.0  # an `mkdir` on a board that is busy or slow to page
_RECONNECT_S = 60.0  # a board that restarts, a cable that is put back
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 8.0
_SLOWEST_LINK_BYTES_PER_S = 64 * 1024  # what a push or pull may take at most
_SLOWEST_HASH_BYTES_PER_S = 4 * 1024 * 1024
# Exit codes of our scripts; nothing they call uses them.
_DAMAGED = 82
_NOT_READ = 83
_WORTH_PACKING_BYTES = 1_000_000  # less is there before its packing would count

_PLAIN = ("cat",)  # the reader of uncompressed bytes


def quote(argv: Sequence[str], env: Mapping[str, str] | None, cwd: str) -> str:
    """The one place where an argument list becomes text for a shell.

    Raises `DeviceError` for what no process can be given: NUL, an odd variable name, no program.
    """
    env = env or {}
    if not argv or not argv[0]:
        raise DeviceError("no program to run", hint="give a program as the first argument")
    if any("\0" in word for word in (*argv, *env.values(), cwd)):
        raise DeviceError("an argument contains a NUL character", where=argv[0])
    for key in env:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            raise DeviceError(f"{key!r} is no name for an environment variable", where=argv[0])
    exports = "".join(f"export {key}={shlex.quote(value)}; " for key, value in env.items())
    return f"cd {shlex.quote(cwd)} || exit 126; {exports}exec {shlex.join(argv)}"


class _Counted:
    """A file that tells how much of it was read."""

    def __init__(self, content: Source, size_bytes: int, step: Step) -> None:
        self._content, self._size_bytes, self._step = content, size_bytes, step
        self._done_bytes = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._content.read(size)
        self._done_bytes += len(data)
        self._step.update(self._done_bytes, self._size_bytes)
        return data


class ShellDevice(ABC):
    """A `Device` whose transport can run shell scripts."""

    sysfs = facts.SYSFS
    lease_folder = ""
    connection = ""

    def __init__(
        self, name: str, directory: str, *, is_emulated: bool = False, packs: bool = False
    ) -> None:
        """`directory`: our place on the device; a relative one starts in the home directory.
        `packs`: large files are packed on their way, if there is what unpacks them.
        """
        self._name = name
        self._packs = packs
        self._directory = directory
        self._is_emulated = is_emulated
        self._prefix, self._boot_id = "", ""
        self._note_of_launch = ""
        self._is_lost = False

    @abstractmethod
    def _connect(self) -> None:
        """Makes `_transmit` usable; raises `DeviceUnreachableError` where waiting may help."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Undoes `_connect`; harmless when not connected."""

    @abstractmethod
    def _transmit(
        self, script: str, timeout_s: float, stdin: Source | None, transcript: Transcript
    ) -> CommandResult:
        """What `_execute` does, by a link that is up; `DeviceUnreachableError` when it breaks."""

    def _execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Source | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        """Runs a script in a POSIX shell in the home directory, in a process group of its own.

        `stdin` is sent to its end, or is empty; stdout goes into the `transcript` as it comes.
        Raises `DeviceTimeoutError` when the group had to be ended after `timeout_s`: by SIGTERM,
        for scripts that clean up, then by SIGKILL; so it is ended, too, when it writes too much.
        """
        if self._is_lost:
            self._reconnect()
        try:
            return self._transmit(script, timeout_s, stdin, transcript or Transcript())
        except DeviceUnreachableError:
            self._is_lost = True
            raise

    @property
    def name(self) -> str:
        """The name of the definition."""
        return self._name

    def __enter__(self) -> Self:
        """Connects and makes the prefix; raises what the transport raises."""
        self._connect()
        try:
            self._settle()
        except BaseException:
            self._disconnect()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Disconnects."""
        self._disconnect()

    def describe(self) -> DeviceInfo:
        """See `Device.describe`."""
        text = self._housekeeping(facts.script(self.sysfs), "read the device's facts")
        return facts.parse(text, is_emulated=self._is_emulated)

    def push(self, local: Path, progress: Progress = SILENT) -> Pushed:
        """See `Device.push`."""
        try:
            with local.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
                size_bytes = os.fstat(content.fileno()).st_size
                remote = posixpath.join(self._prefix, "cache", digest, local.name)
                if self._has(remote, digest, size_bytes):
                    return Pushed(remote)
                with progress.step(f"push {local.name} to {self._name}", "bytes") as step:
                    pushed = self._send(content, remote, digest, size_bytes, step)
                    step.update(size_bytes, size_bytes)
        except OSError as error:
            raise DeviceError(
                f"cannot read the file to push: {error.strerror}", where=str(local)
            ) from error
        return pushed

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        """See `Device.run`."""
        folder = self._prefix if cwd is None else self._own(cwd)
        script = self._note_of_launch + quote(argv, env, folder)
        return self._execute(script, timeout_s=timeout_s, transcript=transcript)

    def pull(self, remote: str, local: Path) -> None:
        """See `Device.pull`."""
        file = shlex.quote(self._own(remote))
        size = self._housekeeping(f"wc -c <{file}", f"read {remote}")
        seconds = _HOUSEKEEPING_S + int(size) / _SLOWEST_LINK_BYTES_PER_S
        content = Transcript(limit_bytes=int(size))
        result = self._execute(f"cat {file}", timeout_s=seconds, transcript=content)
        if not result.ok:
            raise self._failure(f"read {remote}", result)
        files.write_bytes(local, result.stdout)

    @contextmanager
    def scratch(self) -> Iterator[str]:
        """See `Device.scratch`."""
        folder = posixpath.join(self._prefix, "scratch", secrets.token_hex(8))
        self._housekeeping(f"umask 077; mkdir -p {shlex.quote(folder)}", "make a directory")
        try:
            yield folder
        finally:
            self._housekeeping(f"rm -rf {shlex.quote(folder)}", f"remove {folder}")

    def tidy(self) -> None:
        """See `Device.tidy`."""
        self._housekeeping(scripts.script("tidy", self._prefix), "remove stale files")

    def shell(self, script: str, purpose: str) -> str:
        """See `Device.shell`."""
        return self._housekeeping(script, purpose)

    def beside(self) -> Self:
        """See `Device.beside`; `_connect` gives the copy its own connection."""
        return copy.copy(self)

    def supervise(self, note: str) -> None:
        """See `Device.supervise`."""
        self._note_of_launch = note

    @property
    def _is_settled(self) -> bool:
        """Whether a command has gone well here."""
        return self._prefix != ""

    def _settle(self) -> None:
        """Makes the prefix; notes where it is and since when the device has been up."""
        text = scripts.script("settle", self._directory)
        answer = self._housekeeping(text, "create the directory of trimtab")
        self._boot_id, _, folder = answer.removesuffix("\n").partition("\n")
        if not folder.startswith("/"):
            raise DeviceError(f"its directory cannot be {folder[:200]!r}", where=self.name)
        self._prefix = folder

    def _reconnect(self) -> None:
        """Connects again after the link broke; raises `DeviceRebootedError`, if that was why."""
        deadline, pause_s = time.monotonic() + _RECONNECT_S, _FIRST_PAUSE_S
        before = self._boot_id
        while True:
            self._disconnect()
            self._is_lost = False
            try:
                self._connect()
                self._settle()
                break
            except DeviceUnreachableError:
                self._is_lost = True
                if time.monotonic() + pause_s > deadline:
                    raise
            except BaseException:
                self._is_lost = True
                raise
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        if self._boot_id != before:
            raise DeviceRebootedError(
                "the device has restarted",
                where=self.name,
                hint="what was measured before does not belong to what follows: measure anew",
            )

    def _has(self, remote: str, digest: str, size_bytes: int) -> bool:
        """True when the device's copy is intact: a power cut may leave a file of zeros behind."""
        script = f"sha256sum <{shlex.quote(remote)} 2>/dev/null"
        seconds = _HOUSEKEEPING_S + size_bytes / _SLOWEST_HASH_BYTES_PER_S
        result = self._execute(script, timeout_s=seconds)
        return result.stdout.split()[:1] == [digest.encode()]

    def _send(
        self, content: BinaryIO, remote: str, digest: str, size_bytes: int, step: Step
    ) -> Pushed:
        """Sends a file, packed if the device unpacks it, else as it is."""
        tried_bytes = 0
        if program := self._unpacker(size_bytes):
            content.seek(0)
            counted = _Counted(content, size_bytes, step)
            packed = compression.CompressedReader(counted, compression.COMPRESSORS[program]())
            if self._store(packed, (program, "-dc"), remote, digest, size_bytes):
                return Pushed(remote, packed.done_bytes, program)
            tried_bytes = packed.done_bytes
        content.seek(0)
        self._store(_Counted(content, size_bytes, step), _PLAIN, remote, digest, size_bytes)
        return Pushed(remote, tried_bytes + size_bytes)

    def _unpacker(self, size_bytes: int) -> str:
        """The best program that the device has to unpack a file of this size; "" for none."""
        if not self._packs or size_bytes < _WORTH_PACKING_BYTES:
            return ""
        text = scripts.script("find_programs", *compression.COMPRESSORS)
        return self._housekeeping(text, "look for programs that unpack").partition("\n")[0]

    def _store(
        self, content: Source, reader: Sequence[str], remote: str, digest: str, size_bytes: int
    ) -> bool:
        """Sends `content` through the command `reader` into a file; False when that refuses it,
        which leaves nothing.
        """
        text = scripts.script("push", remote, str(size_bytes // 1024 + 1), digest, *reader)
        seconds = _HOUSEKEEPING_S + size_bytes / _SLOWEST_LINK_BYTES_PER_S
        result = self._execute(text, timeout_s=seconds, stdin=content)
        if result.ok:
            return True
        if result.exit_code == _DAMAGED:
            raise DeviceError(
                f"{posixpath.basename(remote)} arrived damaged",
                where=self._name,
                hint="try again; if it happens twice, check the link and the device's storage",
            )
        failure = self._failure(f"store {posixpath.basename(remote)} ({size_bytes} bytes)", result)
        if result.exit_code == _NOT_READ and reader != _PLAIN and type(failure) is DeviceError:
            return False
        raise failure

    def _own(self, remote: str) -> str:
        """`remote`, normalized, when it lies under the prefix."""
        path = posixpath.normpath(posixpath.join(self._prefix, remote))
        if not f"{path}/".startswith(f"{self._prefix}/") or "\0" in path:
            raise DeviceError(
                f"{remote} lies outside of {self._prefix}",
                where=self._name,
                hint="use paths that push() and scratch() returned",
            )
        return path

    def _housekeeping(self, script: str, purpose: str) -> str:
        result = self._execute(script, timeout_s=_HOUSEKEEPING_S)
        if not result.ok:
            raise self._failure(purpose, result)
        return result.stdout.decode("utf-8", "replace")

    def _failure(self, purpose: str, result: CommandResult) -> DeviceError:
        stderr = result.stderr.decode("utf-8", "replace").strip()
        if result.exit_code == NO_ROOM or re.search("No space left|quota exceeded", stderr):
            return DeviceFullError(
                f"no room on the device to {purpose}",
                where=f"{self._name}:{self._prefix or self._directory}",
                hint=f"free some space there (`rm -r {self._prefix}/cache` forgets what was pushed "
                "before), or set `directory` in the device's definition to a larger file system",
            )
        return DeviceError(
            f"cannot {purpose}: {stderr[-300:] or f'exit code {result.exit_code}'}",
            where=self._name,
        )
