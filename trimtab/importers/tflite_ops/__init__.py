"""How TFLite's operators become those of the engine: one module per family, found by file name."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from trimtab.importers.tflite_ops.node import HANDLERS, Handler


@cache
def handlers() -> dict[str, Handler]:
    """Every handler by operator name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(HANDLERS)
