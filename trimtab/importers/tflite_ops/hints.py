"""The metadata of TFLite files as hints: the normalization of the first input, and the files of a
ZIP archive behind the model: labels, or the metadata of Ultralytics.

https://ai.google.dev/edge/litert/models/metadata has the schema, whose fields are counted here.
"""

from __future__ import annotations

import io
import struct
import zipfile
from typing import Any

import flatbuffers
import numpy as np
import tflite
from flatbuffers import number_types
from flatbuffers.table import Table

from trimtab.importers.beside import ultralytics
from trimtab.program import ModelHints

_LIMIT_BYTES, _FILES = 1 << 20, 16
_NORMALIZATION = 1  # of ProcessUnitOptions
_SUBGRAPHS, _INPUTS, _UNITS, _TYPE, _OPTIONS, _MEAN, _STD = 3, 2, 4, 0, 1, 0, 1


def read(data: bytes, *, channels_last: bool = True) -> ModelHints:
    """The hints of a file; none if it has no metadata, or malformed ones. `channels_last`: of its
    input.
    """
    try:
        camera = _camera(data)
    except (struct.error, IndexError, TypeError, ValueError, OverflowError):
        camera = ""
    labels: tuple[str, ...] = ()
    for text in _texts(data):
        if metadata := ultralytics.parsed(text):
            return ultralytics.of_tflite(metadata, channels_last=channels_last)
        labels = labels or tuple(line.strip() for line in text.splitlines() if line.strip())
    return ModelHints(labels, camera)


def _texts(data: bytes) -> list[str]:
    """The text files of the archive, and Ultralytics' metadata.json."""
    if b"PK\x05\x06" not in data[-(1 << 17) :]:
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [
                archive.read(entry).decode()
                for entry in archive.infolist()[:_FILES]
                if entry.filename.endswith((".txt", "metadata.json"))
                and entry.file_size <= _LIMIT_BYTES
            ]
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, NotImplementedError, EOFError):
        return []


def _camera(data: bytes) -> str:
    """The steps of a picture whose values are (v - mean) / std."""
    model = tflite.Model.GetRootAs(data, 0)
    for i in range(min(model.MetadataLength(), 64)):
        entry = model.Metadata(i)
        if entry.Name() != b"TFLITE_METADATA" or not 0 <= entry.Buffer() < model.BuffersLength():
            continue
        content = model.Buffers(entry.Buffer()).DataAsNumpy()
        root = _FlatTable.root(np.asarray(content, np.uint8).tobytes())
        for subgraph in root.rows(_SUBGRAPHS)[:1]:
            for tensor in subgraph.rows(_INPUTS)[:1]:
                for unit in tensor.rows(_UNITS):
                    if unit.byte(_TYPE) == _NORMALIZATION:
                        return _steps(unit.row(_OPTIONS))
    return ""


def _steps(options: _FlatTable) -> str:
    mean, std = (", ".join(f"{v:g}" for v in options.floats(field)) for field in (_MEAN, _STD))
    return f"resize(auto) | rgb | mean({mean}) | std({std})" if mean and std else ""


class _FlatTable:
    """A table of a flatbuffer without a generated class; fields are counted from 0."""

    def __init__(self, data: bytes, position: int) -> None:
        self._table = Table(data, position)

    @staticmethod
    def root(data: bytes) -> _FlatTable:
        return _FlatTable(data, flatbuffers.encode.Get(flatbuffers.packer.uoffset, data, 0))

    def _at(self, field: int) -> int:
        offset = self._table.Offset(4 + 2 * field)
        return int(self._table.Pos + offset) if offset else 0

    def byte(self, field: int) -> int:
        at = self._at(field)
        return int(self._table.Get(number_types.Uint8Flags, at)) if at else 0

    def row(self, field: int) -> _FlatTable:
        at = self._at(field)
        if not at:
            raise ValueError("a field is missing")
        return _FlatTable(self._table.Bytes, self._table.Indirect(at))

    def _vector(self, field: int) -> tuple[int, int]:
        """The first element and the number of elements."""
        if not self._at(field):
            return 0, 0
        offset: Any = self._table.Offset(4 + 2 * field)
        count = self._table.VectorLen(offset)
        if not 0 <= count <= _LIMIT_BYTES:
            raise ValueError("a vector is too long")
        return self._table.Vector(offset), count

    def rows(self, field: int) -> list[_FlatTable]:
        start, count = self._vector(field)
        return [
            _FlatTable(self._table.Bytes, self._table.Indirect(start + 4 * i))
            for i in range(min(count, 16))
        ]

    def floats(self, field: int) -> list[float]:
        start, count = self._vector(field)
        read = self._table.Get
        return [float(read(number_types.Float32Flags, start + 4 * i)) for i in range(min(count, 3))]
