"""The records of a .ttm file; docs/model-format.md describes it byte for byte."""

from __future__ import annotations

import struct

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
# Logical order of a 4-D tensor's dimensions in memory, and back.
TO_NHWC, FROM_NHWC = (0, 2, 3, 1), (0, 3, 1, 2)
