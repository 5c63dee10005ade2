"""How Darknet's sections become operators of the engine: one module per family, found by name."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from trimtab.importers.darknet_ops.layer import HANDLERS, Handler


@cache
def handlers() -> dict[str, Handler]:
    """Every handler by section type."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(HANDLERS)
