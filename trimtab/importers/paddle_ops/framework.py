"""Paddle's ProgramDesc of framework.proto: blocks of operators and variables.

The schema declares only the fields that inference needs. Strings are declared as bytes, which have
the same encoding, because call stacks in attributes need not be UTF-8; enumerations are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from trimtab.errors import ModelFileError
from trimtab.importers._files import read_bytes
from trimtab.importers._protobuf import message_class, parsed

LIMIT_BYTES = 2**27  # of a program; large detectors have a megabyte

_HINT = "give the file that save_inference_model or jit.save wrote, or copy it again"

LOD_TENSOR = 7  # VarType.Type of an ordinary tensor

# numpy's names of element types by VarType.Type; bfloat16 is read as 16-bit integers.
BFLOAT16 = 22
DTYPES = {
    0: "?",
    1: "<i2",
    2: "<i4",
    3: "<i8",
    4: "<f2",
    5: "<f4",
    6: "<f8",
    20: "u1",
    21: "i1",
    BFLOAT16: "<u2",
}
_OTHERS = {BFLOAT16: "bfloat16", 23: "complex64", 24: "complex128"}

# Types of Scalar: 1 boolean, 2 long, 3 double.
_SCHEMA = {
    "Scalar": "int32 type = 1; bool b = 2; int64 i = 3; double r = 4",
    "Attr": (
        "bytes name = 1; int32 type = 2; int32 i = 3; float f = 4; bytes s = 5; int32* ints = 6;"
        "float* floats = 7; bytes* strings = 8; bool b = 10; bool* bools = 11; int64 l = 13;"
        "int64* longs = 15; double* float64s = 16; bytes var_name = 17; bytes* vars_name = 18;"
        "double float64 = 19; Scalar scalar = 20; Scalar* scalars = 21"
    ),
    "Slot": "bytes parameter = 1; bytes* arguments = 2",
    "Op": "Slot* inputs = 1; Slot* outputs = 2; bytes type = 3; Attr* attrs = 4",
    "Tensor": "int32 data_type = 1; int64* dims = 2",
    "LoDTensor": "Tensor tensor = 1",
    "VarType": "int32 type = 1; LoDTensor lod_tensor = 3",
    "Var": "bytes name = 1; VarType type = 2; bool persistable = 3",
    "Block": "Var* vars = 3; Op* ops = 4",
    "Program": "Block* blocks = 1",
}

# The field of Attr with the value, by AttrType.
_FIELDS = {
    **dict(enumerate(("i", "f", "s", "ints", "floats", "strings", "b", "bools"))),
    9: "l",
    11: "longs",
    12: "float64s",
    15: "float64",
}
_VAR, _VARS, _SCALAR, _SCALARS = 13, 14, 16, 17


def type_name(number: int) -> str:
    """The name of an element type, for messages."""
    name = np.dtype(DTYPES[number]).name if number in DTYPES else f"number {number}"
    return _OTHERS.get(number, name)


@dataclass(frozen=True)
class VarNames:
    """An attribute whose value is in variables."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class VarDesc:
    """A variable; `dims` is empty if it is not declared, -1 is a free dimension."""

    name: str
    persistable: bool
    type: int
    dtype: int
    dims: tuple[int, ...]


@dataclass(frozen=True)
class OpDesc:
    """An operator: operands by slot, attributes by name."""

    type: str
    inputs: Mapping[str, Sequence[str]]
    outputs: Mapping[str, Sequence[str]]
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class ProgramDesc:
    """The operators of the first block and the variables of all blocks."""

    ops: Sequence[OpDesc]
    vars: Mapping[str, VarDesc]


@cache
def _class(name: str) -> Any:
    return message_class("paddle", _SCHEMA, name)


def read(path: Path) -> ProgramDesc:
    """The program at `path`; ModelFileError if it is not a Paddle program."""
    data = read_bytes(path, LIMIT_BYTES)
    message = parsed(_class("Program")(), data, path, "a Paddle program", _HINT)
    if not message.blocks or not message.blocks[0].ops:
        raise _damaged(path, "is not a Paddle program, or is truncated: it has no operators")
    ops = [_op(op) for op in message.blocks[0].ops]
    if not all(op.type for op in ops):
        raise _damaged(path, "is not a Paddle program: it has operators without a type")
    variables = [_var(var) for block in message.blocks for var in block.vars]
    return ProgramDesc(ops, {var.name: var for var in reversed(variables)})


def read_tensor(data: bytes) -> tuple[int, tuple[int, ...]]:
    """Element type and dimensions of a serialized TensorDesc; ValueError if it is damaged."""
    message: Any = _class("Tensor")()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise ValueError("its description is damaged") from error
    return int(message.data_type), tuple(int(n) for n in message.dims)


def _damaged(path: Path, what: str) -> ModelFileError:
    return ModelFileError(what, where=str(path), hint=_HINT)


def _text(value: bytes) -> str:
    return value.decode("utf-8", errors="replace")


def _slots(slots: Any) -> dict[str, tuple[str, ...]]:
    return {_text(slot.parameter): tuple(map(_text, slot.arguments)) for slot in slots}


def _op(op: Any) -> OpDesc:
    attributes = {_text(attr.name): _attribute(attr) for attr in op.attrs}
    return OpDesc(_text(op.type), _slots(op.inputs), _slots(op.outputs), attributes)


def _attribute(attr: Any) -> Any:
    """The value of an attribute; None for types that inference does not need."""
    if attr.type in (_VAR, _VARS):
        names = attr.vars_name if attr.type == _VARS else [attr.var_name]
        return VarNames(tuple(map(_text, names)))
    if attr.type == _SCALAR:
        return _scalar(attr.scalar)
    if attr.type == _SCALARS:
        return [_scalar(scalar) for scalar in attr.scalars]
    if attr.type not in _FIELDS:
        return None
    value = getattr(attr, _FIELDS[attr.type])
    if isinstance(value, bytes):
        return _text(value)
    return value if isinstance(value, (int, float)) else list(value)


def _scalar(scalar: Any) -> Any:
    return {1: scalar.b, 2: scalar.i, 3: scalar.r}.get(scalar.type)


def _var(var: Any) -> VarDesc:
    tensor = var.type.lod_tensor.tensor
    return VarDesc(
        _text(var.name),
        bool(var.persistable),
        int(var.type.type),
        int(tensor.data_type),
        tuple(int(n) for n in tensor.dims),
    )
