"""Reads sections and symbols of an ELF file for the size report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from trimtab.errors import BinaryFileError
from trimtab.paths import PROGRAM


@dataclass(frozen=True)
class Section:
    """One section; `file_bytes` is 0 if it occupies memory only (.bss)."""

    name: str
    address: int
    offset: int
    file_bytes: int
    memory_bytes: int
    is_loaded: bool


@dataclass(frozen=True)
class RawSymbol:
    """A function or object with a size, from the symbol table."""

    name: str
    address: int
    bytes: int


@dataclass(frozen=True)
class Image:
    """An ELF file. `symbols` is empty in a stripped file; `machine` is a name like `EM_AARCH64`."""

    file_bytes: int
    machine: str
    sections: tuple[Section, ...]
    symbols: tuple[RawSymbol, ...]


def read(path: Path) -> Image:
    """The sections and symbols of `path`. Raises BinaryFileError if it is no ELF file."""
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            sections = tuple(
                Section(
                    name=section.name,
                    address=section["sh_addr"],
                    offset=section["sh_offset"],
                    file_bytes=0 if section["sh_type"] == "SHT_NOBITS" else section["sh_size"],
                    memory_bytes=section["sh_size"],
                    is_loaded=bool(section["sh_flags"] & SH_FLAGS.SHF_ALLOC),
                )
                for section in elf.iter_sections()
                if section["sh_type"] != "SHT_NULL"
            )
            return Image(path.stat().st_size, elf["e_machine"], sections, tuple(_symbols(elf)))
    except OSError as error:
        raise BinaryFileError(
            f"cannot read the file: {error.strerror}",
            where=str(path),
            hint=f"name a binary, or a folder that {PROGRAM} build has made",
        ) from None
    except (ELFError, ValueError, KeyError, AssertionError, UnicodeDecodeError) as error:
        raise BinaryFileError(
            f"not an ELF executable: {error}",
            where=str(path),
            hint="name a trimtab-run, or the folder of a build",
        ) from None


def _symbols(elf: ELFFile) -> list[RawSymbol]:
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        return []
    # In Thumb code the lowest bit of a function's address is a flag, not part of the address.
    mask = ~1 if elf["e_machine"] == "EM_ARM" else ~0
    return [
        RawSymbol(
            symbol.name,
            symbol["st_value"] & (mask if symbol["st_info"]["type"] == "STT_FUNC" else ~0),
            symbol["st_size"],
        )
        for symbol in table.iter_symbols()
        if symbol["st_size"] and symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT")
    ]
