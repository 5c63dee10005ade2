"""Stripped ELF files, as pyelftools reads them."""

from __future__ import annotations

import io

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


@pytest.mark.parametrize("image", [b"", b"\x7fEL", b"MZ" + bytes(64), b"\x7fELG" + bytes(64)])
def test_a_file_that_is_no_elf_file_is_refused(image: bytes) -> None:
    with pytest.raises(BuildError, match="did not write an ELF file"):
        elf_strip.strip(image)
