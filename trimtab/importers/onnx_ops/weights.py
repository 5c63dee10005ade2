"""Reads the large weights of an ONNX file straight into arrays.

The protobuf library would hold them three times: as the file's bytes, in its message, and as the
bytes that the message returns. Here the file is split: the library parses everything else.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from trimtab.importers._graph import Array
from trimtab.importers._wire import BYTES, Field, IrregularError, fields, mapped

# Field numbers of onnx.proto.
_GRAPH, _INITIALIZER = 7, 5
_DATA_TYPE, _RAW_DATA = 2, 9
_OF_PLAIN_TENSOR = frozenset((1, _DATA_TYPE, 8, _RAW_DATA, 12))  # dims, name, doc_string

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


def split(path: Path) -> SplitModel | None:
    """Splits a file; None if it has no large weights, is damaged, or is irregular, so that the
    library should read all of it. OSError if it cannot be read.
    """
    if sys.byteorder != "little":
        return None
    try:
        with path.open("rb") as file, mapped(file) as content:
            return _Splitter(file, content).run()
    except IrregularError:
        return None


class _Splitter:
    def __init__(self, file: BufferedReader, content: mmap.mmap) -> None:
        self._file, self._content = file, content
        self._count = 0  # initializers so far
        self._weights: dict[int, Array] = {}

    def run(self) -> SplitModel | None:
        pieces = []
        for field in fields(self._content, 0, len(self._content)):
            is_graph = field.id == _GRAPH and field.wire_type == BYTES
            pieces.append(self._graph(field) if is_graph else self._bytes(field.start, field.end))
        return SplitModel(b"".join(pieces), self._weights) if self._weights else None

    def _graph(self, graph: Field) -> bytes:
        pieces, copied = [], graph.content
        for field in fields(self._content, graph.content, graph.end):
            if field.id != _INITIALIZER or field.wire_type != BYTES:
                continue
            if field.end - field.content >= _MIN_BYTES and (stripped := self._tensor(field)):
                pieces += [self._bytes(copied, field.start), _message(_INITIALIZER, stripped)]
                copied = field.end
            self._count += 1
        pieces.append(self._bytes(copied, graph.end))
        return _message(_GRAPH, b"".join(pieces))

    def _tensor(self, tensor: Field) -> bytes:
        """A tensor without its elements, which become weights; empty if it has another form."""
        own = [*fields(self._content, tensor.content, tensor.end)]
        raw = [field for field in own if field.id == _RAW_DATA and field.wire_type == BYTES]
        types = [field.number for field in own if field.id == _DATA_TYPE]
        is_plain = _OF_PLAIN_TENSOR.issuperset(field.id for field in own)
        if not is_plain or len(raw) != 1 or len(types) != 1 or types[0] not in _TYPES:
            return b""
        elements, size = _TYPES[types[0]], raw[0].end - raw[0].content
        if size < _MIN_BYTES or size % elements.itemsize:
            return b""
        data = np.empty(size // elements.itemsize, elements)
        self._file.seek(raw[0].content)
        if self._file.readinto(data.view(np.uint8).data) != size:
            raise IrregularError
        self._weights[self._count] = data
        return b"".join(self._bytes(field.start, field.end) for field in own if field != raw[0])

    def _bytes(self, start: int, end: int) -> bytes:
        return self._content[start:end]


def _message(id: int, content: bytes) -> bytes:
    """A field that is a message."""
    return bytes([id << 3 | BYTES]) + _encoded(len(content)) + content


def _encoded(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
