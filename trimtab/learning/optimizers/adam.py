"""Adam (Kingma and Ba 2015) as in Caffe: the rate has the bias correction of both moments."""

from __future__ import annotations

import math

from trimtab.gradients import OpBuilder
from trimtab.learning.optimizers import Update, decayed_sum
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
    gradient = parameter.gradient
    mean, square = parameter.states
    mean = decayed_sum(builder, mean, solver.momentum, gradient, 1 - solver.momentum)
    product = builder.add("mul", gradient, gradient)
    square = decayed_sum(builder, square, solver.momentum2, product, 1 - solver.momentum2)
    size = builder.plus(builder.add("sqrt", square), solver.delta)
    moved = builder.add("mul", builder.add("div", mean, size), parameter.rate)
    return builder.add("sub", parameter.value, moved), mean, square
