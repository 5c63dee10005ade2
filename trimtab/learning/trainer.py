"""Steps through a training program and keeps its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import UsageError
from trimtab.learning import checkpoint
from trimtab.learning.optimizers import optimizer
from trimtab.learning.settings import learning_rate
from trimtab.learning.training_program import RATE, TrainingProgram
from trimtab.program import Program
from trimtab.session import Session


class Trainer:
    """Trains a network on this machine; `seed` decides what dropout sets to zero.

    `iteration` is the number of completed steps; `values` are the parameters and the states of the
    optimizer, by name. Both may be set, to continue an earlier training. `input_gradients` are
    those of the last step for the inputs of `force_backward`.
    """

    def __init__(self, training: TrainingProgram, threads: int = 1, seed: int = 0) -> None:
        self.training = training
        self.session = Session(training.program, threads)
        self.seed = seed
        self.iteration = 0
        self.values = dict(training.initial)
        self.input_gradients: dict[str, NDArray[np.float32]] = {}

    def step(self, inputs: Mapping[str, ArrayLike]) -> float:
        """Trains on one batch: inputs of the network and targets of the losses, by name. Returns
        the loss before the update. Labels may be integers of any type.

        UsageError if an input is missing, unknown, or has another shape or type.
        """
        solver = self.training.solver
        factor = getattr(optimizer(solver.optimizer), "rate_factor", lambda *_: 1.0)
        rate = learning_rate(solver, self.iteration) * factor(solver, self.iteration)
        operands = {**self.values, RATE: np.array([rate], np.float32)}
        rng = np.random.default_rng((self.seed, self.iteration))
        operands |= {name: mask.draw(rng) for name, mask in self.training.masks.items()}
        if own := sorted(operands.keys() & inputs.keys()):
            hint = f"pass {', '.join(self.session.inputs.keys() - operands.keys())}"
            raise UsageError(f"{own[0]!r} is a value of the trainer", hint=hint)
        batch = {name: self._batch(name, value) for name, value in inputs.items()}
        outputs = self.session.run({**batch, **operands})
        self.values = {name: outputs[next] for name, next in self.training.next_values.items()}
        gradients = self.training.input_gradients
        self.input_gradients = {name: outputs[gradient] for name, gradient in gradients.items()}
        self.iteration += 1
        return float(outputs[self.training.loss][0])

    def _batch(self, name: str, value: ArrayLike) -> ArrayLike:
        """An input; labels as int32. UsageError for a label that is no class."""
        array, labels = np.asarray(value), self.training.labels.get(name)
        if labels is None or array.dtype.kind not in "iu":
            return value
        wrong = (array < 0) | (array >= labels.classes)
        if labels.ignored is not None:
            wrong &= array != labels.ignored
        if wrong.any():
            hint = f"labels are from 0 to {labels.classes - 1}; Loss(..., ignore_label=N) skips N"
            raise UsageError(f"input {name!r} has the label {array[wrong][0]}", hint=hint)
        return array.astype(np.int32)

    def save(self, path: str | Path) -> None:
        """Writes a checkpoint: all values and the iteration. The file is replaced atomically."""
        checkpoint.write(Path(path), self.values, self.iteration)

    def restore(self, path: str | Path) -> None:
        """Continues from a checkpoint of the same training, with the same seed bit for bit.

        ModelFileError if the file is damaged or of another training.
        """
        self.values, self.iteration = checkpoint.read(Path(path), self.training.initial)

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The trained parameters by name."""
        return {name: self.values[name] for name in self.training.parameters}

    def network(self) -> Program:
        """The network with the trained parameters and running statistics."""
        program = self.training.network.copy()
        for name, value in self.values.items():
            if name in program.vars:
                program.vars[name].data = value
        return program
