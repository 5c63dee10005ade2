"""Adam (Kingma and Ba 2015) as in Caffe: the rate has the bias correction of both moments."""

from __future__ import annotations

import math

from trimtab.gradients import OpBuilder
from trimtab.learning.optimizers import Update
from trimtab.learning.settings import Solver


def states(solver: Solver) -> tuple[str, ...]:
    """Moving averages of the gradient and of its square."""
    return "mean", "square"


def rate_factor(solver: Solver, iteration: int) -> float:
    """The bias correction of an iteration, which count from 0."""
    count = iteration + 1
    return math.sqrt(1 - solver.momentum2**count) / (1 - solver.momentum**count)


def update(builder: OpBuilder, solver: Solver, parameter: Update) -> tuple[str, ...]:
    """The new parameter and states."""
    return parameter.in_one_pass(
        builder,
        "adam_update",
        momentum=solver.momentum,
        momentum2=solver.momentum2,
        delta=solver.delta,
    )
