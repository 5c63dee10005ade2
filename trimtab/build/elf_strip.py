"""Removes symbols and debug information from an ELF file, for any architecture.

Not every toolchain has a `strip`: zig's `objcopy` does not support it, and binutils support only
their own target. Loaded sections keep their offsets, so that the stripped and the unstripped file
have the same addresses. Field names are those of the System V ABI, chapter 4 (ELF header, section
header).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from trimtab.errors import BuildError

_SHT_STRTAB = 3
_SHT_NOBITS = 8
_SHF_ALLOC = 2
_NAMES = ".shstrtab"


class _SectionHeader(NamedTuple):
    """A section header, with the fields in file order."""

    name: int
    type: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


def strip(image: bytes) -> bytes:
    """Returns the ELF file `image` without the sections that are not loaded.

    BuildError if it is not an ELF file, or its sections have an unsupported order.
    """
    if image[:4] != b"\x7fELF":
        raise BuildError("the linker did not write an ELF file")
    is_64 = image[4] == 2
    order = "<" if image[5] == 1 else ">"
    section_format = order + ("IIQQQQIIQQ" if is_64 else "10I")
    # e_shoff, and the last three fields of the ELF header: e_shentsize, e_shnum, e_shstrndx.
    offset_format, offset_at, counts_at = (order + "Q", 40, 58) if is_64 else (order + "I", 32, 46)
    (table,) = struct.unpack_from(offset_format, image, offset_at)
    entry, count, names_index = struct.unpack_from(order + "HHH", image, counts_at)
    sections = [
        _SectionHeader(*struct.unpack_from(section_format, image, table + i * entry))
        for i in range(count)
    ]

    loaded = [s for s in sections[1:] if s.flags & _SHF_ALLOC]
    if loaded != sections[1 : 1 + len(loaded)]:
        # Sections refer to each other by index, so the loaded ones must keep their indices.
        raise BuildError("cannot strip: a loaded section follows one that is not loaded")
    names, headers = b"\0", [sections[0]]
    all_names = sections[names_index].offset
    for s in loaded:
        start = all_names + s.name
        headers.append(s._replace(name=len(names)))
        names += image[start : image.index(b"\0", start) + 1]
    end = max((s.offset + s.size for s in loaded if s.type != _SHT_NOBITS), default=0)
    own_name = len(names)
    names += _NAMES.encode() + b"\0"
    headers.append(_SectionHeader(own_name, _SHT_STRTAB, 0, 0, end, len(names), 0, 0, 1, 0))
    body = image[:end] + names
    new_table = -(-len(body) // 8) * 8
    header = bytearray(body)
    struct.pack_into(offset_format, header, offset_at, new_table)
    struct.pack_into(order + "HHH", header, counts_at, entry, len(headers), len(headers) - 1)
    table_bytes = b"".join(struct.pack(section_format, *s) for s in headers)
    return bytes(header).ljust(new_table, b"\0") + table_bytes
