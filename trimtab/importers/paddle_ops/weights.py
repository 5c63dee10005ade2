"""Paddle's parameters: serialized tensors, one per file, or all in one file sorted by name.

A tensor is serialized as: uint32 version; uint64 number of levels of detail, each a uint64 size in
bytes and its offsets; uint32 version of the tensor; int32 size of a TensorDesc message and that
message; the elements.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from trimtab.errors import ModelFileError
from trimtab.importers._files import companion, read_bytes
from trimtab.importers._graph import Array
from trimtab.importers.paddle_ops.framework import (
    BFLOAT16,
    DTYPES,
    LOD_TENSOR,
    ProgramDesc,
    VarDesc,
    read,
    read_tensor,
    type_name,
)

LIMIT_BYTES = 2**32  # of a file of parameters

# The usual names of files with all parameters.
_COMBINED = ("__params__", "params", "weights")


class _Stream:
    """A reader of bytes; ValueError if they are too few."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self.position = 0

    @property
    def remaining(self) -> int:
        """Number of remaining bytes."""
        return len(self._data) - self.position

    def take(self, size: int) -> memoryview:
        """The next `size` bytes."""
        if not 0 <= size <= self.remaining:
            raise ValueError(
                f"{size} bytes are announced at byte {self.position}, {self.remaining} remain"
            )
        self.position += size
        return self._data[self.position - size : self.position]

    def number(self, code: str) -> int:
        """The next number, by its struct code."""
        return int(struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0])

    def tensor(self) -> Array:
        """The next tensor."""
        self._version()
        levels = self.number("Q")
        if levels * 8 > self.remaining:
            raise ValueError(f"{levels} levels of detail are more than the file can hold")
        for _ in range(levels):
            self.take(self.number("Q"))
        self._version()
        code, dims = read_tensor(bytes(self.take(self.number("i"))))
        if code not in DTYPES or min(dims, default=1) < 0:
            raise ValueError(f"its element type is {type_name(code)}, its shape {list(dims)}")
        dtype = np.dtype(DTYPES[code])
        data = np.frombuffer(self.take(math.prod(dims) * dtype.itemsize), dtype)
        if code == BFLOAT16:
            data = (data.astype(np.uint32) << 16).view(np.float32)
        return data.reshape(dims)

    def _version(self) -> None:
        if version := self.number("I"):
            raise ValueError(f"its version is {version}, not 0, before byte {self.position}")


def parameters(path: Path, model: Path, desc: ProgramDesc) -> Mapping[str, Array]:
    """The parameters that the operators of the program `model` read; the user gave `path`."""
    needed = _needed(desc)
    if combined := _named_file(path, model) or _combined_file(model, needed):
        # A combined file also has parameters that no operator reads.
        return read_all(combined, _declared(desc))
    files = {var.name: _parameter_file(model, var) for var in needed}
    if missing := [name for name, file in files.items() if not file.is_file()]:
        raise ModelFileError(
            f"the files of {len(missing)} parameters are missing, such as '{missing[0]}'",
            where=str(model.parent),
            hint="put the files of all parameters beside the program, or the file with all of them"
            f" under the name {model.stem}.pdiparams or __params__",
        )
    return {var.name: read_one(files[var.name], var) for var in needed}


def files(path: Path, model: Path) -> list[Path]:
    """The existing files that `parameters` reads."""
    if named := _named_file(path, model):
        return [named]
    needed = _needed(read(model))
    if combined := _combined_file(model, needed):
        return [combined]
    return [file for var in needed if (file := _parameter_file(model, var)).is_file()]


def _declared(desc: ProgramDesc) -> list[VarDesc]:
    return [v for v in desc.vars.values() if v.persistable and v.type == LOD_TENSOR]


def _needed(desc: ProgramDesc) -> list[VarDesc]:
    """The parameters that operators read."""
    names = {name for op in desc.ops for names in op.inputs.values() for name in names}
    return [var for var in _declared(desc) if var.name in names]


def _parameter_file(model: Path, var: VarDesc) -> Path:
    """The file of one parameter; its name comes from the program and must stay in the folder."""
    relative = Path(var.name)
    if relative.is_absolute() or ".." in relative.parts or "\0" in var.name:
        raise ModelFileError(
            f"'{var.name}' is not a valid name for the file of a parameter",
            where=str(model),
            hint="check where the file is from",
        )
    return model.parent / relative


def _named_file(path: Path, model: Path) -> Path | None:
    """The file with all parameters, if a name tells it."""
    if path.name == "__params__" or path.suffix == ".pdiparams":
        return path
    if model.suffix == ".pdmodel":
        return companion(model, ".pdiparams", lambda _: True)
    return None


def _combined_file(model: Path, needed: Sequence[VarDesc]) -> Path | None:
    """The file with all parameters, if the parameters do not have files of their own."""
    if (
        model.suffix == ".pdmodel"
        or not needed
        or all(_parameter_file(model, var).is_file() for var in needed)
    ):
        return None
    for name in _COMBINED:
        if (model.parent / name).is_file():
            return model.parent / name
    if combined := companion(model, ".pdiparams", lambda _: True):
        return combined
    if _parameter_file(model, needed[0]).is_file():
        return None
    others = [p for p in sorted(model.parent.iterdir()) if p.is_file() and p != model]
    return others[0] if len(others) == 1 else None


def read_one(path: Path, var: VarDesc) -> Array:
    """The parameter in the file `path`."""
    return next(iter(read_all(path, [var]).values()))


def read_all(path: Path, parameters: Iterable[VarDesc]) -> Mapping[str, Array]:
    """The parameters of a combined file, which has them in the order of their names."""
    stream = _Stream(read_bytes(path, LIMIT_BYTES))
    result = {}
    for var in sorted(parameters, key=lambda var: var.name):
        begin = stream.position
        try:
            result[var.name] = _checked(stream.tensor(), var)
        except ValueError as error:
            raise ModelFileError(
                f"parameter '{var.name}' cannot be read: {error}",
                where=f"{path}: byte {begin}",
                hint="the file is damaged, or belongs to another program: copy both again",
            ) from error
    if stream.remaining:
        raise ModelFileError(
            f"{stream.remaining} bytes remain after its {len(result)} parameters",
            where=f"{path}: byte {stream.position}",
            hint="the file belongs to another program: copy both again",
        )
    return result


def _checked(array: Array, var: VarDesc) -> Array:
    """`array`; ValueError if the program declares another number of elements."""
    declared = var.dims
    if declared and min(declared) > 0 and math.prod(declared) != array.size:
        raise ValueError(f"its shape is {list(array.shape)}, the program has {list(declared)}")
    return array
