"""Model formats that a program is written as: one module per format, found by its file name."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast

from trimtab.errors import UsageError
from trimtab.program import Program


class Exporter(Protocol):
    """What a module of this package provides."""

    SUFFIX: str
    """Of a file in that format, e.g. ".onnx"."""

    def encode(self, program: Program) -> bytes:
        """The file. ExportModelError, with the reason, for what the format cannot say."""


def of(path: Path) -> Exporter | None:
    """What writes files with the suffix of `path`; None for the engine's own format, which is .ttm
    or has no suffix. UsageError for another one.
    """
    found = [
        cast(Exporter, importlib.import_module(f"{__name__}.{info.name}"))
        for info in pkgutil.iter_modules(__path__)
        if not info.name.startswith("_")
    ]
    by_suffix: dict[str, Exporter | None] = {module.SUFFIX: module for module in found}
    by_suffix |= {"": None, ".ttm": None}
    if path.suffix not in by_suffix:
        known = ", ".join(sorted(filter(None, by_suffix)))
        raise UsageError(
            f"no format that is written ends in {path.suffix}",
            where=str(path),
            hint=f"name a file with {known}",
        )
    return by_suffix[path.suffix]
