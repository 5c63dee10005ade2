"""Weights as .pnnx.bin files: a zip archive of stored entries, named operator.attribute."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np

from trimtab.importers._files import WeightsFile, unreadable
from trimtab.importers._graph import Array, UnsupportedFormError
from trimtab.importers.pnnx_ops.graph import OperatorText

# Element types of files: how they are stored, and what the engine gets.
_DTYPES = {
    "f32": ("<f4", "f4"),
    "f64": ("<f8", "f4"),
    "f16": ("<f2", "f4"),
    "i32": ("<i4", "i4"),
    "i64": ("<i8", "i8"),
    "i16": ("<i2", "i4"),
    "i8": ("i1", "i1"),
    "u8": ("u1", "u1"),
    "bool": ("?", "?"),
}


class PnnxWeights(WeightsFile):
    """The archive; none without a file."""

    text, suffix = ".pnnx.param", ".pnnx.bin"

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self._left = 0
        self._archive: zipfile.ZipFile | None = None
        if path is None:
            return
        try:
            self._left = path.stat().st_size
            self._archive = zipfile.ZipFile(path)
        except OSError as error:
            raise unreadable(path, error) from error
        except Exception as error:
            # What a damaged archive makes zipfile raise is not written down anywhere.
            raise self.damaged(str(error)) from error

    def read(self, operator: OperatorText, name: str) -> Array:
        """An attribute of an operator, which must be as large as its shape says."""
        text = operator.attributes[name]
        shape = tuple(size or 0 for size in text.shape)
        if text.dtype not in _DTYPES:
            raise UnsupportedFormError(f"its {name} has elements of type {text.dtype}")
        stored, wanted = _DTYPES[text.dtype]
        size = math.prod(shape) * np.dtype(stored).itemsize
        data = self._entry(f"{operator.name}.{name}", size, operator.where)
        return np.frombuffer(data, stored).reshape(shape).astype(wanted)

    def _entry(self, name: str, size: int, where: str) -> bytes:
        if self._archive is None:
            raise self.missing(where)
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            raise self.damaged(f"there is no entry {name}") from None
        if info.file_size != size or size > self._left:
            raise self.damaged(f"entry {name} has {info.file_size} bytes, {size} are expected")
        if info.compress_type != zipfile.ZIP_STORED:
            raise self.damaged(f"entry {name} is compressed")
        self._left -= size
        try:
            data = self._archive.read(info)
        except Exception as error:
            raise self.damaged(f"entry {name}: {error}") from error
        if len(data) != size:
            raise self.damaged(f"entry {name} ends after {len(data)} of {size} bytes")
        return data

    def close(self) -> None:
        """Closes the file."""
        if self._archive:
            self._archive.close()
