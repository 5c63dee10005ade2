"""The weights of a .bin file: buffers in the order of the layers, each with or without a tag.

Format: ncnn, docs/developer-guide/param-and-model-file-structure.md, "weight buffer".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trimtab.importers._files import WeightsFile, read_bytes
from trimtab.importers._graph import Array, UnsupportedFormError

LIMIT_BYTES = 2**32

FLOAT32 = 0  # the tag of float32 values

_HALF = 0x01306B47
_INT8 = 0x000D4B38
_RAW = 0x0002C056  # float32, for layers with another source of their precision
_TABLE = 256


class NcnnWeights(WeightsFile):
    """Layers take their weights in the order of the file; without a file, all are missing."""

    text, suffix = ".param", ".bin"

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self._data = read_bytes(path, LIMIT_BYTES) if path else b""
        self._next = 0
        self._is_lost = False

    def lose_position(self) -> None:
        """Marks the position as unknown, because a layer has an unknown number of weights.

        From then on layers get zeros, at most as many as the file has bytes, so that the import can
        report further unsupported layers.
        """
        self._is_lost = True

    def raw(self, shape: Sequence[int], what: str) -> Array:
        """The next float32 values, without a tag."""
        if self._is_lost:
            return self._zeros(shape)
        count = self._check(shape, 4, what)
        return self._floats(count, "<f4", what).reshape(shape)

    def tagged(self, shape: Sequence[int], what: str, *, int8: bool = False) -> Array:
        """The next values in the encoding of their tag, as float32, or int8 if that is allowed."""
        if self._is_lost:
            return self._zeros(shape)
        count = self._check(shape, 1, what)
        tag = int.from_bytes(self._take(4, what), "little")
        if tag == _INT8 and int8:
            return np.frombuffer(self._take(count, what), np.int8).reshape(shape)
        if tag == _INT8:
            # Scales follow, but only quantized layers know how many.
            self.lose_position()
            raise UnsupportedFormError(f"its {what} is quantized to 8-bit integers")
        if tag == _HALF:
            values = self._floats(count, "<f2", what)
        elif tag in (FLOAT32, _RAW):
            values = self._floats(count, "<f4", what)
        else:
            table = self._floats(_TABLE, "<f4", what)
            values = table[np.frombuffer(self._take(count, what), np.uint8)]
        return values.reshape(shape)

    def _zeros(self, shape: Sequence[int]) -> Array:
        count = math.prod(shape)
        if min(shape, default=1) < 1 or count > len(self._data) - self._next:
            raise UnsupportedFormError("its weights cannot be located after the layers above")
        self._next += count
        return np.zeros(shape, np.float32)

    def _check(self, shape: Sequence[int], element_bytes: int, what: str) -> int:
        """The number of elements, checked against the size of the file."""
        if self._path is None:
            raise self.missing(what)
        count = math.prod(shape)
        remaining = len(self._data) - self._next
        if min(shape, default=1) < 1 or count * element_bytes > remaining:
            raise self.damaged(f"{what} has the shape {list(shape)}, {remaining} bytes remain")
        return count

    def _floats(self, count: int, code: str, what: str) -> Array:
        data = self._take(count * np.dtype(code).itemsize, what)
        return np.frombuffer(data, code).astype(np.float32)

    def _take(self, size: int, what: str) -> bytes:
        """The next bytes; buffers begin at multiples of four."""
        begin, self._next = self._next, self._next + size + -size % 4
        if self._next > len(self._data):
            raise self.damaged(f"{what} needs {size} bytes, {len(self._data) - begin} remain")
        return self._data[begin : begin + size]
