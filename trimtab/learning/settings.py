"""Settings of losses and optimizers: those of Caffe's loss layers and solvers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trimtab.errors import UsageError, whole_number

NORMALIZATIONS = ("full", "valid", "batch_size", "none")
REGULARIZATIONS = ("L2", "L1")


@dataclass(frozen=True)
class Loss:
    """A loss on one output of the network, with the settings of Caffe's loss layers.

    `kind`: a module of `trimtab.learning.losses`. `output`: the output of the network, by default
    its only one; a final softmax or sigmoid that is part of the loss is not computed. `target`: the
    name of the input with labels or values. `weight` multiplies the reported loss and its gradient.
    `normalization`: what the sum of errors is divided by: `full` (all places), `valid` (those with
    another label than `ignore_label`), `batch_size` or `none`; "": the kind's default in Caffe.
    `sigma`: where smooth L1 becomes linear, at 1 / sigma^2.
    """

    kind: str
    output: str = ""
    target: str = "label"
    weight: float = 1.0
    normalization: str = ""
    ignore_label: int | None = None
    sigma: float = 1.0

    def __post_init__(self) -> None:
        if self.normalization and self.normalization not in NORMALIZATIONS:
            raise UsageError(
                f"there is no normalization {self.normalization!r}",
                where=f"loss {self.kind}",
                hint=f"one of {', '.join(NORMALIZATIONS)}",
            )
        if self.sigma <= 0:
            raise UsageError(f"sigma must be positive, not {self.sigma}", where=f"loss {self.kind}")


@dataclass(frozen=True)
class Solver:
    """An optimizer with the settings of Caffe's solvers.

    `optimizer`: a module of `trimtab.learning.optimizers`. `rate`, `policy`, `gamma`, `power`,
    `step`, `steps` and `iterations` are the learning rate and its policy, see `learning_rate`.
    `momentum` is the first coefficient of Adam, too; `momentum2` and `delta` are the others.
    `weight_decay` adds that share of the weights (`regularization` "L2") or of their signs ("L1")
    to their gradient. `clip_gradients`: the largest norm of all gradients together; 0: any.
    `iter_size`: the batches of an update, whose gradients are averaged; as in Caffe,
    `clip_gradients` bounds the norm of their sum.
    """

    optimizer: str = "sgd"
    rate: float = 0.01
    policy: str = "fixed"
    gamma: float = 0.1
    power: float = 1.0
    step: int = 1
    steps: tuple[int, ...] = ()
    iterations: int = 0
    momentum: float = 0.9
    momentum2: float = 0.999
    delta: float = 1e-8
    weight_decay: float = 0.0
    regularization: str = "L2"
    clip_gradients: float = 0.0
    iter_size: int = 1

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise UsageError(
                f"there is no learning-rate policy {self.policy!r}",
                hint=f"one of {', '.join(POLICIES)}",
            )
        if self.regularization not in REGULARIZATIONS:
            raise UsageError(
                f"there is no regularization {self.regularization!r}",
                hint=f"one of {', '.join(REGULARIZATIONS)}",
            )
        whole_number("iter_size", self.iter_size, 1)
        whole_number("step", self.step, 1 if self.policy == "step" else 0)
        if self.policy == "poly" and self.iterations < 1:
            raise UsageError("the policy poly needs the number of iterations", hint="iterations=N")


POLICIES: Mapping[str, Callable[[Solver, int], float]] = {
    "fixed": lambda solver, _: 1.0,
    "step": lambda solver, iteration: solver.gamma ** (iteration // solver.step),
    "multistep": lambda solver, iteration: (
        solver.gamma ** sum(iteration >= step for step in solver.steps)
    ),
    "exp": lambda solver, iteration: solver.gamma**iteration,
    "inv": lambda solver, iteration: (1 + solver.gamma * iteration) ** -solver.power,
    "poly": lambda solver, iteration: max(0.0, 1 - iteration / solver.iterations) ** solver.power,
}
"""Caffe's learning-rate policies: the factor of the rate in an iteration, which count from 0."""


def learning_rate(solver: Solver, iteration: int) -> float:
    """The learning rate of an iteration."""
    return float(solver.rate * POLICIES[solver.policy](solver, iteration))
