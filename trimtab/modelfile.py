"""The .ttm model file: written here, read here and by the engine (runtime/core/loader.cpp).

docs/model-format.md describes it byte for byte. Little-endian; constants 64-byte aligned, in memory
order, so that the engine, and Python, use the file in place.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import memory, schema
from trimtab.engine import EngineError, engine
from trimtab.errors import ModelFileError, TtmError
from trimtab.memory import Image
from trimtab.program import attributes
from trimtab.program.program import NUMPY_DTYPES, Block, Op, Program, Var

MAGIC = b"trimtab\0"
VERSION = 2
ALIGNMENT = 64
SEAL = struct.Struct("<8sIIQQQ24x")  # the part of the header that no checksum covers
COUNTS = struct.Struct("<QIIIIIII28x")  # the rest of it
TABLES_AT = SEAL.size + COUNTS.size
VAR = struct.Struct("<8iQQIBBBBII")
OP = struct.Struct("<HBBIIIIIII")
ABSENT = 0xFFFFFFFF
FLAG_PLANNED = 1
VAR_FLAG_PACKED, VAR_FLAG_PART = 1, 2
LAYOUTS = ("plain", "nhwc")
_DTYPE_NAMES = {number: name for name, number in schema.DTYPES.items()}
# Logical order of a 4-D tensor's dimensions in memory, and back.
_TO_NHWC, _FROM_NHWC = (0, 2, 3, 1), (0, 3, 1, 2)


class _Tail:
    """Bytes behind the tables: places each piece at its alignment and returns its offset."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.bytes = bytearray()

    def add(self, piece: bytes, alignment: int) -> int:
        self.bytes += bytes(-(self.start + len(self.bytes)) % alignment)
        offset = self.start + len(self.bytes)
        self.bytes += piece
        return offset


def _name_record(name: str) -> bytes:
    text = name.encode()[:65535]
    return struct.pack("<H", len(text)) + text + b"\0"


def _elements(var: Var) -> NDArray[Any]:
    """A constant's elements in memory order."""
    assert var.data is not None
    if var.layout == "nhwc" and not var.packed:
        return np.ascontiguousarray(var.data.transpose(_TO_NHWC))
    return np.ascontiguousarray(var.data)


def _used_vars(program: Program) -> list[Var]:
    used = {v for op in program.ops for v in (*op.inputs, *op.outputs) if v} | {
        *program.inputs,
        *program.outputs,
    }
    used |= {program.vars[name].parent for name in used}
    return [var for var in program.vars.values() if var.name in used]


def encode(program: Program, names: bool = True, consume: bool = False) -> Image:
    """The bytes of a .ttm file, ready for the engine to use in place. `consume` takes each constant
    out of `program`, which is of no use then, so that memory does not hold all of them twice.
    """
    variables = _used_vars(program)
    index = {var.name: i for i, var in enumerate(variables)}
    borders = [index[name] for name in (*program.inputs, *program.outputs)]
    tail = _Tail(
        TABLES_AT + VAR.size * len(variables) + OP.size * len(program.ops) + 4 * len(borders)
    )
    operators = [_encode_op(op, index, tail, names) for op in program.ops]
    name_offsets = [tail.add(_name_record(var.name), 1) if names else 0 for var in variables]
    metadata = json.dumps(
        {"name": program.name if names else "", "target": program.target, "passes": program.passes}
    ).encode()
    metadata_offset = tail.add(metadata, 1)

    tables_bytes = end = _align(tail.start + len(tail.bytes))
    records = []
    constants: list[tuple[int, Var]] = []
    for var, name_offset in zip(variables, name_offsets, strict=True):
        offset = size = 0
        if var.data is not None:
            offset, size = _align(end), var.data.nbytes
            end = offset + max(size, 1)
            constants.append((offset, var))
        dims = (*var.shape, *[0] * (8 - len(var.shape)))
        flags = VAR_FLAG_PACKED * var.packed | VAR_FLAG_PART * bool(var.parent)
        records.append(
            VAR.pack(
                *dims,
                offset,
                size,
                name_offset,
                schema.DTYPES[var.dtype],
                LAYOUTS.index(var.layout),
                len(var.shape),
                flags,
                index[var.parent] if var.parent else 0,
                var.channel,
            )
        )
    counts = COUNTS.pack(
        schema.schema_hash(),
        FLAG_PLANNED if program.planned else 0,
        len(variables),
        len(program.ops),
        len(program.inputs),
        len(program.outputs),
        metadata_offset,
        len(metadata),
    )
    border_list = struct.pack(f"<{len(borders)}I", *borders)
    tables = b"".join([counts, *records, *operators, border_list, bytes(tail.bytes)])
    image = memory.new_image(_align(end))
    image[SEAL.size : SEAL.size + len(tables)] = np.frombuffer(tables, np.uint8)
    for offset, var in constants:
        elements = _elements(var)
        image[offset : offset + elements.nbytes] = elements.reshape(-1).view(np.uint8)
        if consume:
            var.data = None
    seal(image, tables_bytes)
    return image


def seal(image: Image, tables_bytes: int) -> None:
    """Writes the part of the header that the checksums do not cover, and them."""
    checksum = engine().checksum
    sums = checksum(image[SEAL.size : tables_bytes]), checksum(image[tables_bytes:])
    parts = SEAL.pack(MAGIC, VERSION, tables_bytes, image.size, *sums)
    image[: SEAL.size] = np.frombuffer(parts, np.uint8)


def _encode_op(op: Op, index: dict[str, int], tail: _Tail, names: bool) -> bytes:
    operands = [index[i] if i else ABSENT for i in op.inputs] + [index[o] for o in op.outputs]
    operands_offset = tail.add(struct.pack(f"<{len(operands)}I", *operands), 4)
    block = attributes.encode(op.schema, op.attributes)
    attributes_offset = tail.add(block, 8)
    name_offset = tail.add(_name_record(op.name), 1) if names else 0
    return OP.pack(
        op.schema.id,
        len(op.inputs),
        len(op.outputs),
        operands_offset,
        attributes_offset,
        len(block),
        name_offset,
        op.schema.schema_hash,
        0,
        0,
    )


def _align(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def write(program: Program, path: Path, names: bool = True) -> None:
    """Writes `program` to `path`, whole or not at all; ModelFileError when the place cannot be
    written.
    """
    image = encode(program, names)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(image.data)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as e:
        raise ModelFileError(
            f"cannot write the model: {e.strerror}",
            where=str(path),
            hint="check the folder and its free space",
        ) from None


def sniff(path: Path) -> bool:
    """True when the file starts as a .ttm file does."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read(path: Path) -> Program:
    """The program in a .ttm file, which is mapped; its block is decoded when it is asked for.

    TtmError when the file is damaged, of another version or of another schema.
    """
    try:
        image = memory.map_file(path)
    except OSError as e:
        raise ModelFileError(f"cannot read the model: {e.strerror}", where=str(path)) from None
    with _explained(str(path)):
        engine().check_model(image)
    return decode(image, path.stem, str(path))


def decode(image: Image, name: str, where: str = "") -> Program:
    """The program in the bytes of a .ttm file, which nobody changes any more. `name` is for one
    that was written without names, `where` for messages.
    """
    with _explained(where):
        tables = _Tables(image)
        metadata = json.loads(tables.metadata)
        program = Program(metadata["name"] or name)
        program.passes = list(metadata["passes"])
        program.target = str(metadata["target"]) if tables.flags & FLAG_PLANNED else ""
        program.inputs, program.outputs = (
            [_name_of_var(tables.data, i) for i in border] for border in tables.borders
        )

    def block() -> Block:
        with _explained(where):
            return _decode_block(tables)

    program.read_from(image, block)
    return program


@contextlib.contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turns what a damaged file leads to into a TtmError."""
    try:
        yield
    except EngineError as e:
        raise TtmError(
            e.args[1], where=where, hint="convert the model again with this trimtab"
        ) from None
    except (struct.error, IndexError, KeyError, TypeError, ValueError) as e:
        raise TtmError(
            f"the tables make no sense: {e}", where=where, hint="convert the model again"
        ) from None


class _Tables:
    """The header and tables of an image that the engine has checked."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.data = image[: SEAL.unpack_from(image.data)[2]].tobytes()
        counts = COUNTS.unpack_from(self.data, SEAL.size)
        _, self.flags, self.var_count, self.op_count, inputs, outputs, at, size = counts
        self.metadata = self.data[at : at + size]
        self.ops_at = TABLES_AT + VAR.size * self.var_count
        borders_at = self.ops_at + OP.size * self.op_count
        borders = struct.unpack_from(f"<{inputs + outputs}I", self.data, borders_at)
        self.borders = borders[:inputs], borders[inputs:]


def _decode_block(tables: _Tables) -> Block:
    data, image, ops_at = tables.data, tables.image, tables.ops_at
    block = Block()
    variables = [_decode_var(data, image, i) for i in range(tables.var_count)]
    for var, parent in zip(variables, _decode_parents(data, tables.var_count), strict=True):
        var.parent = "" if parent is None else variables[parent].name
    block.vars = {var.name: var for var in variables}
    types = {op.id: op for op in schema.operators().values()}
    for i in range(tables.op_count):
        record = OP.unpack_from(data, ops_at + i * OP.size)
        op_id, ins, outs, operands_at, block_at, block_bytes, name_at, written_with = record[:8]
        op_schema = types.get(op_id)
        if op_schema is None or op_schema.schema_hash != written_with:
            what = op_schema.name if op_schema else f"of id {op_id}"
            raise ValueError(f"operator {what} was written with another schema")
        operands = struct.unpack_from(f"<{ins + outs}I", data, operands_at)
        names = ["" if v == ABSENT else variables[v].name for v in operands]
        values = attributes.decode(op_schema, data[block_at : block_at + block_bytes])
        block.ops.append(
            Op(
                op_schema.name,
                names[:ins],
                names[ins:],
                values,
                _decode_name(data, name_at) or f"op{i}",
            )
        )
    return block


def _decode_var(data: bytes, image: Image, index: int) -> Var:
    record = VAR.unpack_from(data, TABLES_AT + index * VAR.size)
    shape_of, (offset, size, _, dtype, layout, rank, flags, _, channel) = (
        record[:8],
        record[8:],
    )
    shape, packed = tuple(shape_of[:rank]), bool(flags & VAR_FLAG_PACKED)
    var = Var(
        _name_of_var(data, index),
        shape,
        _DTYPE_NAMES[dtype],
        LAYOUTS[layout],
        packed=packed,
        channel=channel,
    )
    if offset:
        elements = np.frombuffer(
            image,
            NUMPY_DTYPES[var.dtype],
            count=size // np.dtype(NUMPY_DTYPES[var.dtype]).itemsize,
            offset=offset,
        )
        if packed:
            var.data = elements
        elif layout == LAYOUTS.index("nhwc"):
            var.data = elements.reshape([shape[i] for i in _TO_NHWC]).transpose(_FROM_NHWC)
        else:
            var.data = elements[: math.prod(shape)].reshape(shape)
    return var


def _decode_parents(data: bytes, var_count: int) -> Iterator[int | None]:
    for record in VAR.iter_unpack(data[TABLES_AT : TABLES_AT + VAR.size * var_count]):
        yield record[-2] if record[-3] & VAR_FLAG_PART else None


def _name_of_var(data: bytes, index: int) -> str:
    name_at = VAR.unpack_from(data, TABLES_AT + index * VAR.size)[10]
    return _decode_name(data, name_at) or f"v{index}"


def _decode_name(data: bytes, offset: int) -> str:
    if offset == 0:
        return ""
    (length,) = struct.unpack_from("<H", data, offset)
    return data[offset + 2 : offset + 2 + length].decode(errors="replace")
