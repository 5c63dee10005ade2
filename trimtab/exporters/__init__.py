"""Writers of model formats: one module per format, found by its file name."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast

from trimtab.errors import UsageError
from trimtab.program import Program


class Exporter(Protocol):
    """The interface of an exporter module."""

    SUFFIX: str
    """The suffix of its files, e.g. ".onnx"."""

    def encode(self, program: Program) -> bytes:
        """The file's bytes; ExportModelError if the format cannot express the program."""


def exporter_for(path: Path) -> Exporter | None:
    """The exporter for the suffix of `path`; None for the engine's own format (.ttm or no suffix).

    UsageError for an unknown suffix.
    """
    modules = [
        cast(Exporter, importlib.import_module(f"{__name__}.{info.name}"))
        for info in pkgutil.iter_modules(__path__)
        if not info.name.startswith("_")
    ]
    by_suffix: dict[str, Exporter | None] = {module.SUFFIX: module for module in modules}
    by_suffix |= {"": None, ".ttm": None}
    if path.suffix not in by_suffix:
        suffixes = ", ".join(sorted(filter(None, by_suffix)))
        raise UsageError(
            f"no exporter writes {path.suffix} files",
            where=str(path),
            hint=f"use a file name that ends in {suffixes}",
        )
    return by_suffix[path.suffix]
