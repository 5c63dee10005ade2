"""Writers of model formats: one module per format, found by its file name.

The emitters of a format are in a folder beside its module: a function per operator of the engine.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from numpy.typing import NDArray

from trimtab import files, passes
from trimtab.errors import ExportModelError, UsageError
from trimtab.program import Op, Program

Array = NDArray[Any]

_FIRST_OF_ENGINE = "subsample_pointwise"  # the first pass whose result suits only the engine


class Exporter(Protocol):
    """The interface of an exporter module."""

    SUFFIXES: tuple[str, ...]
    """The suffixes of its files, e.g. (".param", ".bin"): a file of each is written."""

    PEER: str
    """The Python package of another runtime that reads the format."""

    def encode(self, program: Program) -> Mapping[str, bytes]:
        """The content of the files by suffix; ExportModelError if the format cannot express the
        program, which `plain` has returned.
        """

    def run_peer(
        self, path: Path, inputs: Mapping[str, Array], outputs: Sequence[str]
    ) -> list[Array]:
        """Computes the outputs by the peer, from the files at `path`. Raises what the peer raises,
        and ExportModelError if it reads every network of the format, but not this one.
        """


def exporters() -> dict[str, Exporter]:
    """All exporters by the name of their module."""
    return {
        info.name: cast(Exporter, importlib.import_module(f"{__name__}.{info.name}"))
        for info in pkgutil.iter_modules(__path__)
        if not info.name.startswith("_") and not info.ispkg
    }


def exporter_for(path: Path) -> Exporter | None:
    """The exporter for the suffix of `path`; None for the engine's own format (.ttm or no suffix).

    UsageError for an unknown suffix.
    """
    modules = exporters().values()
    by_suffix: dict[str, Exporter | None] = {s: m for m in modules for s in m.SUFFIXES}
    by_suffix |= {"": None, ".ttm": None}
    if path.suffix not in by_suffix:
        suffixes = ", ".join(sorted(filter(None, by_suffix)))
        raise UsageError(
            f"no exporter writes {path.suffix} files",
            where=str(path),
            hint=f"use a file name that ends in {suffixes}",
        )
    return by_suffix[path.suffix]


def plain(program: Program) -> Program:
    """A simplified copy of the program in plain operators: nothing is fused into an epilogue, and
    all tensors have the plain layout.

    ExportModelError if the program is planned, or optimized without its source; UsageError if it
    has free dimensions.
    """
    hint = "convert its source model, or a .ttm that was written without --toolchain"
    if program.planned:
        raise ExportModelError(
            f"the program is planned for {program.target}: its weights are packed for kernels",
            where=program.name,
            hint=hint,
        )
    program.require_fixed_sizes("another format")
    source = program.source if program.passes and program.source else program
    twin = passes.simplify(source, before=_FIRST_OF_ENGINE)
    for op in twin.ops:
        if op.schema.name == "convert_layout" or _is_fused(op):
            raise ExportModelError(
                "the program is optimized: operators are fused",
                where=f"operator {op.name} ({op.type})",
                hint=hint,
            )
    return twin


def _is_fused(op: Op) -> bool:
    """Whether the operator computes a residual or an activation, too."""
    epilogue = ("activation", "clamp_min", "clamp_max") if op.schema.fuses_activation else ()
    changed = [op.attributes[name] != op.schema.attribute(name).default for name in epilogue]
    return any(changed) or bool(op.operand("residual"))


def contents(program: Program, path: Path, exporter: Exporter) -> dict[Path, bytes]:
    """The files that the exporter for `path` makes of a program, by their paths.

    ExportModelError if it is planned, or if the format cannot express it.
    """
    encoded = exporter.encode(plain(program))
    return {path.with_suffix(suffix): data for suffix, data in encoded.items()}


def write(program: Program, path: Path, exporter: Exporter) -> list[Path]:
    """Writes a program with the exporter for `path`, unchecked, and returns the files; errors as in
    `contents`.
    """
    paths = contents(program, path, exporter)
    for file, data in paths.items():
        files.write_bytes(file, data)
    return list(paths)
