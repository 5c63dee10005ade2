"""Paddle programs: files of save_inference_model or jit.save, or a model for paddle-mobile.

There are three layouts: `__model__` with one file per parameter, `__model__` with one file for all
parameters, and `.pdmodel` with `.pdiparams`. A folder stands for the program in it. In
`trimtab.importers.paddle_ops`, `framework` reads the program, `weights` reads the parameters, and
the other modules translate operators. The format is that of Paddle's framework.proto and
SerializeToStream.
"""

from __future__ import annotations

from pathlib import Path

from trimtab.errors import ModelFileError
from trimtab.importers._files import companion, head
from trimtab.importers._inputs import Shapes
from trimtab.program import Program

SUFFIXES = (".pdmodel", ".pdiparams", "__model__", "__params__")

# The usual names of program files.
_PROGRAMS = ("__model__", "model")


def sniff(path: Path) -> bool:
    """Whether `path` is a folder with a program, or a ProgramDesc: block 0 without a parent."""
    if path.is_dir():
        return _program_in(path) is not None
    # blocks = 1 (tag 0a, size), in it idx = 1 (08 00), parent_idx = 2 (10, -1 as ten bytes).
    start = head(path, 24)
    return start[:1] == b"\x0a" and 2 <= start.find(b"\x08\x00\x10\xff\xff\xff\xff") <= 6


def files(path: Path) -> list[Path]:
    """The program and the files of its parameters."""
    from trimtab.importers.paddle_ops import weights

    program = _find_program(path)
    return [program, *weights.files(path, program)]


def load(path: Path, inputs: Shapes) -> Program:
    """Translates the program at `path`; see `trimtab.importers.Importer` for errors.

    A free first dimension of an input is the batch, by default 1.
    """
    from trimtab.importers.paddle_ops import network

    return network.load(path, _find_program(path), inputs)


def _program_in(folder: Path) -> Path | None:
    for name in _PROGRAMS:
        if (folder / name).is_file():
            return folder / name
    programs = sorted(folder.glob("*.pdmodel"))
    return programs[0] if len(programs) == 1 else None


def _find_program(path: Path) -> Path:
    """The program file for `path`: a program, a folder, or a file of parameters."""
    program: Path | None = path
    if path.is_dir():
        program = _program_in(path)
    elif path.name.endswith(".pdiparams"):
        program = companion(path, ".pdmodel", lambda _: True) or _program_in(path.parent)
    elif path.name == "__params__":
        program = _program_in(path.parent)
    if program is None:
        raise ModelFileError(
            "has no program in it" if path.is_dir() else "has no program beside it",
            where=str(path),
            hint="put the program there; its name is __model__, or ends in .pdmodel",
        )
    return program
