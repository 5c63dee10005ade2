"""The operator vectors: one module per family, each with `cases()`.

They run on the host through `trimtab.Session`, and on any device through the runner.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from tests.ops.cases.case import Case


@cache
def by_family() -> dict[str, tuple[Case, ...]]:
    """All cases, by the name of their module."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name != "case")
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: tuple(module.cases()) for name, module in modules.items()}


def all_cases() -> tuple[Case, ...]:
    """All cases; their ids are unique."""
    return tuple(case for cases in by_family().values() for case in cases)
