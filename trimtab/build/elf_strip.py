"""Removes symbols and debug information from an ELF file, for any architecture.

Not every toolchain has a `strip`: zig's `objcopy` cannot do it, and binutils know only their own
target. Everything that is loaded keeps its place, so that the stripped file and its unstripped twin
have the same addresses. Layout and names of the fields are those of the System V ABI, chapter 4
(ELF header, section header).
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
    """A section header, in the file's order of fields."""

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
    """The ELF file `image` without the sections that are not loaded.

    BuildError when it is not an ELF file, or one whose order of sections is unknown.
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
        # Links between sections are indices, which stay right only if nothing moves.
        raise BuildError("cannot strip: a section that is loaded follows one that is not")
    names, kept = b"\0", [sections[0]]
    all_names = sections[names_index].offset
    for s in loaded:
        start = all_names + s.name
        kept.append(s._replace(name=len(names)))
        names += image[start : image.index(b"\0", start) + 1]
    end = max((s.offset + s.size for s in loaded if s.type != _SHT_NOBITS), default=0)
    own_name = len(names)
    names += _NAMES.encode() + b"\0"
    kept.append(_SectionHeader(own_name, _SHT_STRTAB, 0, 0, end, len(names), 0, 0, 1, 0))
    body = image[:end] + names
    new_table = -(-len(body) // 8) * 8
    header = bytearray(body)
    struct.pack_into(offset_format, header, offset_at, new_table)
    struct.pack_into(order + "HHH", header, counts_at, entry, len(kept), len(kept) - 1)
    headers = b"".join(struct.pack(section_format, *s) for s in kept)
    return bytes(header).ljust(new_table, b"\0") + headers
