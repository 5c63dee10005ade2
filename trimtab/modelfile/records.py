"""The records of a .ttm file; docs/model-format.md describes it byte for byte."""

from __future__ import annotations

import struct
from typing import NamedTuple

MAGIC = b"trimtab\0"
VERSION = 5
ALIGNMENT = 64
SEAL = struct.Struct("<8sIIQQQ24x")  # the part of the header without a checksum
COUNTS = struct.Struct("<QIIIIIIII24x")  # the part of the header with a checksum
TABLES_AT = SEAL.size + COUNTS.size
MAX_RANK = 8
VAR = struct.Struct(f"<{MAX_RANK}iQQIBBBBIIII")
OP = struct.Struct("<HBBIIIIIII")
QUANTIZATION = struct.Struct("<iI")  # then the scales, then the zero points
PER_TENSOR = -1
ABSENT = 0xFFFFFFFF
FLAG_PLANNED = 1
VAR_FLAG_PACKED, VAR_FLAG_PART = 1, 2
LAYOUTS = ("plain", "nhwc")
# Permutations from the logical axes to the memory order of layout nhwc, and back.
TO_NHWC, FROM_NHWC = (0, 2, 3, 1), (0, 3, 1, 2)


class VarRecord(NamedTuple):
    """The fields of VAR after the dimensions."""

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
    """The shape and the record of the variable `index` of a file."""
    fields = VAR.unpack_from(data, TABLES_AT + index * VAR.size)
    record = VarRecord(*fields[MAX_RANK:])
    return fields[: record.rank], record
