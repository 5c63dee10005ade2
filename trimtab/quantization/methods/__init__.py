"""Calibration methods: how the range of a tensor follows from its observer.

A method is a module of this package that implements `Method`; its file name is its name.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

from trimtab.errors import UsageError
from trimtab.quantization.observer import Observer, Range

# Tries several methods and picks the one with the smallest output error (method_selection.py).
BEST = "best"
DEFAULT = BEST

# Former names, and the nearest method.
_FORMER = {"reach": "activation_aware", "moving_average": "min_max", "entropy": "mse"}


class Method(Protocol):
    """The interface of a method module; the first line of its docstring describes it."""

    NEEDS_HISTOGRAM: bool
    """True if it needs a second pass over the samples, for the histogram."""

    def range_of(self, observer: Observer) -> Range:
        """The range that the int8 values of the tensor represent."""


@cache
def methods() -> dict[str, Method]:
    """Every method by its name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    return {name: cast(Method, importlib.import_module(f"{__name__}.{name}")) for name in names}


def method(name: str) -> Method:
    """The method of that name; UsageError lists the methods, or names the successor of a former
    one.
    """
    if name not in methods():
        names = ", ".join((BEST, *methods()))
        hint = f"use {_FORMER[name]}" if name in _FORMER else f"use one of {names}"
        raise UsageError(f"unknown calibration method {name!r}", hint=hint)
    return methods()[name]


def check(name: str) -> None:
    """UsageError unless `name` is a method or BEST."""
    if name != BEST:
        method(name)
