"""The records of a .ttm file; docs/model-format.md describes it byte for byte."""

from __future__ import annotations

import struct
from typing import NamedTuple

MAGIC = b"trimtab\0"
VERSION = 4
ALIGNMENT = 64
SEAL = struct.Struct("<8sIIQQQ24x")  # the part of the header that no checksum covers
COUNTS = struct.Struct("<QIIIIIII28x")  # the rest of it
TABLES_AT = SEAL.size + COUNTS.size
VAR = struct.Struct("<8iQQIBBBBIIII")
OP = struct.Struct("<HBBIIIIIII")
QUANTIZATION = struct.Struct("<iI")  # then the scales, then the zero points
PER_TENSOR = -1
ABSENT = 0xFFFFFFFF
FLAG_PLANNED = 1
VAR_FLAG_PACKED, VAR_FLAG_PART = 1, 2
LAYOUTS = ("plain", "nhwc")
# Logical order of a 4-D tensor's dimensions in memory, and back.
TO_NHWC, FROM_NHWC = (0, 2, 3, 1), (0, 3, 1, 2)


class VarRecord(NamedTuple):
    """A record of VAR behind its eight dimensions."""

    data_offset: int
    data_bytes: int
    name_offset: int
    dtype: int
    layout: int
    rank: int
    flags: int
    parent: int
    channel: int
    quantization_offset: int
    reserved: int


def variable(data: bytes, index: int) -> tuple[tuple[int, ...], VarRecord]:
    """The shape of a variable of a file's tables, and its record."""
    fields = VAR.unpack_from(data, TABLES_AT + index * VAR.size)
    record = VarRecord(*fields[8:])
    return fields[: record.rank], record
