"""Nesterov's accelerated gradient: v' = momentum v + rate g; w' = w - (1 + momentum) v' +
momentum v.
"""

from __future__ import annotations

from trimtab.gradients import OpBuilder
from trimtab.learning.optimizers import Update, decayed_sum
from trimtab.learning.settings import Solver


def states(solver: Solver) -> tuple[str, ...]:
    """The step of the iteration before."""
    return ("momentum",)


def update(builder: OpBuilder, solver: Solver, parameter: Update) -> tuple[str, ...]:
    """The new parameter and states."""
    (before,) = parameter.states
    moved = builder.add("mul", parameter.gradient, parameter.rate)
    moved = decayed_sum(builder, before, solver.momentum, moved)
    ahead = decayed_sum(builder, before, -solver.momentum, moved, 1 + solver.momentum)
    return builder.add("sub", parameter.value, ahead), moved
