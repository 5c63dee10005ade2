"""Optimizers, found by their file names, as operators.

A module defines `states(solver)`, the names of the tensors that it keeps for each parameter, which
begin as zeros; `update(builder, solver, parameter)`, the new parameter and the new states, mostly
by an operator of its own (`Update.in_one_pass`); and may define `rate_factor(solver, iteration)`,
which multiplies the learning rate.
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
    """The tensors of a parameter's update, by their names, and the settings that all optimizers
    have. `scale` multiplies the gradient, as `gradient_factor` does; where `is_update` is 0, all
    values stay; "" if there is none. `decay` is the share of the parameter, or of its signs
    (`regularization` "L1"), that is added to the gradient.
    """

    value: str
    gradient: str
    rate: str
    states: tuple[str, ...]
    scale: str = ""
    is_update: str = ""
    rate_factor: float = 1.0
    gradient_factor: float = 1.0
    decay: float = 0.0
    regularization: str = "L2"

    def in_one_pass(self, builder: OpBuilder, type: str, **settings: float) -> tuple[str, ...]:
        """Adds an operator that computes the new parameter and states (runtime/ops/update.h)."""
        inputs = self.value, self.gradient, self.rate, self.scale, self.is_update, *self.states
        attributes = {
            "rate_factor": self.rate_factor,
            "gradient_factor": self.gradient_factor,
            "decay": self.decay,
            "regularization": self.regularization.lower(),
        }
        names = [f"{name}.next" for name in (self.value, *self.states)]
        op = builder.block.make_op(type, inputs, attributes | settings, names, builder.name)
        builder.append(op)
        return tuple(op.outputs)


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
