"""Writes .ttm files."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab import files, schema
from trimtab.engine import engine
from trimtab.errors import ModelFileError
from trimtab.modelfile.image import Image, new_image
from trimtab.modelfile.records import (
    ABSENT,
    ALIGNMENT,
    COUNTS,
    FLAG_PLANNED,
    LAYOUTS,
    MAGIC,
    OP,
    PER_TENSOR,
    QUANTIZATION,
    SEAL,
    TABLES_AT,
    TO_NHWC,
    VAR,
    VAR_FLAG_PACKED,
    VAR_FLAG_PART,
    VERSION,
)
from trimtab.program import attributes
from trimtab.program.program import Op, Program, Var
from trimtab.program.quantization import Quantization


class _Tail:
    """Bytes behind the tables: places each piece at its alignment, equal ones once, and returns its
    offset.
    """

    def __init__(self, start: int) -> None:
        self.start = start
        self.bytes = bytearray()
        self._known: dict[tuple[bytes, int], int] = {}

    def add(self, piece: bytes, alignment: int) -> int:
        if (piece, alignment) not in self._known:
            self._known[piece, alignment] = self._append(piece, alignment)
        return self._known[piece, alignment]

    def _append(self, piece: bytes, alignment: int) -> int:
        self.bytes += bytes(-(self.start + len(self.bytes)) % alignment)
        offset = self.start + len(self.bytes)
        self.bytes += piece
        return offset


def _name_record(name: str) -> bytes:
    text = name.encode()[:65535]
    return struct.pack("<H", len(text)) + text + b"\0"


def _bytes(var: Var) -> NDArray[np.uint8]:
    """A constant's elements in memory order."""
    assert var.data is not None
    nhwc = var.layout == "nhwc" and not var.packed
    data = var.data.transpose(TO_NHWC) if nhwc else var.data
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


class _Constants:
    """Places of constants from `start` on; those of equal bytes share one."""

    def __init__(self, start: int) -> None:
        self.end = start
        self.placed: list[tuple[int, Var]] = []
        self._known: dict[tuple[int, int], list[tuple[int, Var]]] = {}

    def add(self, var: Var) -> int:
        data = _bytes(var)
        alike = self._known.setdefault((data.size, zlib.crc32(data.data)), [])
        for offset, other in alike:
            if np.array_equal(_bytes(other), data):
                return offset
        offset = _align(self.end)
        self.end = offset + max(data.size, 1)
        self.placed.append((offset, var))
        alike.append((offset, var))
        return offset


def _used_vars(program: Program) -> list[Var]:
    used = {v for op in program.ops for v in (*op.inputs, *op.outputs) if v} | {
        *program.inputs,
        *program.outputs,
    }
    used |= {program.vars[name].parent for name in used}
    return [var for var in program.vars.values() if var.name in used]


def _in_order_of_use(program: Program, variables: list[Var]) -> list[Var]:
    """Constants: those that inferences read, then those that only preparing reads, whose pages can
    be dropped then and are not brought back by what lies between them.
    """
    read = {name for op in program.steps for name in op.inputs}
    constants = [var for var in variables if var.data is not None]
    return sorted(constants, key=lambda var: var.name not in read)


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
    quantizations = _encode_quantizations(variables, tail)
    name_offsets = [tail.add(_name_record(var.name), 1) if names else 0 for var in variables]
    about = {"target": program.target, "passes": program.passes}
    threads = {"threads": program.threads} if program.threads > 1 else {}
    metadata = json.dumps({"name": program.name if names else "", **about, **threads}).encode()
    metadata_offset = tail.add(metadata, 1)

    tables_bytes = _align(tail.start + len(tail.bytes))
    constants = _Constants(tables_bytes)
    places = {var.name: constants.add(var) for var in _in_order_of_use(program, variables)}
    records = []
    for var, name_offset in zip(variables, name_offsets, strict=True):
        offset, size = places.get(var.name, 0), 0 if var.data is None else var.data.nbytes
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
                quantizations.get(var.quantization, 0),
                0,
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
    image = new_image(_align(constants.end))
    image[SEAL.size : SEAL.size + len(tables)] = np.frombuffer(tables, np.uint8)
    for offset, var in constants.placed:
        elements = _bytes(var)
        image[offset : offset + elements.size] = elements
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


def _encode_quantizations(variables: list[Var], tail: _Tail) -> dict[Quantization | None, int]:
    """Writes each quantization once and returns its offset; variables may share one."""
    offsets: dict[Quantization | None, int] = {}
    for var in variables:
        var.check()
        q = var.quantization
        if q is not None and q not in offsets:
            count = len(q.scale)
            head = QUANTIZATION.pack(PER_TENSOR if q.axis is None else q.axis, count)
            numbers = struct.pack(f"<{count}f{count}i", *q.scale, *q.zero_point)
            offsets[q] = tail.add(head + numbers, 4)
    return offsets


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
    files.write_bytes(path, encode(program, names).data, error=ModelFileError)
