"""The content of a model's files, which stays readable when they are replaced or deleted."""

from __future__ import annotations

import hashlib
import mmap
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from trimtab import files, plan_cache
from trimtab.errors import ModelFileError

_CHUNK = 1 << 23


class Snapshot:
    """The mapped files of the model at `path`. OSError if one cannot be read."""

    def __init__(self, path: Path, contents: Sequence[Path]) -> None:
        """`contents`: the model's files, in the folder of `path` or below."""
        self._path = path
        self._folder = _absolute(path).parent
        self._contents: dict[Path, mmap.mmap | bytes] = {}
        signature = []
        for file in contents:
            with file.open("rb") as opened:
                status = os.fstat(opened.fileno())
                signature.append(plan_cache.signature_of(str(_absolute(file)), status))
                self._contents[file] = _mapped(opened) if status.st_size else b""
        self.signature = tuple(signature)

    def digest(self) -> str:
        """The hash of the names and contents of all files."""
        running = hashlib.sha256()
        for file, content in self._contents.items():
            running.update(os.fsencode(self._inside(file)) + f"\0{len(content)}\0".encode())
            for at in range(0, len(content), _CHUNK):
                with memoryview(content) as view:
                    running.update(view[at : at + _CHUNK])
                # The next chunk needs the memory.
                if isinstance(content, mmap.mmap) and sys.platform != "win32":
                    content.madvise(mmap.MADV_DONTNEED, at, min(_CHUNK, len(content) - at))
        return running.hexdigest()

    @contextmanager
    def path(self, digest: str) -> Iterator[Path]:
        """The path of files with the content `digest`: the original ones, or copies if they have
        been replaced or deleted. ModelFileError if somebody has changed them in place.
        """
        if self.digest() != digest:
            raise ModelFileError(
                "has changed since it was loaded", where=str(self._path), hint="load it again"
            )
        if self._are_in_place():
            yield self._path
            return
        import tempfile  # which hardly any process needs

        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
            for file, content in self._contents.items():
                copy = Path(folder) / self._inside(file)
                files.write_bytes(copy, memoryview(content), error=ModelFileError)
            yield Path(folder) / self._inside(self._path)

    def _inside(self, file: Path) -> Path:
        return _absolute(file).relative_to(self._folder)

    def _are_in_place(self) -> bool:
        try:
            statuses = [file.stat() for file in self._contents]
        except OSError:
            return False
        return [(s.st_dev, s.st_ino) for s in statuses] == [s[1:3] for s in self.signature]


def _absolute(path: Path) -> Path:
    """The path without `..`, so that the files of a model lie below its folder by name."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute() keeps `..`


def _mapped(opened: BufferedReader) -> mmap.mmap:
    return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
