"""The .ttm model file; the engine reads it, too (runtime/core/loader.cpp).

docs/model-format.md describes it byte for byte. It is little-endian. Constants are 64-byte aligned
and in memory order, so that the engine and Python use the file in place. Whoever makes a `Program`
for others takes it from here, so that it can be saved.
"""

from trimtab.modelfile.image import is_mapped
from trimtab.modelfile.reader import check, decode, from_bytes, read, sniff
from trimtab.modelfile.writer import encode, seal, write
from trimtab.program import Program

__all__ = [
    "Program",
    "check",
    "decode",
    "encode",
    "from_bytes",
    "is_mapped",
    "read",
    "seal",
    "sniff",
    "write",
]
