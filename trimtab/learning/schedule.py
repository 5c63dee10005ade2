"""The operands of a step that follow from its number: learning rate, masks of dropout, and whether
the step ends an update.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UsageError
from trimtab.learning.optimizers import optimizer
from trimtab.learning.settings import learning_rate
from trimtab.learning.training_program import IS_UPDATE, RATE, TrainingProgram


def rate(training: TrainingProgram, step: int) -> float:
    """The learning rate in a step, which count from 0, with the factor of the optimizer; UsageError
    where the settings give no finite number.
    """
    solver = training.solver
    iteration = step // solver.iter_size
    factor = getattr(optimizer(solver.optimizer), "rate_factor", lambda *_: 1.0)
    try:
        rate = float(learning_rate(solver, iteration) * factor(solver, iteration))
    except (ArithmeticError, TypeError, ValueError):  # too large, 1 / 0, complex, root of -1
        rate = math.nan
    if not math.isfinite(rate):
        raise UsageError(
            f"the learning rate of iteration {iteration} is not a finite number",
            hint=f"correct the settings of policy {solver.policy} and of {solver.optimizer}",
        )
    return rate


def operands(training: TrainingProgram, step: int, seed: int) -> dict[str, NDArray[Any]]:
    """The operands of a step by name; `seed` decides what dropout sets to zero."""
    rng = np.random.default_rng((seed, step))
    result: dict[str, NDArray[Any]] = {
        name: mask.draw(rng) for name, mask in training.masks.items()
    }
    result[RATE] = np.array([rate(training, step)], np.float32)
    count = training.solver.iter_size
    if count > 1:
        result[IS_UPDATE] = np.array([step % count == count - 1])
    return result
