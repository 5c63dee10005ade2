"""The weights of a .weights file: a header, then the float32 values of all layers in order."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from trimtab.importers._files import WeightsFile, read_bytes
from trimtab.importers._graph import Array

LIMIT_BYTES = 2**32

_VERSION_BYTES = 12  # major, minor, revision


class DarknetWeights(WeightsFile):
    """The values of the file, which layers take in its order; without a file, all are missing."""

    text, suffix = ".cfg", ".weights"

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self._values: Array = np.zeros(0, np.float32)
        self._next = 0
        self.transposed = False
        """Whether fully connected layers store their matrix as [inputs, outputs]."""
        if path:
            self._read(path)

    def _read(self, path: Path) -> None:
        data = read_bytes(path, LIMIT_BYTES)
        if len(data) < _VERSION_BYTES:
            raise self.damaged("it is shorter than its header")
        major, minor, _ = (int(v) for v in np.frombuffer(data, "<i4", 3))
        # The number of training images has 64 bits since version 0.2.
        wide = major * 10 + minor >= 2 and major < 1000 and minor < 1000
        begin = _VERSION_BYTES + (8 if wide else 4)
        if len(data) < begin or (len(data) - begin) % 4 or major < 0 or minor < 0:
            raise self.damaged("it is not a header and 32-bit values")
        self.transposed = major > 1000 or minor > 1000
        self._values = np.frombuffer(data, "<f4", offset=begin)

    def take(self, shape: tuple[int, ...], what: str) -> Array:
        """The next values; ModelFileError if the file is too short."""
        if self._path is None:
            raise self.missing(what)
        count = math.prod(shape)
        remaining = self._values.size - self._next
        if count > remaining or min(shape) < 1:
            raise self.damaged(f"{what} needs {count} values, {remaining} remain")
        begin, self._next = self._next, self._next + count
        return self._values[begin : self._next].reshape(shape)

    def check_end(self) -> None:
        """ModelFileError if values remain after the last layer."""
        if remaining := self._values.size - self._next:
            raise self.damaged(f"{remaining} values remain after the last layer")
