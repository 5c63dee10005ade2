"""Writes an initramfs: a cpio archive in the "newc" format.

In Python instead of the program cpio, which needs root for device nodes.
Source: Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import stat
from typing import BinaryIO


class CpioWriter:
    """Appends entries owned by root; `close` writes the trailer."""

    def __init__(self, file: BinaryIO) -> None:
        """Writes `file` from its current position, which is offset 0 of the archive."""
        self._file = file
        self._offset = 0
        self._inode = 0

    def directory(self, path: str, mode: int = 0o755) -> None:
        """Adds a folder. Paths have no leading slash, and parents come first."""
        self._entry(path, stat.S_IFDIR | mode, b"")

    def file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Adds a regular file."""
        self._entry(path, stat.S_IFREG | mode, content)

    def symlink(self, path: str, target: str) -> None:
        """Adds a symbolic link."""
        self._entry(path, stat.S_IFLNK | 0o777, target.encode())

    def character_device(self, path: str, major: int, minor: int) -> None:
        """Adds a device node that root may read and write."""
        self._entry(path, stat.S_IFCHR | 0o600, b"", device=(major, minor))

    def close(self) -> None:
        """Ends the archive."""
        self._entry("TRAILER!!!", 0, b"")

    def _entry(
        self, path: str, mode: int, content: bytes, device: tuple[int, int] = (0, 0)
    ) -> None:
        self._inode += 1
        name = path.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name), 0)
        self._write(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
        self._write(content)

    def _write(self, data: bytes) -> None:
        padded = data + bytes(-(self._offset + len(data)) % 4)
        self._file.write(padded)
        self._offset += len(padded)
