"""Files and folders that are there complete or not at all, and locks between processes.

The one way in which trimtab writes what somebody may read later. New content grows in a part beside
the file, under a name that no other process has, and takes the file's name when it is complete. On
any error, Ctrl-C included, the part goes away, and what was there before stays as it was.

What the operating system refuses becomes the `error` that the caller names, with the file and a
`hint` of what to do. This module needs nothing but the standard library: CMake runs the code
generator with little else.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import FileAccessError, TrimtabError

Error = type[TrimtabError]
HINT = "check the path, its rights and the room on its disk"


@contextmanager
def access(path: Path, *, error: Error = FileAccessError, hint: str = HINT) -> Iterator[None]:
    """Raises `error` for what the operating system refuses while `path` is written."""
    try:
        yield
    except OSError as refused:
        reason = refused.strerror or str(refused)
        culprit = str(refused.filename or "")
        if culprit and path.name not in culprit:
            reason += f": {culprit}"
        raise error(f"cannot be written: {reason}", where=str(path), hint=hint) from refused


class PartialFile:
    """Where the content of a file grows: `path`, until `commit` gives it the file's name.

    Raises OSError: whoever uses it as it stands, and not through `replacing`, stands in `access`.
    """

    def __init__(self, file: Path) -> None:
        """Makes the file's folder. A link stays one, and what it leads to is replaced."""
        # /dev/stdout and pipes are written to; a rename would put a file in their place.
        is_device = file.exists() and not (file.is_file() or file.is_dir())
        self._file = file if is_device else Path(os.path.realpath(file))
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self.path = self._file if is_device else _beside(self._file)

    def commit(self, *, durable: bool = False) -> None:
        """The part becomes the file; `durable`: so that it survives a power cut from now on."""
        if self.path == self._file:
            return
        if durable:
            _sync(self.path)
        self.path.replace(self._file)
        if durable:
            _sync(self._file.parent)

    def discard(self) -> None:
        """Removes the part, unless it was kept."""
        if self.path != self._file:
            self.path.unlink(missing_ok=True)


def check_writable(file: Path, *, error: Error = FileAccessError, hint: str = HINT) -> None:
    """Raises `error` where `file` cannot be written: for what takes long before it writes."""
    with access(file, error=error, hint=hint):
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
        part = PartialFile(file)
        part.path.touch()
        part.discard()


@contextmanager
def replacing(
    file: Path,
    *,
    mode: int | None = None,
    durable: bool = False,
    error: Error = FileAccessError,
    hint: str = HINT,
) -> Iterator[Path]:
    """Gives the path to write in place of `file`, for programs and libraries that open it
    themselves; it is kept at the end of the `with`. `mode`: its rights, if not the usual ones;
    `durable`: see `PartialFile.commit`.
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
    """Writes `file` anew; the options are those of `replacing`."""
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
    """Writes `file` anew, in UTF-8."""
    write_bytes(file, text.encode(), mode=mode, durable=durable, error=error, hint=hint)


def write_if_changed(
    file: Path,
    text: str,
    *,
    mode: int | None = None,
    error: Error = FileAccessError,
    hint: str = HINT,
) -> None:
    """As `write_text`; an equal file keeps its time stamp, so that nothing is built again."""
    with access(file, error=error, hint=hint):
        if file.is_file() and file.read_bytes() == text.encode():
            return
    write_text(file, text, mode=mode, error=error, hint=hint)


def sha256(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits."""
    import hashlib  # who runs a model needs none, and OpenSSL takes its time

    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def copy_if_changed(
    source: Path, file: Path, *, error: Error = FileAccessError, hint: str = HINT
) -> None:
    """Copies with rights and time. An equal file stays; a process that has the old one mapped
    keeps that.
    """
    if not file.is_file() or sha256(source) != sha256(file):
        with replacing(file, error=error, hint=hint) as part:
            shutil.copy(source, part)


@contextmanager
def replacing_folder(
    folder: Path, *, error: Error = FileAccessError, hint: str = HINT
) -> Iterator[Path]:
    """Gives an empty folder to fill, which takes the place of `folder` at the end of the `with`; a
    link stays one, and what it leads to is replaced.
    """
    folder = Path(os.path.realpath(folder))
    fresh, old = _beside(folder), _beside(folder)
    with access(folder, error=error, hint=hint):
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
            for left_over in (fresh, old):
                shutil.rmtree(left_over, ignore_errors=True)


@contextmanager
def locked(file: Path, *, error: Error = FileAccessError, hint: str = HINT) -> Iterator[None]:
    """Waits until no other process is in a `with` of this `file`, which is for the lock alone.

    The lock ends with its process, however that ends. The file stays: who removed it would let a
    third process in beside the second, which waits for the file that is gone.
    """
    with access(file, error=error, hint=hint):
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = file.open("a")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _beside(path: Path) -> Path:
    """A name in the same folder, so that a rename suffices, which no other process takes."""
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
