"""Reads .ttm files. The file is mapped, so that constants are not copied."""

from __future__ import annotations

import contextlib
import math
import re
import shlex
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from trimtab import schema, strict_json
from trimtab.engine import EngineError, engine
from trimtab.errors import ModelFileError, ProgramError, TtmError
from trimtab.modelfile.image import Image, drop_pages, map_file, new_image
from trimtab.modelfile.records import (
    ABSENT,
    COUNTS,
    FLAG_PLANNED,
    FROM_NHWC,
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
    variable,
)
from trimtab.paths import PROGRAM
from trimtab.program import attributes
from trimtab.program.block import NUMPY_DTYPES, Block, Op, Var
from trimtab.program.program import Program
from trimtab.program.quantization import Quantization

_DTYPE_NAMES = {number: name for name, number in schema.DTYPES.items()}


def sniff(path: Path) -> bool:
    """Whether the file begins with the magic number of .ttm files."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read(path: Path) -> Program:
    """The program of a .ttm file; its block is decoded at the first access.

    TtmError if the file is damaged, or has another version or another schema.
    """
    image = read_image(path)
    drop_pages(image)
    return decode(image, path.stem, str(path))


def read_image(path: Path) -> Image:
    """The bytes of a .ttm file, mapped; errors as in `read`."""
    try:
        image = map_file(path)
    except OSError as e:
        raise ModelFileError(
            f"cannot read the model: {e.strerror}",
            where=str(path),
            hint="check the path and its permissions",
        ) from None
    check(image, str(path))
    return image


def from_bytes(data: bytes, name: str) -> Program:
    """The program in a copy of the bytes of a .ttm file; see `read` for errors."""
    image = new_image(len(data))
    image[:] = np.frombuffer(data, np.uint8)
    check(image, name)
    return decode(image, name, name)


def check(image: Image, where: str) -> None:
    """TtmError unless `image` is the complete and undamaged content of a .ttm file."""
    _check_version(image, where)
    with _ttm_errors(where):
        engine().check_model(image)  # reads all weights


def decode(image: Image, name: str, where: str = "") -> Program:
    """The program in the bytes of a .ttm file, which must not change afterwards. `name` is the name
    of a program without names, `where` is for errors.
    """
    with _ttm_errors(where):
        tables = _Tables(image)
        metadata = strict_json.loads(tables.metadata)
        program = Program(metadata["name"] or name)
        program.passes = list(metadata["passes"])
        program.target = str(metadata["target"]) if tables.flags & FLAG_PLANNED else ""
        program.threads = int(metadata.get("threads", 1))
        program.weights = str(metadata.get("weights", program.weights))
        program.inputs, program.outputs = (
            [_name_of_var(tables.data, i) for i in indices] for indices in tables.inputs_and_outputs
        )

    def block() -> Block:
        with _ttm_errors(where):
            return _decode_block(tables)

    program.read_from(image, block, from_bytes)
    return program


def _check_version(image: Image, where: str) -> None:
    """TtmError for a file of another version; the engine reports all other errors."""
    if image.size < SEAL.size:
        return
    magic, version, *_ = SEAL.unpack_from(image.data)
    if magic != MAGIC or version == VERSION:
        return
    hint = _again(where)
    raise TtmError(
        f"a .ttm file of version {version}, this trimtab reads version {VERSION}",
        where=where,
        hint=hint if version < VERSION else f"use the trimtab that wrote it, or {hint}",
    )


@contextlib.contextmanager
def _ttm_errors(where: str) -> Iterator[None]:
    """Converts the exceptions of a damaged file to TtmError."""
    try:
        yield
    except EngineError as e:
        what = re.sub(r"of id (\d+)", lambda id: schema.RETIRED.get(int(id[1]), id[0]), e.args[1])
        raise TtmError(what, where=where, hint=_again(where)) from None
    except ProgramError as e:
        raise TtmError(
            f"{e.where}: {e.what}", where=where, hint="convert the model again"
        ) from None
    except (struct.error, IndexError, KeyError, TypeError, ValueError) as e:
        raise TtmError(
            f"the tables are inconsistent: {e}", where=where, hint=_again(where)
        ) from None


def _again(where: str) -> str:
    return f"make it again: {PROGRAM} convert MODEL {shlex.quote(where)}"


def unpacked_tables(image: Image) -> tuple[bytes, Image]:
    """The header and tables of a file, unpacked, and its constants."""
    tables_bytes = SEAL.unpack_from(image.data)[2]
    stored_bytes = COUNTS.unpack_from(image.data, SEAL.size)[-1]
    head, constants = image[:stored_bytes], image[stored_bytes:]
    if stored_bytes == tables_bytes:
        return head.tobytes(), constants
    tables = engine().unpack(head[TABLES_AT:], tables_bytes - TABLES_AT)
    return head[:TABLES_AT].tobytes() + tables, constants


class _Tables:
    """The header and tables of an image that the engine has checked."""

    def __init__(self, image: Image) -> None:
        self.data, self.constants = unpacked_tables(image)
        counts = COUNTS.unpack_from(self.data, SEAL.size)
        _, self.flags, self.var_count, self.op_count, inputs, outputs, at, size, _ = counts
        self.metadata = self.data[at : at + size]
        self.ops_at = TABLES_AT + VAR.size * self.var_count
        indices_at = self.ops_at + OP.size * self.op_count
        indices = struct.unpack_from(f"<{inputs + outputs}I", self.data, indices_at)
        self.inputs_and_outputs = indices[:inputs], indices[inputs:]


def _decode_block(tables: _Tables) -> Block:
    data, ops_at = tables.data, tables.ops_at
    block = Block()
    variables = [_decode_var(tables, i) for i in range(tables.var_count)]
    for i, var in enumerate(variables):
        _, var_record = variable(data, i)
        if var_record.flags & VAR_FLAG_PART:
            var.parent = variables[var_record.parent].name
    block.vars = {var.name: var for var in variables}
    types = {op.id: op for op in schema.operators().values()}
    for i in range(tables.op_count):
        record = OP.unpack_from(data, ops_at + i * OP.size)
        op_id, ins, outs, operands_at, block_at, block_bytes, name_at, schema_hash = record[:8]
        op_schema = types.get(op_id)
        if op_schema is None or op_schema.schema_hash != schema_hash:
            what = op_schema.name if op_schema else f"of id {op_id}"
            what = schema.RETIRED.get(op_id, what)
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


def _decode_var(tables: _Tables, index: int) -> Var:
    data = tables.data
    shape, record = variable(data, index)
    var = Var(
        _name_of_var(data, index),
        shape,
        _DTYPE_NAMES[record.dtype],
        LAYOUTS[record.layout],
        packed=bool(record.flags & VAR_FLAG_PACKED),
        channel=record.channel,
        quantization=_decode_quantization(data, record.quantization_offset),
    )
    if record.data_offset:
        dtype = np.dtype(NUMPY_DTYPES[var.dtype])
        elements = np.frombuffer(
            tables.constants,
            dtype,
            count=record.data_bytes // dtype.itemsize,
            offset=record.data_offset - len(data),
        )
        if var.packed:
            var.data = elements
        elif var.layout == "nhwc":
            var.data = elements.reshape([shape[i] for i in TO_NHWC]).transpose(FROM_NHWC)
        else:
            var.data = elements[: math.prod(shape)].reshape(shape)
    return var


def _decode_quantization(data: bytes, offset: int) -> Quantization | None:
    if offset == 0:
        return None
    axis, count = QUANTIZATION.unpack_from(data, offset)
    scales_at = offset + QUANTIZATION.size
    return Quantization(
        struct.unpack_from(f"<{count}f", data, scales_at),
        struct.unpack_from(f"<{count}i", data, scales_at + 4 * count),
        None if axis == PER_TENSOR else axis,
    )


def _name_of_var(data: bytes, index: int) -> str:
    _, record = variable(data, index)
    return _decode_name(data, record.name_offset) or f"v{index}"


def _decode_name(data: bytes, offset: int) -> str:
    if offset == 0:
        return ""
    (length,) = struct.unpack_from("<H", data, offset)
    return data[offset + 2 : offset + 2 + length].decode(errors="replace")
