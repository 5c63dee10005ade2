"""A device with a POSIX shell: everything that does not depend on the transport.

Push, pull and scratch folders need only a shell and the small programs of `requirements` on the
device, and no SFTP server. A device with `zstd` or `gzip` receives large files
compressed, and decompresses them as they arrive.

A broken link ends the running command, and nothing is repeated behind the caller's back. The next
command reconnects, with growing pauses. If the device has rebooted meanwhile, that command raises
`DeviceRebootedError` once, because results from before and after a reboot do not belong together.
"""

from __future__ import annotations

import copy
import hashlib
import os
import posixpath
import re
import secrets
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Self

from trimtab import compression, files
from trimtab.devices import facts, printed, requirements, scripts
from trimtab.devices.limits import USUAL
from trimtab.devices.outage import Outage
from trimtab.devices.process import Source
from trimtab.devices.protocol import (
    NO_ROOM,
    PULL_BYTES,
    SHELL_BYTES,
    CommandResult,
    DeviceInfo,
    PushedFile,
    Room,
    Transcript,
)
from trimtab.errors import (
    DeviceError,
    DeviceFullError,
    DeviceOutputError,
    DeviceRebootedError,
    DeviceUnreachableError,
)
from trimtab.progress import SILENT, Progress, Step

_SLOWEST_LINK_BYTES_PER_S = 64 * 1024  # sets the time limit of a push or pull
_SLOWEST_HASH_BYTES_PER_S = 4 * 1024 * 1024
# Exit codes of push.sh; none of the programs that it calls uses them.
_DAMAGED = 82
_NOT_READ = 83
_MIN_COMPRESSED_BYTES = 1_000_000  # a smaller file arrives before compression helps

_FEW_BYTES = 4096  # of a line

_PLAIN = ("cat",)  # the reader of uncompressed bytes


def quote(argv: Sequence[str], env: Mapping[str, str] | None, cwd: str) -> str:
    """An argument list as text for a shell; the only place that makes such text.

    Raises `DeviceError` for arguments that no process can have: NUL, a malformed variable name, an
    empty list.
    """
    env = env or {}
    if not argv or not argv[0]:
        raise DeviceError("no program to run", hint="give a program as the first argument")
    if any("\0" in word for word in (*argv, *env.values(), cwd)):
        raise DeviceError("an argument contains a NUL character", where=argv[0])
    for key in env:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            raise DeviceError(f"{key!r} is not the name of an environment variable", where=argv[0])
    exports = "".join(f"export {key}={shlex.quote(value)}; " for key, value in env.items())
    return f"cd {shlex.quote(cwd)} || exit 126; {exports}exec {shlex.join(argv)}"


class _CountingReader:
    """A file that reports how much of it has been read."""

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
    limits = USUAL
    connection = ""
    _runs_itself = True  # False if an emulator beside it reads the pushed programs

    def __init__(
        self, name: str, directory: str, *, is_emulated: bool = False, packs: bool = False
    ) -> None:
        """`directory`: trimtab's folder there; a relative one starts in the home directory.

        `packs`: compress large files on their way if the device can decompress them.
        """
        self._name = name
        self._packs = packs
        self._directory = directory
        self._is_emulated = is_emulated
        self._prefix, self._boot_id = "", ""
        self._outage: Outage | None = None
        self._launch_note = ""
        self._is_disconnected = False

    @abstractmethod
    def _connect(self) -> None:
        """Makes `_transmit` usable. Raises `DeviceUnreachableError` if waiting may help."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Reverts `_connect`. Harmless if not connected."""

    @abstractmethod
    def _transmit(
        self, script: str, timeout_s: float, stdin: Source | None, transcript: Transcript
    ) -> CommandResult:
        """Executes over a link that is up. Raises `DeviceUnreachableError` if it breaks."""

    def _execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Source | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        """Runs a script in a POSIX shell in the home directory, in a process group of its own.

        `stdin` is sent completely, or is empty. stdout goes into the `transcript` as it arrives.
        After `timeout_s` the group gets SIGTERM, so that scripts clean up, then SIGKILL, and
        `DeviceTimeoutError` is raised. A command that prints too much is ended in the same way.
        """
        if self._is_disconnected:
            self._reconnect()
        try:
            return self._transmit(script, timeout_s, stdin, transcript or Transcript())
        except DeviceUnreachableError:
            self._is_disconnected = True
            raise

    @property
    def name(self) -> str:
        """The name of the definition."""
        return self._name

    def __enter__(self) -> Self:
        """Connects and makes the prefix. Raises what the transport raises."""
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

    def push(self, local: Path, progress: Progress = SILENT) -> PushedFile:
        """See `Device.push`."""
        try:
            with local.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
                size_bytes = os.fstat(content.fileno()).st_size
                remote = posixpath.join(self._prefix, "cache", digest, local.name)
                if self._has(remote, digest, size_bytes):
                    return PushedFile(remote)
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
        folder = self._prefix if cwd is None else self._inside_prefix(cwd)
        script = self._launch_note + quote(argv, env, folder)
        return self._execute(script, timeout_s=timeout_s, transcript=transcript)

    def pull(self, remote: str, local: Path, *, limit_bytes: int = PULL_BYTES) -> None:
        """See `Device.pull`."""
        file = shlex.quote(self._inside_prefix(remote))
        text = self._housekeeping(f"wc -c <{file}", f"read {remote}", _FEW_BYTES)
        size = printed.number(text.strip(), 0)
        if size is None or size > limit_bytes:
            raise DeviceOutputError(
                f"{remote} has {text.strip()[:40]!r} bytes, not at most {limit_bytes:,}",
                where=self._name,
                hint="is this the file that was expected? Another program may have written it",
            )
        seconds = self.limits.housekeeping_s + size / _SLOWEST_LINK_BYTES_PER_S
        content = Transcript(limit_bytes=size)
        result = self._execute(f"cat {file}", timeout_s=seconds, transcript=content)
        if not result.ok:
            raise self._failure(f"read {remote}", result)
        files.write_bytes(local, result.stdout)

    def room(self) -> Room:
        """See `Device.room`."""
        text = scripts.script("room", self._prefix)
        lines = self._housekeeping(text, "measure the free space").splitlines()
        free = re.search(r"^free=([0-9]+)$", "\n".join(lines), re.M)
        names = (line.removeprefix("pushed=") for line in lines if line.startswith("pushed="))
        kib = printed.number(free[1]) if free else None
        return Room(self.name, None if kib is None else kib * 1024, frozenset(names))

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

    def shell(self, script: str, purpose: str, *, limit_bytes: int = SHELL_BYTES) -> str:
        """See `Device.shell`."""
        return self._housekeeping(script, purpose, limit_bytes)

    def clone(self) -> Self:
        """See `Device.clone`. `_connect` gives the copy its own connection."""
        return copy.copy(self)

    def set_launch_note(self, script: str) -> None:
        """See `Device.set_launch_note`."""
        self._launch_note = script

    @property
    def _is_settled(self) -> bool:
        """Whether a command has succeeded on this device."""
        return self._prefix != ""

    def _settle(self) -> None:
        """Makes the prefix; stores its path and the boot id.

        In a boot that was not checked before, raises the error of a device that cannot be used.
        """
        text = requirements.script(self._directory, self._boot_id, runs=self._runs_itself)
        answer = Transcript(limit_bytes=SHELL_BYTES)
        result = self._execute(text, timeout_s=self.limits.housekeeping_s, transcript=answer)
        if not result.ok:
            failure = self._failure("create the directory of trimtab", result)
            is_plain = type(failure) is DeviceError and result.exit_code == 1
            stderr = result.stderr.decode("utf-8", "replace")
            raise requirements.closed(self._directory, stderr, self.name) if is_plain else failure
        settled = requirements.parse(result.stdout.decode("utf-8", "replace"), self.name)
        self._boot_id, self._prefix = settled.boot_id, settled.folder

    def _reconnect(self) -> None:
        """Reconnects after a broken link. Raises `DeviceRebootedError` if a reboot broke it."""
        self._outage = self._outage or Outage(self.limits.reconnect_s)
        before = self._boot_id
        while True:
            self._outage.begin()
            self._disconnect()
            self._is_disconnected = False
            try:
                self._connect()
                self._settle()
                break
            except DeviceUnreachableError as error:
                self._is_disconnected = True
                self._outage.wait(error)
            except BaseException:
                self._is_disconnected = True
                raise
        self._outage = None
        if self._boot_id != before:
            raise DeviceRebootedError(
                "the device has rebooted",
                where=self.name,
                hint="results from before and after a reboot do not belong together: measure again",
            )

    def _has(self, remote: str, digest: str, size_bytes: int) -> bool:
        """Whether the device's copy is intact: a power cut may leave a file of zeros."""
        script = f"sha256sum <{shlex.quote(remote)} 2>/dev/null"
        seconds = self.limits.housekeeping_s + size_bytes / _SLOWEST_HASH_BYTES_PER_S
        answer = Transcript(limit_bytes=_FEW_BYTES)
        result = self._execute(script, timeout_s=seconds, transcript=answer)
        return result.stdout.split()[:1] == [digest.encode()]

    def _send(
        self, content: BinaryIO, remote: str, digest: str, size_bytes: int, step: Step
    ) -> PushedFile:
        """Sends a file, compressed if the device can decompress it."""
        wasted_bytes = 0
        if program := self._decompressor(size_bytes):
            content.seek(0)
            counted = _CountingReader(content, size_bytes, step)
            compressed = compression.CompressedReader(counted, compression.COMPRESSORS[program]())
            if self._store(compressed, (program, "-dc"), remote, digest, size_bytes):
                return PushedFile(remote, compressed.done_bytes, program)
            wasted_bytes = compressed.done_bytes
        content.seek(0)
        self._store(_CountingReader(content, size_bytes, step), _PLAIN, remote, digest, size_bytes)
        return PushedFile(remote, wasted_bytes + size_bytes)

    def _decompressor(self, size_bytes: int) -> str:
        """The best program on the device that decompresses a file of this size; "" for none."""
        if not self._packs or size_bytes < _MIN_COMPRESSED_BYTES:
            return ""
        text = scripts.script("find_programs", *compression.COMPRESSORS)
        return self._housekeeping(text, "find a program that decompresses").partition("\n")[0]

    def _store(
        self, content: Source, reader: Sequence[str], remote: str, digest: str, size_bytes: int
    ) -> bool:
        """Sends `content` through the command `reader` into a file.

        False if `reader` fails, which leaves nothing.
        """
        text = scripts.script("push", remote, str(size_bytes // 1024 + 1), digest, *reader)
        seconds = self.limits.housekeeping_s + size_bytes / _SLOWEST_LINK_BYTES_PER_S
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

    def _inside_prefix(self, remote: str) -> str:
        """`remote`, normalized. Raises `DeviceError` if it lies outside of the prefix."""
        path = posixpath.normpath(posixpath.join(self._prefix, remote))
        if not f"{path}/".startswith(f"{self._prefix}/") or "\0" in path:
            raise DeviceError(
                f"{remote} lies outside of {self._prefix}",
                where=self._name,
                hint="use paths that push() and scratch() returned",
            )
        return path

    def _housekeeping(self, script: str, purpose: str, limit_bytes: int = SHELL_BYTES) -> str:
        transcript = Transcript(limit_bytes=limit_bytes)
        result = self._execute(script, timeout_s=self.limits.housekeeping_s, transcript=transcript)
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
