"""Steps through a training program and keeps its parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.learning.optimizers import optimizer
from trimtab.learning.settings import learning_rate
from trimtab.learning.training_program import RATE, TrainingProgram
from trimtab.program import Program
from trimtab.session import Session


class Trainer:
    """Trains a network on this machine.

    `iteration` is the number of completed steps; `values` are the parameters and the states of the
    optimizer, by name. Both may be set, to continue an earlier training.
    """

    def __init__(self, training: TrainingProgram, threads: int = 1) -> None:
        self.training = training
        self.session = Session(training.program, threads)
        self.iteration = 0
        self.values = dict(training.initial)

    def step(self, inputs: Mapping[str, ArrayLike]) -> float:
        """Trains on one batch: inputs of the network and targets of the losses, by name. Returns
        the loss before the update.
        """
        solver = self.training.solver
        factor = getattr(optimizer(solver.optimizer), "rate_factor", lambda *_: 1.0)
        rate = learning_rate(solver, self.iteration) * factor(solver, self.iteration)
        operands = {**self.values, RATE: np.array([rate], np.float32)}
        outputs = self.session.run({**inputs, **operands})
        self.values = {name: outputs[next] for name, next in self.training.kept.items()}
        self.iteration += 1
        return float(outputs[self.training.loss][0])

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The trained parameters by name."""
        return {name: self.values[name] for name in self.training.parameters}

    def network(self) -> Program:
        """The network with the trained parameters."""
        program = self.training.network.copy()
        for name, value in self.parameters.items():
            program.vars[name].data = value
        return program
