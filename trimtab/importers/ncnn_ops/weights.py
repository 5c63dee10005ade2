"""Weights as .bin files: buffers in the order of the layers, each with or without a tag.

Format: ncnn, docs/developer-guide/param-and-model-file-structure.md, "weight buffer".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trimtab.importers._files import WeightsFile, read_bytes
from trimtab.importers._layers import Array, UnsupportedFormError

LIMIT_BYTES = 2**32

_HALF = 0x01306B47
_INT8 = 0x000D4B38
# Values as they are, for layers that take their precision from elsewhere.
_RAW = 0x0002C056
_TABLE = 256


class Weights(WeightsFile):
    """Values in the order in which layers take them; none without a file."""

    text, suffix = ".param", ".bin"

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self._data = read_bytes(path, LIMIT_BYTES) if path else b""
        self._next = 0
        self._lost = False

    def lose(self) -> None:
        """From here on, nobody knows where weights begin: a layer took an unknown number. To find
        what else is wrong with the network, layers get zeros, though no more than there are bytes.
        """
        self._lost = True

    def raw(self, shape: Sequence[int], what: str) -> Array:
        """The next values, float32 without a tag."""
        if self._lost:
            return self._zeros(shape)
        count = self._check(shape, 4, what)
        return self._floats(count, "<f4", what).reshape(shape)

    def tagged(self, shape: Sequence[int], what: str, *, integers: bool = False) -> Array:
        """The next values, as float32, whatever the tag in front of them says they are; where
        `integers` are allowed, these may be int8.
        """
        if self._lost:
            return self._zeros(shape)
        count = self._check(shape, 1, what)
        tag = int.from_bytes(self._take(4, what), "little")
        if tag == _INT8 and integers:
            return np.frombuffer(self._take(count, what), np.int8).reshape(shape)
        if tag == _INT8:
            # Their scales follow, but only quantized layers know how many.
            self.lose()
            raise UnsupportedFormError(f"its {what} is quantized to 8-bit integers")
        if tag == _HALF:
            values = self._floats(count, "<f2", what)
        elif tag in (0, _RAW):
            values = self._floats(count, "<f4", what)
        else:
            table = self._floats(_TABLE, "<f4", what)
            values = table[np.frombuffer(self._take(count, what), np.uint8)]
        return values.reshape(shape)

    def _zeros(self, shape: Sequence[int]) -> Array:
        count = math.prod(shape)
        if min(shape, default=1) < 1 or count > len(self._data) - self._next:
            raise UnsupportedFormError("its weights cannot be found behind the layers above")
        self._next += count
        return np.zeros(shape, np.float32)

    def _check(self, shape: Sequence[int], least_bytes: int, what: str) -> int:
        """The number of elements, which must be able to follow."""
        if self._path is None:
            raise self.missing(what)
        count = math.prod(shape)
        left = len(self._data) - self._next
        if min(shape, default=1) < 1 or count * least_bytes > left:
            raise self.damaged(f"{what} has the shape {list(shape)}, {left} bytes are left")
        return count

    def _floats(self, count: int, code: str, what: str) -> Array:
        data = self._take(count * np.dtype(code).itemsize, what)
        return np.frombuffer(data, code).astype(np.float32)

    def _take(self, size: int, what: str) -> bytes:
        """The next bytes; buffers begin at multiples of four."""
        begin, self._next = self._next, self._next + size + -size % 4
        if self._next > len(self._data):
            raise self.damaged(f"{what} needs {size} bytes, {len(self._data) - begin} are left")
        return self._data[begin : begin + size]
