"""Writes .ttm files; docs/model-format.md describes the layout."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab import files, schema, strict_json
from trimtab.engine import engine
from trimtab.errors import ModelFileError
from trimtab.modelfile.image import Image, new_image
from trimtab.modelfile.packing import pack
from trimtab.modelfile.records import (
    ABSENT,
    ALIGNMENT,
    COUNTS,
    FLAG_PLANNED,
    LAYOUTS,
    MAGIC,
    MAX_RANK,
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
from trimtab.program import attributes, states
from trimtab.program.block import Op, Var
from trimtab.program.program import Program
from trimtab.program.quantization import Quantization


class _Tail:
    """The variable-length data after the tables. Each piece is aligned; equal pieces are stored
    once.
    """

    def __init__(self, start: int) -> None:
        self.start = start
        self.bytes = bytearray()
        self._offsets: dict[tuple[bytes, int], int] = {}

    @property
    def end(self) -> int:
        return self.start + len(self.bytes)

    def add(self, piece: bytes, alignment: int) -> int:
        """Appends a piece unless an equal one exists, and returns its offset."""
        if (piece, alignment) not in self._offsets:
            self.bytes += bytes(-self.end % alignment)
            self._offsets[piece, alignment] = self.end
            self.bytes += piece
        return self._offsets[piece, alignment]

    def add_name(self, name: str) -> int:
        text = name.encode()[:65535]
        return self.add(struct.pack("<H", len(text)) + text + b"\0", 1)


_Key = tuple[int, bytes, bytes]
_SAMPLES = 64


def _key(data: Image) -> _Key:
    """Equal for equal bytes, and seldom for others: the size, the first bytes, and bytes at equal
    distances.
    """
    step = max(data.size // _SAMPLES, 1)
    return data.size, data[:_SAMPLES].tobytes(), data[_SAMPLES - 1 :: step].tobytes()


def _are_equal(image: Image, other: Image) -> bool:
    """Whether bytes are equal; of most that are not, few are read."""
    return all(
        np.array_equal(image[at : at + _COMPARED], other[at : at + _COMPARED])
        for at in range(0, image.size, _COMPARED)
    )


_COMPARED = 1 << 16


class _Constants:
    """The aligned constants from `start` on; constants with equal bytes are stored once."""

    def __init__(self, start: int) -> None:
        self.end = start
        self.placed: list[Var] = []
        self._by_key: dict[_Key, list[tuple[int, Var]]] = {}

    def add(self, var: Var) -> int:
        """Places a constant and returns its offset."""
        data = _bytes(var)
        candidates = self._by_key.setdefault(_key(data), [])
        for offset, other in candidates:
            if _are_equal(_bytes(other), data):
                return offset
        offset = _align(self.end)
        self.end = offset + max(data.size, 1)
        self.placed.append(var)
        candidates.append((offset, var))
        return offset


@dataclass(frozen=True)
class _Layout:
    """The content of a file: its tables after the seal, then its constants, without gaps other than
    those of the alignment.
    """

    tables: bytes
    constants: list[Var]
    tables_bytes: int
    """The size of header and tables, before these are packed."""
    constants_bytes: int

    def packed(self) -> _Layout:
        """The layout with packed tables, unless these take no less."""
        head, tokens = self.tables[: COUNTS.size], pack(self.tables[COUNTS.size :])
        end = _align(TABLES_AT + len(tokens))
        if end >= self.tables_bytes:
            return self
        counts = COUNTS.pack(*COUNTS.unpack(head)[:-1], end)
        return replace(self, tables=(counts + tokens).ljust(end - SEAL.size, b"\0"))

    def pieces(self, *, consume: bool = False) -> Iterator[Image]:
        """All bytes after the seal, in pieces of a multiple of `ALIGNMENT`: the tables, then one
        constant after the other. `consume`: take the constants out of the program.
        """
        yield np.frombuffer(self.tables, np.uint8)
        for var in self.constants:
            data = _bytes(var)
            whole = data.size // ALIGNMENT * ALIGNMENT
            if whole:
                yield data[:whole]
            if whole < max(data.size, 1):
                rest = np.zeros(ALIGNMENT, np.uint8)
                rest[: data.size - whole] = data[whole:]
                yield rest
            if consume:
                var.data = None

    def seal(self) -> bytes:
        """The part of the header without a checksum. Reads all constants."""
        checksum = engine().Checksum()
        for i, piece in enumerate(self.pieces()):
            if i:
                checksum.add(piece)
        return _seal(self.tables, self.tables_bytes, self.constants_bytes, checksum.digest())


class _Encoder:
    """Encodes the tables of a program; `names` is whether the file has names."""

    def __init__(self, program: Program, names: bool) -> None:
        states.check(program)
        self._program, self._names = program, names
        self._vars = _used_vars(program)
        self._index = {var.name: i for i, var in enumerate(self._vars)}
        ends = [self._index[name] for name in (*program.inputs, *program.outputs)]
        self._inputs_and_outputs = struct.pack(f"<{len(ends)}I", *ends)
        tables_bytes = VAR.size * len(self._vars) + OP.size * len(program.ops)
        self._tail = _Tail(TABLES_AT + tables_bytes + len(self._inputs_and_outputs))

    def layout(self) -> _Layout:
        """The tables of the file, and the place of each constant."""
        # The order of the tail is part of the format's determinism: operators first.
        operators = [self._operator(op) for op in self._program.ops]
        quantizations = self._quantizations()
        names = [self._name(var.name) for var in self._vars]
        metadata = self._metadata()
        metadata_at = self._tail.add(metadata, 1)

        constants = _Constants(_align(self._tail.end))
        offsets = {var.name: constants.add(var) for var in self._constants()}
        variables = [
            self._variable(
                var, offsets.get(var.name, 0), name, quantizations.get(var.quantization, 0)
            )
            for var, name in zip(self._vars, names, strict=True)
        ]
        end = _align(self._tail.end)
        tables = b"".join(
            [
                self._counts(metadata_at, len(metadata), end),
                *variables,
                *operators,
                self._inputs_and_outputs,
                bytes(self._tail.bytes),
            ]
        )
        return _Layout(
            tables.ljust(end - SEAL.size, b"\0"),
            constants.placed,
            end,
            _align(constants.end) - end,
        )

    def _name(self, name: str) -> int:
        return self._tail.add_name(name) if self._names else 0

    def _metadata(self) -> bytes:
        program = self._program
        metadata: dict[str, object] = {
            "name": program.name if self._names else "",
            "target": program.target,
            "passes": program.passes,
        }
        if program.threads > 1:
            metadata["threads"] = program.threads
        if program.weights != "f32":
            metadata["weights"] = program.weights
        return strict_json.dumps(metadata).encode()

    def _constants(self) -> list[Var]:
        """The constants of inference, then those that only set-up reads, whose pages the system can
        drop for good.
        """
        read = {name for op in self._program.steps for name in op.inputs}
        constants = [var for var in self._vars if var.data is not None]
        return sorted(constants, key=lambda var: var.name not in read)

    def _quantizations(self) -> dict[Quantization | None, int]:
        """Offsets of the distinct quantizations."""
        offsets: dict[Quantization | None, int] = {}
        for var in self._vars:
            var.check()
            q = var.quantization
            if q is not None and q not in offsets:
                count = len(q.scale)
                head = QUANTIZATION.pack(PER_TENSOR if q.axis is None else q.axis, count)
                values = struct.pack(f"<{count}f{count}i", *q.scale, *q.zero_point)
                offsets[q] = self._tail.add(head + values, 4)
        return offsets

    def _operator(self, op: Op) -> bytes:
        index = self._index
        operands = [index[i] if i else ABSENT for i in op.inputs] + [index[o] for o in op.outputs]
        operands_at = self._tail.add(struct.pack(f"<{len(operands)}I", *operands), 4)
        block = attributes.encode(op.schema, op.attributes)
        block_at = self._tail.add(block, 8)
        return OP.pack(
            op.schema.id,
            len(op.inputs),
            len(op.outputs),
            operands_at,
            block_at,
            len(block),
            self._name(op.name),
            op.schema.schema_hash,
            0,
            0,
        )

    def _variable(self, var: Var, data_at: int, name_at: int, quantization_at: int) -> bytes:
        return VAR.pack(
            *var.shape,
            *[0] * (MAX_RANK - len(var.shape)),
            data_at,
            0 if var.data is None else var.data.nbytes,
            name_at,
            schema.DTYPES[var.dtype],
            LAYOUTS.index(var.layout),
            len(var.shape),
            VAR_FLAG_PACKED * var.packed | VAR_FLAG_PART * bool(var.parent),
            self._index[var.parent] if var.parent else 0,
            var.channel,
            quantization_at,
            0,
        )

    def _counts(self, metadata_at: int, metadata_bytes: int, tables_bytes: int) -> bytes:
        program = self._program
        return COUNTS.pack(
            schema.schema_hash(),
            FLAG_PLANNED if program.planned else 0,
            len(self._vars),
            len(program.ops),
            len(program.inputs),
            len(program.outputs),
            metadata_at,
            metadata_bytes,
            tables_bytes,
        )


def encode(
    program: Program, names: bool = True, consume: bool = False, packed: bool = False
) -> Image:
    """The bytes of a .ttm file, ready for the engine to use in place.

    `consume` takes the constants out of `program`, which is useless afterwards, so that memory does
    not have them twice. `packed`: its tables are packed, as those that `write` writes.
    """
    layout = _Encoder(program, names).layout()
    layout = layout.packed() if packed else layout
    image = new_image(SEAL.size + len(layout.tables) + layout.constants_bytes)
    SEAL.pack_into(image.data, 0, MAGIC, VERSION, layout.tables_bytes, image.size, 0, 0)
    at = SEAL.size
    for piece in layout.pieces(consume=consume):
        image[at : at + piece.size] = piece
        at += piece.size
    seal(image)
    return image


def write(program: Program, path: Path, names: bool = True) -> None:
    """Writes `program` to `path` atomically, in pieces, so that memory never holds the file, with
    packed tables; ModelFileError if that fails.
    """
    layout = _Encoder(program, names).layout().packed()
    with files.replacing(path, error=ModelFileError) as part, part.open("wb") as file:
        file.write(layout.seal())
        for piece in layout.pieces():
            file.write(piece.data)


Program.writer = write


def seal(image: Image) -> None:
    """Writes the checksums, and the part of the header that they do not cover, except for the size
    of the tables before they are packed.
    """
    tables_bytes = SEAL.unpack_from(image.data)[2]
    stored_bytes = COUNTS.unpack_from(image.data, SEAL.size)[-1]
    end = min(max(stored_bytes, SEAL.size), image.size)  # tests damage it
    checksum = engine().Checksum()
    checksum.add(image[end:])
    tables = image[SEAL.size : end].tobytes()
    head = _seal(tables, tables_bytes, image.size - end, checksum.digest())
    image[: SEAL.size] = np.frombuffer(head, np.uint8)


def _seal(tables: bytes, tables_bytes: int, constants_bytes: int, constants_checksum: int) -> bytes:
    """The seal of a file with these tables, which may be packed."""
    checksum = engine().Checksum()
    checksum.add(np.frombuffer(tables, np.uint8))
    return SEAL.pack(
        MAGIC,
        VERSION,
        tables_bytes,
        SEAL.size + len(tables) + constants_bytes,
        checksum.digest(),
        constants_checksum,
    )


def _used_vars(program: Program) -> list[Var]:
    operands = {v for op in program.ops for v in (*op.inputs, *op.outputs) if v}
    used = operands | {*program.inputs, *program.outputs}
    used |= {program.vars[name].parent for name in used}
    return [var for var in program.vars.values() if var.name in used]


def _bytes(var: Var) -> NDArray[np.uint8]:
    """The elements of a constant in memory order."""
    assert var.data is not None
    nhwc = var.layout == "nhwc" and not var.packed
    data = var.data.transpose(TO_NHWC) if nhwc else var.data
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


def _align(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
