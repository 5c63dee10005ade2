"""Paddle's parameters: streams of tensors, one per file, or all in one file sorted by name.

A tensor is: uint32 version; uint64 number of levels of detail, each a uint64 size in bytes and its
offsets; uint32 version of the tensor; int32 size of a TensorDesc message and that message; the
elements.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from trimtab.errors import ModelFileError
from trimtab.importers._layers import Array, read_bytes
from trimtab.importers.paddle_ops.framework import BFLOAT16, DTYPES, VarDesc, read_tensor

LIMIT_BYTES = 2**32  # of a file of parameters


class _Stream:
    """Bytes, read from the front; ValueError when they do not last."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes that are left."""
        return len(self._data) - self.at

    def take(self, size: int) -> memoryview:
        """The next `size` bytes."""
        if not 0 <= size <= self.left:
            raise ValueError(f"{size} bytes are announced at byte {self.at}, {self.left} are left")
        self.at += size
        return self._data[self.at - size : self.at]

    def number(self, code: str) -> int:
        """The next number, by its struct code."""
        return int(struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0])

    def tensor(self) -> Array:
        """The next tensor."""
        self._version()
        levels = self.number("Q")
        if levels * 8 > self.left:
            raise ValueError(f"{levels} levels of detail are more than the file can hold")
        for _ in range(levels):
            self.take(self.number("Q"))
        self._version()
        code, dims = read_tensor(bytes(self.take(self.number("i"))))
        if code not in DTYPES or min(dims, default=1) < 0:
            raise ValueError(f"its element type is number {code}, its shape {list(dims)}")
        dtype = np.dtype(DTYPES[code])
        data = np.frombuffer(self.take(math.prod(dims) * dtype.itemsize), dtype)
        if code == BFLOAT16:
            data = (data.astype(np.uint32) << 16).view(np.float32)
        return data.reshape(dims)

    def _version(self) -> None:
        if version := self.number("I"):
            raise ValueError(f"its version is {version}, not 0, before byte {self.at}")


def read_one(path: Path, var: VarDesc) -> Array:
    """The parameter that has the file `path` for itself."""
    return next(iter(read_all(path, [var]).values()))


def read_all(path: Path, parameters: Iterable[VarDesc]) -> Mapping[str, Array]:
    """The parameters of a combined file, which holds all of them in the order of their names."""
    stream = _Stream(read_bytes(path, LIMIT_BYTES))
    result = {}
    for var in sorted(parameters, key=lambda var: var.name):
        begin = stream.at
        try:
            result[var.name] = _fitting(stream.tensor(), var)
        except ValueError as error:
            raise ModelFileError(
                f"parameter '{var.name}' cannot be read: {error}",
                where=f"{path}: byte {begin}",
                hint="the file is damaged, or belongs to another program: copy both again",
            ) from error
    if stream.left:
        raise ModelFileError(
            f"{stream.left} bytes are left after its {len(result)} parameters",
            where=f"{path}: byte {stream.at}",
            hint="the file belongs to another program: copy both again",
        )
    return result


def _fitting(array: Array, var: VarDesc) -> Array:
    """`array` if it has the shape that the program declares."""
    declared = var.dims
    if declared and min(declared) > 0 and math.prod(declared) != array.size:
        raise ValueError(f"its shape is {list(array.shape)}, declared is {list(declared)}")
    return array
