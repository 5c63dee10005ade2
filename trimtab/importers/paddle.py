"""Paddle programs: what save_inference_model and jit.save wrote, or a model for paddle-mobile.

Three layouts: `__model__` with one file per parameter, `__model__` with one file for all of them,
`.pdmodel` with `.pdiparams`; a folder stands for the program in it. `framework` reads the program,
`weights` the parameters, and the other modules of `trimtab.importers.paddle_ops` turn operators
into those of the engine. The format is that of Paddle's framework.proto and SerializeToStream.
"""

from __future__ import annotations

from pathlib import Path

from trimtab.errors import ModelFileError
from trimtab.importers._files import companion, head
from trimtab.importers._inputs import Shapes
from trimtab.program import Program

SUFFIXES = (".pdmodel", ".pdiparams", "__model__", "__params__")

# Names under which programs are usually saved.
_PROGRAMS = ("__model__", "model")


def sniff(path: Path) -> bool:
    """A folder with a program in it, or a ProgramDesc: a block with the number 0 and no parent."""
    if path.is_dir():
        return _program_in(path) is not None
    # blocks = 1 (tag 0a, size), in it idx = 1 (08 00), parent_idx = 2 (10, -1 as ten bytes).
    start = head(path, 24)
    return start[:1] == b"\x0a" and 2 <= start.find(b"\x08\x00\x10\xff\xff\xff\xff") <= 6


def load(path: Path, inputs: Shapes) -> Program:
    """The program at `path`; errors as `trimtab.importers.Importer` lists them.

    A free first dimension of an input is the batch: 1 if not given.
    """
    from trimtab.importers.paddle_ops import network

    return network.load(path, _find_program(path), inputs)


def _program_in(folder: Path) -> Path | None:
    for name in _PROGRAMS:
        if (folder / name).is_file():
            return folder / name
    found = sorted(folder.glob("*.pdmodel"))
    return found[0] if len(found) == 1 else None


def _find_program(path: Path) -> Path:
    """The program that `path` is, holds, or has the parameters of."""
    found: Path | None = path
    if path.is_dir():
        found = _program_in(path)
    elif path.name.endswith(".pdiparams"):
        found = companion(path, ".pdmodel", lambda _: True) or _program_in(path.parent)
    elif path.name == "__params__":
        found = _program_in(path.parent)
    if found is None:
        raise ModelFileError(
            "has no program in it" if path.is_dir() else "has no program beside it",
            where=str(path),
            hint="the program is called __model__, or ends in .pdmodel",
        )
    return found
