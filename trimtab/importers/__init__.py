"""Model files of other frameworks become programs: one module per format, found by its file name.

A format is a module of this package (packages and names with a leading underscore are helpers) that
has what `Importer` asks for; that is all there is to adding one. These modules need no packages of
others to be imported and to `sniff`: what reads the files is imported by `load`, so that a package
that is missing is missed by its format alone.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol, cast

from trimtab.errors import ImportModelError, MissingRequirementError, ModelFileError
from trimtab.program import Program

# What to install for a module, where names differ.
_PACKAGES = {"google": "protobuf"}

Shapes = Mapping[str, Sequence[int]]


class Importer(Protocol):
    """What a module of this package provides."""

    SUFFIXES: tuple[str, ...]
    """How the names of such files end, with the dot; longer ones win (`.pnnx.param`, `.param`)."""

    def sniff(self, path: Path) -> bool:
        """Whether the bytes at `path` (which exists) look like this format; cheap, never raises."""

    def load(self, path: Path, inputs: Shapes) -> Program:
        """The program of the model at `path`, with `inputs` for dimensions that are free.

        Raises ModelFileError (not a whole file of this format), ImportModelError (no program can be
        made of it), UnsupportedOperatorError (names all of them), DynamicShapeError.
        """


@cache
def _formats() -> dict[str, tuple[str, ...]]:
    """The suffixes of each importer by the name of its module, read from the source: a format that
    is not asked for costs no import, and may lack the packages that it needs.
    """
    found = {}
    for module in sorted(Path(__file__).parent.iterdir()):
        if module.suffix == ".py" and not module.name.startswith("_"):
            _, declares, declared = module.read_bytes().partition(b"\nSUFFIXES = ")
            assert declares, f"{module} declares no SUFFIXES"
            found[module.stem] = ast.literal_eval(declared[: declared.index(b")") + 1].decode())
    return found


def importer(name: str) -> Importer:
    """The importer in the module of that name."""
    return cast(Importer, importlib.import_module(f"{__name__}.{name}"))


@cache
def importers() -> dict[str, Importer]:
    """Every importer by the name of its module."""
    return {name: importer(name) for name in _formats()}


def suffixes() -> tuple[str, ...]:
    """Suffixes of all formats, sorted."""
    return tuple(sorted({suffix for declared in _formats().values() for suffix in declared}))


def find(path: Path) -> Importer:
    """The importer for `path`: by suffix, and where that leaves a choice, or fails, by content."""
    if not path.exists():
        raise ModelFileError("there is no such file", where=str(path), hint="check the path")
    if not (path.is_file() or path.is_dir()):
        raise ModelFileError(
            "is a pipe or a device", where=str(path), hint="write the model into a file first"
        )
    claims = {
        name: max((len(s) for s in declared if path.name.endswith(s)), default=0)
        for name, declared in _formats().items()
    }
    best = max(claims.values())
    named = [name for name in claims if claims[name] == best]
    if best and len(named) == 1:
        return importer(named[0])
    for name in named:
        if importer(name).sniff(path):
            return importer(name)
    raise ModelFileError(
        "its format is not known",
        where=str(path),
        hint=f"give a file of one of these formats: {', '.join(suffixes())}",
    )


def files(path: Path) -> list[Path]:
    """The files of a model, as far as their names tell: those of a folder, or `path` and what has
    its name with another suffix of its format.
    """
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file())
    endings = [s for s in suffixes() if path.name.endswith(s)]
    end = max(endings, key=len, default="")
    own = next((declared for declared in _formats().values() if end in declared), ())
    twins = (path.with_name(path.name.removesuffix(end) + suffix) for suffix in own)
    return [path, *(twin for twin in twins if twin != path and twin.is_file())]


def load(
    path: str | Path, inputs: Shapes | None = None, outputs: Sequence[str] | None = None
) -> Program:
    """The program of a model file of any format; see `Importer.load`. MissingRequirementError when
    a package that reads this format is not there.

    `outputs` names tensors inside the network that are wanted instead of its own outputs, such as
    the raw heads of a detector; what they do not need is left out.
    """
    path = Path(path)
    try:
        program = find(path).load(path, inputs or {})
    except ImportError as error:
        raise _missing(error, path) from error
    if outputs:
        _cut(program, outputs, path)
    return program


def _missing(error: ImportError, path: Path) -> MissingRequirementError:
    module = (error.name or "").partition(".")[0]
    package = _PACKAGES.get(module, module)
    if not package or package == "trimtab":
        raise error
    return MissingRequirementError(
        f"such files are read with the package {package}, which cannot be imported: {error}",
        where=str(path),
        hint=f"pip install {package}",
    )


def _cut(program: Program, outputs: Sequence[str], path: Path) -> None:
    for name in outputs:
        if name not in program.vars:
            import difflib  # a quarter of a megabyte, for this message alone

            similar = difflib.get_close_matches(name, program.vars, cutoff=0)
            raise ImportModelError(
                f"there is no tensor '{name}'",
                where=str(path),
                hint=f"names like it are {', '.join(similar)}; `inv inspect` lists all",
            )
    program.outputs = list(outputs)
    needed = set(outputs)
    for op in reversed(program.ops):
        if needed.intersection(op.outputs):
            needed.update(op.inputs)
    program.block.ops = [op for op in program.ops if needed.intersection(op.outputs)]
    kept = needed.union(program.inputs, *(op.outputs for op in program.ops))
    for name in program.vars.keys() - kept:
        del program.vars[name]
