"""Atomic writes of files and folders, and locks between processes.

All files of trimtab are written through this module. New content is written to a partial file in
the same folder, with a unique name, which is renamed when it is complete. On any error, Ctrl-C
included, the partial file is removed and the previous file remains. The partial file of a process
that was killed is removed by the next write of the same file.

An OSError becomes the `error` class that the caller passes, with the path and a `hint`. This module
imports the standard library only: CMake runs the code generator without other packages.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from trimtab.errors import FileAccessError, TrimtabError

Error = type[TrimtabError]
_DAY_S = 86_400.0
HINT = "check the path, its permissions and the free space of its disk"


@contextmanager
def access(path: Path, *, error: Error = FileAccessError, hint: str = HINT) -> Iterator[None]:
    """Converts an OSError to `error` while `path` is written."""
    try:
        yield
    except OSError as os_error:
        reason = os_error.strerror or str(os_error)
        culprit = str(os_error.filename or "")
        if culprit and path.name not in culprit:
            reason += f": {culprit}"
        raise error(f"cannot be written: {reason}", where=str(path), hint=hint) from os_error


@contextmanager
def temporary(name: str, data: bytes, *, error: Error = FileAccessError) -> Iterator[Path]:
    """A file with that name and content in a folder of its own, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        path = Path(folder) / name
        write_bytes(path, data, error=error)
        yield path


class PartialFile:
    """A file that is being written: its content is at `path` until `commit` renames it.

    Methods raise OSError. Use it through `replacing`, or inside `access`.
    """

    def __init__(self, file: Path) -> None:
        """Creates the file's folder. A symbolic link is kept, and its target is replaced."""
        # /dev/stdout and pipes are written in place: a rename would replace them by a file.
        is_device = file.exists() and not (file.is_file() or file.is_dir())
        self._file = file if is_device else Path(os.path.realpath(file))
        self._file.parent.mkdir(parents=True, exist_ok=True)
        if not is_device:
            _remove_stale(self._file)
        self.path = self._file if is_device else _beside(self._file)

    def commit(self, *, durable: bool = False) -> None:
        """Renames the partial file to its final name. `durable`: it survives a power loss."""
        if self.path == self._file:
            return
        if durable:
            _sync(self.path)
        self.path.replace(self._file)
        if durable:
            _sync(self._file.parent)

    def discard(self) -> None:
        """Removes the partial file, unless it was committed."""
        if self.path != self._file:
            self.path.unlink(missing_ok=True)


def check_writable(file: Path, *, error: Error = FileAccessError, hint: str = HINT) -> None:
    """Raises `error` if `file` cannot be written, before a long operation starts."""
    with access(file, error=error, hint=hint):
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
        missing = [folder for folder in file.absolute().parents if not folder.exists()]
        part = PartialFile(file)
        part.path.touch()
        part.discard()
        with suppress(OSError):  # another process uses them already
            for folder in missing:
                folder.rmdir()


@contextmanager
def replacing(
    file: Path,
    *,
    mode: int | None = None,
    durable: bool = False,
    error: Error = FileAccessError,
    hint: str = HINT,
) -> Iterator[Path]:
    """Yields the path of a partial file, for programs and libraries that open a path themselves,
    and renames it to `file` at the end. `mode`: its permissions; `durable`: see
    `PartialFile.commit`.
    """
    with access(file, error=error, hint=hint):
        part = PartialFile(file)
        try:
            yield part.path
            if mode is not None:
                part.path.chmod(mode)
            part.commit(durable=durable)
        finally:
            part.discard()


def write_bytes(
    file: Path,
    data: bytes | memoryview,
    *,
    mode: int | None = None,
    durable: bool = False,
    error: Error = FileAccessError,
    hint: str = HINT,
) -> None:
    """Replaces the content of `file`; the options are those of `replacing`."""
    with replacing(file, mode=mode, durable=durable, error=error, hint=hint) as part:
        part.write_bytes(data)


def write_text(
    file: Path,
    text: str,
    *,
    mode: int | None = None,
    durable: bool = False,
    error: Error = FileAccessError,
    hint: str = HINT,
) -> None:
    """Replaces the content of `file`, in UTF-8."""
    write_bytes(file, text.encode(), mode=mode, durable=durable, error=error, hint=hint)


def append_text(file: Path, text: str, *, error: Error = FileAccessError, hint: str = HINT) -> None:
    """Appends to `file`, in UTF-8; creates it if it does not exist."""
    with access(file, error=error, hint=hint), file.open("a", encoding="utf-8") as stream:
        stream.write(text)


def write_if_changed(
    file: Path,
    text: str,
    *,
    mode: int | None = None,
    error: Error = FileAccessError,
    hint: str = HINT,
) -> None:
    """Like `write_text`, but a file with equal content keeps its time stamp, so that nothing is
    rebuilt.
    """
    with access(file, error=error, hint=hint):
        if file.is_file() and file.read_bytes() == text.encode():
            return
    write_text(file, text, mode=mode, error=error, hint=hint)


def link_folder(
    link: Path, folder: Path, *, error: Error = FileAccessError, hint: str = HINT
) -> Path:
    """Makes `link` a symbolic link to `folder`, and returns it; returns `folder` where the system
    has no such links for this user, as Windows without developer mode.
    """
    if link.is_symlink() and link.readlink() == folder:
        return link
    with access(link, error=error, hint=hint):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        try:
            link.symlink_to(folder, target_is_directory=True)
        except FileExistsError:
            pass  # another process was faster
        except OSError as os_error:
            if getattr(os_error, "winerror", 0):
                return folder
            raise
    return link


def sha256(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits."""
    import hashlib  # loads OpenSSL, which running a model does not need

    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def copy_if_changed(
    source: Path, file: Path, *, error: Error = FileAccessError, hint: str = HINT
) -> None:
    """Copies a file with its permissions and time, unless the contents are equal. A process that
    has mapped the old file keeps it.
    """
    if not file.is_file() or sha256(source) != sha256(file):
        with replacing(file, error=error, hint=hint) as part:
            shutil.copy(source, part)


@contextmanager
def replacing_folder(
    folder: Path, *, error: Error = FileAccessError, hint: str = HINT
) -> Iterator[Path]:
    """Yields an empty folder to fill, which replaces `folder` at the end. A symbolic link is kept,
    and its target is replaced.
    """
    folder = Path(os.path.realpath(folder))
    fresh, old = _beside(folder), _beside(folder)
    with access(folder, error=error, hint=hint):
        _remove_stale(folder)
        try:
            fresh.mkdir(parents=True)
            yield fresh
            if folder.exists():
                folder.rename(old)
            try:
                fresh.rename(folder)
            except OSError:
                if old.exists():
                    old.rename(folder)
                raise
        finally:
            for leftover in (fresh, old):
                shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def locked(file: Path, *, error: Error = FileAccessError, hint: str = HINT) -> Iterator[None]:
    """Holds an exclusive lock between processes; `file` is used for the lock only.

    The operating system releases the lock when its process ends. The file is never removed: a
    process could then lock a new file while another still waits for the removed one.
    """
    from filelock import FileLock  # which CMake's runs of the code generator lack

    with access(file, error=error, hint=hint):
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file)
        lock.acquire()
    with lock:
        yield


def _beside(path: Path) -> Path:
    """A unique name in the same folder, so that a rename is atomic; it tells who writes."""
    return path.with_name(f".{path.name}.{_machine()}-{os.getpid()}-{os.urandom(4).hex()}.part")


def _remove_stale(path: Path) -> None:
    """Removes the partial files of `path` of processes that have ended.

    Those of other machines that share the folder count after a day without a change.
    """
    form = re.compile(
        rf"\.{re.escape(path.name)}\.([0-9a-f]{{8}})-([0-9]{{1,9}})-[0-9a-f]{{8}}\.part"
    )
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            match = form.fullmatch(entry.name)
            if match is None:
                continue
            with suppress(OSError):
                if match[1] == _machine():
                    is_stale = not Path(f"/proc/{match[2]}").exists()
                else:
                    is_stale = time.time() - entry.stat().st_mtime > _DAY_S
                if is_stale and entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif is_stale:
                    Path(entry.path).unlink()


@cache
def _machine() -> str:
    """A number for what gives process numbers a meaning: a machine in its boot, or a container."""
    facts = [platform.node()]
    with suppress(OSError):
        facts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        facts.append(str(Path("/proc/self/ns/pid").readlink()))
    return f"{zlib.crc32(''.join(facts).encode()):08x}"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
