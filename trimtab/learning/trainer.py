"""Steps through a training program and keeps its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import UsageError
from trimtab.learning import checkpoint, schedule
from trimtab.learning.training_program import TrainingProgram
from trimtab.program import Program
from trimtab.session import Session


class Trainer:
    """Trains a network on this machine; `seed` decides what dropout sets to zero.

    `steps` is the number of completed steps; `values` are the parameters and the states of the
    optimizer, by name, in arrays that a step overwrites. Both may be set, to continue an earlier
    training; values are copied. `input_gradients` are those of the last step for the inputs of
    `force_backward`.
    """

    def __init__(self, training: TrainingProgram, threads: int = 1, seed: int = 0) -> None:
        self.training = training
        self.session = Session(training.program, threads)
        self.session.overwrite_inputs(len(training.next_values))
        self.seed = seed
        self.steps = 0
        self.values = training.initial
        self.input_gradients: dict[str, NDArray[np.float32]] = {}

    def __repr__(self) -> str:
        network, parameters = self.training.network.name, len(self.training.parameters)
        return f"<Trainer {network}: {parameters} parameters, {self.steps} steps>"

    @property
    def values(self) -> Mapping[str, NDArray[np.float32]]:
        """The parameters and the states of the optimizer."""
        return self._values

    @values.setter
    def values(self, values: Mapping[str, NDArray[np.float32]]) -> None:
        self._values = {name: np.array(value, np.float32) for name, value in values.items()}

    @property
    def iteration(self) -> int:
        """The number of completed updates: `Solver.iter_size` steps each."""
        return self.steps // self.training.solver.iter_size

    def step(self, inputs: Mapping[str, ArrayLike]) -> float:
        """Trains on one batch: inputs of the network and targets of the losses, by name. Returns
        the loss before the update. Labels may be integers of any type.

        UsageError if an input is missing, unknown, or has another shape or type.
        """
        operands = self._values | schedule.operands(self.training, self.steps, self.seed)
        if own := sorted(operands.keys() & inputs.keys()):
            hint = f"pass {', '.join(self.session.inputs.keys() - operands.keys())}"
            raise UsageError(f"{own[0]!r} is a value of the trainer", hint=hint)
        batch = {name: self.training.checked(name, value) for name, value in inputs.items()}
        out = {next: self.values[name] for name, next in self.training.next_values.items()}
        outputs = self.session.run({**batch, **operands}, out=out)
        gradients = self.training.input_gradients
        self.input_gradients = {name: outputs[gradient] for name, gradient in gradients.items()}
        self.steps += 1
        return float(outputs[self.training.loss][0])

    def advance(
        self, batches: Iterable[Mapping[str, ArrayLike]], on_loss: Callable[[float], None]
    ) -> None:
        """Steps with each batch, and reports its loss."""
        for batch in batches:
            on_loss(self.step(batch))

    def save(self, path: str | Path) -> None:
        """Writes a checkpoint: all values and the steps. The file is replaced atomically."""
        checkpoint.write(Path(path), self.training.in_order(self.values), self.steps)

    def restore(self, path: str | Path) -> None:
        """Continues from a checkpoint of the same training, with the same seed bit for bit.

        ModelFileError if the file is damaged or of another training.
        """
        expected = self.training.in_order(self.values)
        self.values, self.steps = checkpoint.read(Path(path), expected)

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """Copies of the trained parameters by name."""
        return {name: self.values[name].copy() for name in self.training.parameters}

    def network(self) -> Program:
        """The network with the trained parameters and running statistics."""
        return self.training.trained(self.values, self.steps)
