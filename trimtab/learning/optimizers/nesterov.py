"""Nesterov's accelerated gradient: v' = momentum v + rate g; w' = w - (1 + momentum) v' +
momentum v.
"""

from __future__ import annotations

from trimtab.gradients import OpBuilder
from trimtab.learning.optimizers import Update
from trimtab.learning.settings import Solver


def states(solver: Solver) -> tuple[str, ...]:
    """The step of the iteration before."""
    return ("momentum",)


def update(builder: OpBuilder, solver: Solver, parameter: Update) -> tuple[str, ...]:
    """The new parameter and states."""
    return parameter.in_one_pass(builder, "sgd_update", momentum=solver.momentum, nesterov=True)
