"""Memory for model images: page-aligned, in huge pages if the system has them."""

from __future__ import annotations

import contextlib
import mmap
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


def new_image(size: int) -> Image:
    """`size` zero bytes at the start of a page, in huge pages if possible. Every inference reads
    all weights, and with small pages also their page table.
    """
    if sys.platform == "win32":
        return np.frombuffer(mmap.mmap(-1, max(size, 1)), np.uint8, count=size)
    # Private: shared memory, the default, is for the system a file, mostly without huge pages.
    memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8, count=size)


class _FileMap(mmap.mmap):
    """The mapped pages of a file."""


def map_file(path: Path) -> Image:
    """The bytes of a file, mapped read-only; OSError if it cannot be opened."""
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return np.empty(0, np.uint8)  # an empty file cannot be mapped
        return np.frombuffer(_FileMap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def is_mapped(image: Image | None) -> bool:
    """Whether `image` is a result of `map_file`."""
    return image is not None and _file_of(image) is not None


def drop_pages(image: Image) -> None:
    """Releases the pages of a mapped file after a complete read; the system reads needed pages
    again.
    """
    mapped = _file_of(image)
    if mapped is not None and sys.platform != "win32":
        mapped.madvise(mmap.MADV_DONTNEED)


def _file_of(image: Image) -> _FileMap | None:
    """The mapping of a result of `map_file`; some versions of numpy have a memoryview between."""
    base = image.base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, _FileMap) else None
