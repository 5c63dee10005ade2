"""Memory for model images: aligned, and in huge pages where the system gives them."""

from __future__ import annotations

import contextlib
import mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


def new_image(size: int) -> Image:
    """`size` zero bytes that start at a page. Where the system has huge pages they are asked for:
    weights are read once per inference, and with small pages the page table is read with them.
    """
    memory = mmap.mmap(-1, max(size, 1))
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8, count=size)


class _FileMap(mmap.mmap):
    """Pages of a file, which can be dropped and read again."""


def map_file(path: Path) -> Image:
    """The bytes of a file, read-only and in place; OSError when it cannot be opened."""
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return np.empty(0, np.uint8)  # nothing can be mapped
        return np.frombuffer(_FileMap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def is_mapped(image: Image | None) -> bool:
    """Whether the bytes are pages of a file, as `map_file` gives them."""
    return image is not None and _file_of(image) is not None


def drop_pages(image: Image) -> None:
    """Gives the pages of a mapped file back to the system, which reads those again that are still
    needed: for who has read all of it once.
    """
    mapped = _file_of(image)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _file_of(image: Image) -> _FileMap | None:
    """What an array of `map_file` lies in; some versions of numpy have a view between the two."""
    base = image.base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, _FileMap) else None
