"""The model files of trimtab itself; see docs/model-format.md."""

from __future__ import annotations

from pathlib import Path

from trimtab import modelfile
from trimtab.errors import ImportModelError
from trimtab.importers._inputs import Shapes
from trimtab.modelfile import sniff
from trimtab.program import Program

__all__ = ["SUFFIXES", "files", "load", "sniff"]

SUFFIXES = (".ttm",)


def files(path: Path) -> list[Path]:
    """The model's only file."""
    return [path]


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the file at `path`; its shapes are fixed."""
    program = modelfile.read(path)
    for name, shape in inputs.items():
        if name not in program.inputs or program.vars[name].shape != tuple(shape):
            fixed = ", ".join(f"{i} {list(program.vars[i].shape)}" for i in program.inputs)
            raise ImportModelError(
                f"input '{name}' cannot be {list(shape)}: the shapes of a .ttm file are fixed",
                where=str(path),
                hint=f"its inputs are {fixed}; load the original model to use other shapes",
            )
    return program
