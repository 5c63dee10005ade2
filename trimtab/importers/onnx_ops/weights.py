"""Reads the large weights of an ONNX file straight into arrays.

The protobuf library would hold them three times: as the file's bytes, in its message, and as the
bytes that the message returns. Here the file is split: the library parses everything else.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper

from trimtab.importers._graph import Array

# Field numbers of onnx.proto.
_GRAPH, _INITIALIZER = 7, 5
_DATA_TYPE, _RAW_DATA = 2, 9
_OF_PLAIN_TENSOR = frozenset((1, _DATA_TYPE, 8, _RAW_DATA, 12))  # dims, name, doc_string

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}
_MAX_VARINT_BYTES = 10

_MIN_BYTES = 4096  # smaller weights are not worth a read of their own

# Types whose elements lie in `raw_data` as numpy has them.
_TYPES: dict[int, np.dtype[Any]] = {
    number: np.dtype(helper.tensor_dtype_to_np_dtype(number))
    for number in (
        *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16),
        *(TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64),
    )
}


@dataclass(frozen=True)
class SplitModel:
    """A file without its large weights. `proto`: the bytes of a ModelProto whose initializers of
    the indices `weights` lack their elements; `weights`: those, flat.
    """

    proto: bytes
    weights: Mapping[int, Array]


class _Irregular(Exception):  # noqa: N818
    """The file is damaged, or has a form that only the library reads."""


class _Field(NamedTuple):
    """A field of a message: `start`: the position of its tag, `content` to `end`: its value, which
    is `number` for a varint.
    """

    id: int
    wire_type: int
    start: int
    content: int
    end: int
    number: int = 0


def split(path: Path) -> SplitModel | None:
    """Splits a file; None if it has no large weights, is damaged, or is irregular, so that the
    library should read all of it. OSError if it cannot be read.
    """
    if sys.byteorder != "little":
        return None
    try:
        with path.open("rb") as file, _mapped(file) as content:
            return _Splitter(file, content).run()
    except _Irregular:
        return None


@contextmanager
def _mapped(file: BufferedReader) -> Iterator[mmap.mmap]:
    """The content of a file for random access, without a copy."""
    try:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # it is empty
        raise _Irregular from None
    with content:
        yield content


class _Splitter:
    def __init__(self, file: BufferedReader, content: mmap.mmap) -> None:
        self._file, self._content = file, content
        self._count = 0  # initializers so far
        self._weights: dict[int, Array] = {}

    def run(self) -> SplitModel | None:
        pieces = []
        for field in self._fields(0, len(self._content)):
            is_graph = field.id == _GRAPH and field.wire_type == _BYTES
            pieces.append(self._graph(field) if is_graph else self._bytes(field.start, field.end))
        return SplitModel(b"".join(pieces), self._weights) if self._weights else None

    def _graph(self, graph: _Field) -> bytes:
        pieces, copied = [], graph.content
        for field in self._fields(graph.content, graph.end):
            if field.id != _INITIALIZER or field.wire_type != _BYTES:
                continue
            if field.end - field.content >= _MIN_BYTES and (stripped := self._tensor(field)):
                pieces += [self._bytes(copied, field.start), _message(_INITIALIZER, stripped)]
                copied = field.end
            self._count += 1
        pieces.append(self._bytes(copied, graph.end))
        return _message(_GRAPH, b"".join(pieces))

    def _tensor(self, tensor: _Field) -> bytes:
        """A tensor without its elements, which become weights; empty if it has another form."""
        fields = [*self._fields(tensor.content, tensor.end)]
        raw = [field for field in fields if field.id == _RAW_DATA and field.wire_type == _BYTES]
        types = [field.number for field in fields if field.id == _DATA_TYPE]
        is_plain = _OF_PLAIN_TENSOR.issuperset(field.id for field in fields)
        if not is_plain or len(raw) != 1 or len(types) != 1 or types[0] not in _TYPES:
            return b""
        elements, size = _TYPES[types[0]], raw[0].end - raw[0].content
        if size < _MIN_BYTES or size % elements.itemsize:
            return b""
        data = np.empty(size // elements.itemsize, elements)
        self._file.seek(raw[0].content)
        if self._file.readinto(data.view(np.uint8).data) != size:
            raise _Irregular
        self._weights[self._count] = data
        return b"".join(self._bytes(field.start, field.end) for field in fields if field != raw[0])

    def _fields(self, start: int, end: int) -> Iterator[_Field]:
        while start < end:
            tag, content = self._varint(start)
            number, wire_type = 0, tag & 7
            if wire_type == _VARINT:
                number, stop = self._varint(content)
            elif wire_type == _BYTES:
                length, content = self._varint(content)
                stop = content + length
            elif wire_type in _FIXED_BYTES:
                stop = content + _FIXED_BYTES[wire_type]
            else:
                raise _Irregular
            if stop > end:
                raise _Irregular
            yield _Field(tag >> 3, wire_type, start, content, stop, number)
            start = stop

    def _varint(self, at: int) -> tuple[int, int]:
        """A number, and the position after it."""
        value = 0
        for position, byte in enumerate(self._content[at : at + _MAX_VARINT_BYTES]):
            value |= (byte & 0x7F) << 7 * position
            if byte < 0x80:
                return value, at + position + 1
        raise _Irregular

    def _bytes(self, start: int, end: int) -> bytes:
        return self._content[start:end]


def _message(id: int, content: bytes) -> bytes:
    """A field that is a message."""
    return bytes([id << 3 | _BYTES]) + _encoded(len(content)) + content


def _encoded(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
