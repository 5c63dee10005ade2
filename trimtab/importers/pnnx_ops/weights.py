"""The weights of a .pnnx.bin file: a zip archive of stored entries `operator.attribute`."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np

from trimtab.importers._files import WeightsFile, check_regular, unreadable
from trimtab.importers._graph import Array, UnsupportedFormError
from trimtab.importers.pnnx_ops.graph import OperatorText

# Element types of files: the stored type and that of the imported array.
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
    """The archive of weights; without a file, all are missing."""

    text, suffix = ".pnnx.param", ".pnnx.bin"

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self._remaining = 0
        self._archive: zipfile.ZipFile | None = None
        if path is None:
            return
        check_regular(path)
        try:
            self._remaining = path.stat().st_size
            self._archive = zipfile.ZipFile(path)
        except OSError as error:
            raise unreadable(path, error) from error
        except Exception as error:
            # zipfile does not document its exceptions for damaged archives.
            raise self.damaged(str(error)) from error

    def read(self, operator: OperatorText, name: str) -> Array:
        """An attribute of an operator; its size must match its shape."""
        text = operator.attributes[name]
        shape = tuple(size or 0 for size in text.shape)
        if text.dtype not in _DTYPES:
            raise UnsupportedFormError(f"its {name} has elements of type {text.dtype}")
        stored, dtype = _DTYPES[text.dtype]
        size = math.prod(shape) * np.dtype(stored).itemsize
        data = self._entry(f"{operator.name}.{name}", size, operator.where)
        return np.frombuffer(data, stored).reshape(shape).astype(dtype)

    def _entry(self, name: str, size: int, where: str) -> bytes:
        if self._archive is None:
            raise self.missing(where)
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            raise self.damaged(f"there is no entry {name}") from None
        if info.file_size != size or size > self._remaining:
            raise self.damaged(f"entry {name} has {info.file_size} bytes, {size} are expected")
        if info.compress_type != zipfile.ZIP_STORED:
            raise self.damaged(f"entry {name} is compressed")
        self._remaining -= size
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
