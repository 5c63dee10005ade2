"""Arrays in files of the user: .npz archives and .npy files, for samples, labels and goldens.

Nothing is unpickled. The sizes that a file states are compared with its own size and with the
memory of the machine before an array is made: a compressed archive of 3 MB can hold gigabytes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import TrimtabError
from trimtab.system import memory_bytes

Array = NDArray[Any]
Error = type[TrimtabError]

SMALL_BYTES = 2**30  # arrays of this size are always read
_MAX_EXPANSION = 100  # of larger arrays: real data compress to more than a hundredth
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_archive(path: Path, *, error: Error, hint: str) -> dict[str, Array]:
    """The arrays of an .npz file by name.

    Raises `error`, with `hint`, for a file that is damaged, has Python objects or records, or
    expands to more than the machine's memory or to far more than its own size.
    """
    with _reading(path, ".npz", error, hint):
        with path.open("rb") as file:
            start = file.read(len(np.lib.format.MAGIC_PREFIX))
        if start == np.lib.format.MAGIC_PREFIX:
            raise ValueError("it has a single array without a name")
        if not zipfile.is_zipfile(path):
            raise ValueError("it is damaged, or not an .npz file")
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_size(sum(member.file_size for member in members), path)
            return {name: _member(archive, name, info) for name, info in _named(members).items()}


def read_array(path: Path, *, error: Error, hint: str) -> Array:
    """The array of an .npy file, which is mapped: elements are read when they are used.

    Raises `error`, with `hint`, for a file that is damaged, or has Python objects or records.
    """
    with _reading(path, ".npy", error, hint):
        with path.open("rb") as file:
            _check_header(file, path.name, path.stat().st_size)
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
        return array


@contextmanager
def _reading(path: Path, kind: str, error: Error, hint: str) -> Iterator[None]:
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is not a regular file")
        yield
    except Exception as reason:  # numpy, zipfile and zlib raise many exceptions for damaged files
        text = str(reason) or type(reason).__name__
        raise error(
            f"is not a readable {kind} file: {text}", where=str(path), hint=hint
        ) from reason


def _named(members: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The members by the names of their arrays."""
    result = {member.filename.removesuffix(".npy"): member for member in members}
    others = [member.filename for member in members if not member.filename.endswith(".npy")]
    if others or len(result) < len(members):
        what = f"its member {others[0]!r} is not an array" if others else "two arrays have one name"
        raise ValueError(what)
    return result


def _member(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> Array:
    with archive.open(info) as member:
        _check_header(member, name, info.file_size)
    with archive.open(info) as member:
        array: Array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):  # which compares the checksum at the end
            raise ValueError(f"array '{name}' has more bytes than its shape")
    return array


def _check_header(file: IO[bytes], name: str, stored_bytes: int) -> None:
    """ValueError for elements that are not plain, or more of them than there are bytes."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"array '{name}' has records, not numbers")
    shape, _, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError(f"array '{name}' has Python objects, not numbers")
    if dtype.names or dtype.subdtype:
        raise ValueError(f"array '{name}' has records, not numbers")
    count = 1
    for size in shape:
        count *= size
    if min(shape, default=1) < 0 or count * dtype.itemsize > stored_bytes:
        raise ValueError(
            f"array '{name}' of shape {list(shape)} needs {count * dtype.itemsize:,} bytes, and"
            f" {stored_bytes:,} are stored"
        )


def _check_size(expanded: int, path: Path) -> None:
    """ValueError if arrays take far more memory than the file, or more than the machine has."""
    if expanded > max(SMALL_BYTES, _MAX_EXPANSION * path.stat().st_size):
        raise ValueError(f"its arrays have {expanded:,} bytes, too many for such a small file")
    if expanded > (memory := memory_bytes()):
        raise ValueError(
            f"its arrays have {expanded:,} bytes, and this machine {memory:,} bytes of memory"
        )
