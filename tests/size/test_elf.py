"""Symbols of an ELF file that is written byte by byte, as System V's ABI and that of Arm say."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from trimtab.size import elf
from trimtab.size.elf import RawSymbol

NAMES = b"\0f\0t\0.symtab\0.strtab\0"
FUNCTION, OBJECT = 2, 1  # types of symbols


def binary(machine: int) -> bytes:
    """A file of 32 bits with a function and a table at odd addresses, and a symbol without size."""
    symbols = b"".join(
        struct.pack("<IIIBBH", name, address, size, type, 0, 1)
        for name, address, size, type in (
            *((0, 0, 0, 0), (1, 0x1001, 6, FUNCTION), (3, 0x2001, 3, OBJECT)),
            (1, 0x3001, 0, FUNCTION),
        )
    )
    names_at, symbols_at = 52, 52 + len(NAMES)
    sections = (
        struct.pack("<10I", *[0] * 10),
        struct.pack("<10I", 5, 2, 0, 0, symbols_at, len(symbols), 2, 1, 4, 16),
        struct.pack("<10I", 13, 3, 0, 0, names_at, len(NAMES), 0, 0, 1, 0),
    )
    identity = b"\x7fELF\1\1\1".ljust(16, b"\0")
    at = symbols_at + len(symbols)
    head = struct.pack("<HHIIIIIHHHHHH", 2, machine, 1, 0, 0, at, 0, 52, 0, 0, 40, len(sections), 2)
    return identity + head + NAMES + symbols + b"".join(sections)


@pytest.mark.parametrize(("machine", "function"), [(40, 0x1000), (3, 0x1001)])
def test_only_a_function_of_arm_has_a_flag_in_its_address(
    machine: int, function: int, tmp_path: Path
) -> None:
    path = tmp_path / "program"
    path.write_bytes(binary(machine))
    assert elf.read(path).symbols == (RawSymbol("f", function, 6), RawSymbol("t", 0x2001, 3))
