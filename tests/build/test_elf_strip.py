"""Stripped ELF files, as pyelftools reads them."""

from __future__ import annotations

import io
import struct

import pytest
from elftools.elf.elffile import ELFFile

from trimtab import paths
from trimtab.build import elf_strip
from trimtab.errors import BuildError

SHF_ALLOC = 2


def loaded(image: bytes) -> list[tuple[str, int, bytes]]:
    """Name, address and content of each section that is loaded."""
    sections = ELFFile(io.BytesIO(image)).iter_sections()
    return [(s.name, s["sh_addr"], s.data()) for s in sections if s["sh_flags"] & SHF_ALLOC]


def test_loaded_sections_and_segments_stay_and_all_others_go() -> None:
    (engine,) = (paths.root() / "trimtab").glob("_engine*.so")
    image = engine.read_bytes()
    stripped = elf_strip.strip(image)
    assert loaded(stripped) == loaded(image)
    before, after = (ELFFile(io.BytesIO(one)) for one in (image, stripped))
    assert [s.header for s in after.iter_segments()] == [s.header for s in before.iter_segments()]
    names = [section.name for section in after.iter_sections()]
    assert names == ["", *(name for name, _, _ in loaded(image)), ".shstrtab"]


def elf32(order: str) -> bytes:
    """A file of 32 bits with one section that is loaded and one that is not (System V ABI, 4)."""
    names, text, comment = b"\0.text\0.comment\0.shstrtab\0", b"\1\2\3\4", b"by hand\0"
    contents = (text, comment, names)
    starts = [52, 52 + len(text), 52 + len(text) + len(comment)]
    table = -(-(starts[2] + len(names)) // 4) * 4
    rows = [(0,) * 10]
    for name, type, flags, at, data in zip(
        (1, 7, 16), (1, 1, 3), (SHF_ALLOC, 0, 0), starts, contents, strict=True
    ):
        rows.append((name, type, flags, 0x8000 if flags else 0, at, len(data), 0, 0, 1, 0))
    kind = b"\x7fELF\1" + (b"\1" if order == "<" else b"\2") + b"\1" + bytes(9)
    fields = (2, 40, 1, 0x8000, 0, table, 0, 52, 0, 0, 40, 4, 3)
    header = kind + struct.pack(f"{order}HHIIIIIHHHHHH", *fields)
    body = (header + b"".join(contents)).ljust(table, b"\0")
    return body + b"".join(struct.pack(f"{order}10I", *row) for row in rows)


@pytest.mark.parametrize("order", ["<", ">"])
def test_files_of_32_bits_are_stripped_in_both_orders_of_bytes(order: str) -> None:
    image = elf32(order)
    stripped = elf_strip.strip(image)
    assert loaded(stripped) == loaded(image) == [(".text", 0x8000, b"\1\2\3\4")]
    assert [s.name for s in ELFFile(io.BytesIO(stripped)).iter_sections()] == [
        *("", ".text", ".shstrtab")
    ]
    assert b"by hand" not in stripped


@pytest.mark.parametrize("image", [b"", b"\x7fEL", b"MZ" + bytes(64), b"\x7fELG" + bytes(64)])
def test_a_file_that_is_no_elf_file_is_refused(image: bytes) -> None:
    with pytest.raises(BuildError, match="did not write an ELF file"):
        elf_strip.strip(image)
