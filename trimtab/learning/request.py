"""A training that a user asks for: by a model and settings, or by Caffe's solver.prototxt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.errors import UsageError
from trimtab.learning import setting_texts
from trimtab.learning.settings import Loss, Solver

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class TrainingRequest:
    """A model with losses, optimizer and trainable parameters, or a solver that names them.

    `solver`: a solver.prototxt in place of a model, losses, optimizer and trainable parameters;
    `weights`: .caffemodel files that its network begins with. `trainable`: see
    `learning.parameters.choose`. `dropout`: the ratio by pattern of operators.
    `data`: the folder or file of data, for the shapes that a Caffe network does not state.
    """

    model: str = ""
    solver: str = ""
    weights: tuple[str, ...] = ()
    shapes: Shapes = field(default_factory=dict)
    losses: tuple[Loss, ...] = (Loss("softmax"),)
    optimizer: Solver = field(default_factory=Solver)
    trainable: Mapping[str, tuple[float, float]] | None = None
    batch_statistics: tuple[str, ...] = ()
    dropout: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    data: str = ""


def parse_request(
    *,
    model: str,
    solver: str,
    weights: Sequence[str],
    shapes: Shapes,
    losses: Sequence[str],
    optimizer: str,
    trainable: Sequence[str],
    batch_statistics: Sequence[str],
    dropout: Sequence[str],
    seed: int,
    data: str,
) -> TrainingRequest:
    """The request of texts; UsageError for invalid ones, and for settings beside a solver."""
    settings = losses, optimizer, trainable, batch_statistics, dropout
    if solver and (model or any(settings)):
        raise UsageError(
            "the solver names network, losses, optimizer and parameters",
            where=solver,
            hint="leave out --model, --loss, --optimizer, --trainable, --batch-statistics and "
            "--dropout, or the solver",
        )
    if weights and not solver:
        raise UsageError(
            "--caffemodel is for the network of a solver", hint="name a --model instead"
        )
    return TrainingRequest(
        model=model,
        solver=solver,
        weights=tuple(weights),
        shapes=shapes,
        losses=tuple(map(setting_texts.loss, losses)) or (Loss("softmax"),),
        optimizer=setting_texts.solver(optimizer or "sgd"),
        trainable=setting_texts.trainable(trainable),
        batch_statistics=tuple(batch_statistics),
        dropout=setting_texts.ratios(dropout),
        seed=seed,
        data=data,
    )
