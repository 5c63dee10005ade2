"""trimtab's own model file: docs/model-format.md."""

from __future__ import annotations

from pathlib import Path

from trimtab import modelfile
from trimtab.errors import UsageError
from trimtab.importers import Shapes
from trimtab.program import Program

SUFFIXES = (".ttm",)


def sniff(path: Path) -> bool:
    """True when the file starts as a .ttm file does."""
    return modelfile.sniff(path)


def load(path: Path, inputs: Shapes) -> Program:
    """The program in a .ttm file; its shapes are fixed, so `inputs` may only repeat them."""
    program = modelfile.read(path)
    for name, shape in inputs.items():
        if name not in program.inputs or program.vars[name].shape != tuple(shape):
            known = ", ".join(f"{n}={list(program.vars[n].shape)}" for n in program.inputs)
            raise UsageError(
                f"input {name} cannot be given the shape {list(shape)}: the file fixes {known}",
                where=str(path),
                hint="convert the source model again with the shape you want",
            )
    return program
