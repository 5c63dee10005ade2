"""Optimizers, found by their file names, as operators.

A module defines `states(solver)`, the names of the tensors that it keeps for each parameter, which
begin as zeros; `update(builder, solver, parameter)`, the new parameter and the new states; and may
define `rate_factor(solver, iteration)`, which multiplies the learning rate.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from trimtab.errors import UsageError
from trimtab.gradients import OpBuilder


@dataclass(frozen=True)
class Update:
    """The tensors of a parameter's update, by their names."""

    value: str
    gradient: str
    rate: str
    states: tuple[str, ...]


@cache
def optimizers() -> dict[str, ModuleType]:
    """Every optimizer by its name."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}


def optimizer(name: str) -> ModuleType:
    """An optimizer by its name; UsageError if there is none."""
    if name not in optimizers():
        hint = f"one of {', '.join(optimizers())}"
        raise UsageError(f"there is no optimizer {name!r}", hint=hint)
    return optimizers()[name]


def decayed_sum(
    builder: OpBuilder, old: str, share: float, new: str, new_share: float = 1.0
) -> str:
    """share old + new_share new."""
    return builder.add("add", builder.times(old, share), builder.times(new, new_share))
