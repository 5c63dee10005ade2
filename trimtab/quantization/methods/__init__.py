"""Ways to choose the range of a tensor from what was seen of it.

A method is a module of this package with what `Method` asks for, found by its file name.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

from trimtab.errors import UsageError
from trimtab.quantization.observer import Range, Seen

# Tries several methods and takes the one with the smallest output error (quantization/best.py).
BEST = "best"
DEFAULT = BEST


class Method(Protocol):
    """What a module of this package provides; its docstring's first line says what it does."""

    NEEDS_HISTOGRAM: bool
    """Whether samples have to be gone over a second time, when their extremes are known."""

    def range_of(self, seen: Seen) -> Range:
        """The real numbers that the integers of a tensor shall reach."""


@cache
def methods() -> dict[str, Method]:
    """Every method by its name, that of its module."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    return {name: cast(Method, importlib.import_module(f"{__name__}.{name}")) for name in names}


def method(name: str) -> Method:
    """The method of that name; UsageError lists those that there are."""
    if name not in methods():
        known = ", ".join((BEST, *methods()))
        raise UsageError(f"unknown method of calibration {name!r}", hint=f"one of {known}")
    return methods()[name]


def check(name: str) -> None:
    """UsageError unless ranges can be chosen by that name."""
    if name != BEST:
        method(name)
