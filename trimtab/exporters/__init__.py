"""Model formats that a program is written as: one module per format, found by its file name."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast

from trimtab.program import Program


class Exporter(Protocol):
    """What a module of this package provides."""

    SUFFIX: str
    """Of a file in that format, e.g. ".onnx"."""

    def encode(self, program: Program) -> bytes:
        """The file. ExportModelError, with the reason, for what the format cannot say."""


def of(path: Path) -> Exporter | None:
    """What writes files with the suffix of `path`; None when that is no other format's than the
    engine's own.
    """
    for info in pkgutil.iter_modules(__path__):
        if not info.name.startswith("_"):
            module = cast(Exporter, importlib.import_module(f"{__name__}.{info.name}"))
            if path.suffix == module.SUFFIX:
                return module
    return None
