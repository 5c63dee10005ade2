"""The first difference of two files, in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trimtab import modelfile
from trimtab.errors import TrimtabError
from trimtab.program import Program
from trimtab.program.block import Var
from trimtab.size import elf


def first_difference(recorded: Path, rebuilt: Path) -> str:
    """The first difference of two files: its offset, and the section and function of a binary, or
    the operator or constant of a model file.
    """
    ours, theirs = recorded.read_bytes(), rebuilt.read_bytes()
    size = min(len(ours), len(theirs))
    unequal = np.flatnonzero(
        np.frombuffer(ours, np.uint8, size) != np.frombuffer(theirs, np.uint8, size)
    )
    offset = int(unequal[0]) if unequal.size else size
    sizes = f"{len(ours):,} bytes, rebuilt {len(theirs):,}; " if len(ours) != len(theirs) else ""
    place = f"{sizes}byte {offset:,}"
    try:
        if recorded.suffix == ".ttm":
            return f"{place}, {_in_programs(modelfile.read(recorded), modelfile.read(rebuilt))}"
        return f"{place}, {_in_image(elf.read(recorded), offset)}"
    except TrimtabError:
        return place


def _in_image(image: elf.Image, offset: int) -> str:
    """The section, and the function or object if the file has its symbols, at an offset."""
    for section in image.sections:
        if 0 <= offset - section.offset < section.file_bytes:
            address = section.address + offset - section.offset
            inside = [s for s in image.symbols if 0 <= address - s.address < s.bytes]
            return f"section {section.name}" + (f", {inside[0].name}" if inside else "")
    return "in the headers"


def _in_programs(ours: Program, theirs: Program) -> str:
    """The first operator of two programs that differs, or the first constant."""
    for op, rebuilt in zip(ours.ops, theirs.ops, strict=False):
        if op != rebuilt:
            return f"operator {op.type} {op.name!r}"
    if len(ours.ops) != len(theirs.ops):
        return f"{len(ours.ops)} operators, rebuilt {len(theirs.ops)}"
    for constant in ours.constants():
        other = theirs.vars.get(constant.name)
        if other is None or _bytes(constant) != _bytes(other):
            return f"constant {constant.name!r}"
    return "in the tables"


def _bytes(var: Var) -> tuple[tuple[int, ...], bytes]:
    return tuple(var.shape), b"" if var.data is None else var.data.tobytes()
