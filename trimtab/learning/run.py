"""Runs a training: steps with batches of labeled data, reports, tests and snapshots.

The steps are those of `trainer`, on this machine or on a device. Everything else happens here, and
depends on the number of the step alone, so that a training that is continued has the same results
bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UsageError
from trimtab.learning import labeled_data, schedule
from trimtab.learning.labeled_data import Examples
from trimtab.learning.prepared import PreparedTraining, ShareOfLabels
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.session import Session

Array = NDArray[Any]
Batch = Mapping[str, Array]
Event = Mapping[str, Any]
"""`event` is "train" (iteration, loss, rate), "test" (iteration, loss and accuracies by name) or
"snapshot" (iteration, path)."""


class Stepper(Protocol):
    """The maker of the steps."""

    steps: int

    def advance(self, batches: Iterable[Batch], on_loss: Callable[[float], None]) -> None:
        """Makes a step with each batch, and reports its loss."""

    def save(self, path: str | Path) -> None:
        """Writes a checkpoint."""

    def network(self) -> Program:
        """The network with its present parameters."""


@dataclass(frozen=True)
class TrainingData:
    """The examples of a training and of its tests, which may be missing."""

    train: Examples
    test: Examples | None


def read_data(prepared: PreparedTraining, folder: Path, tests: Path | None) -> TrainingData:
    """The labeled data of a training. `tests`: other data for tests than `folder/test`."""
    train = labeled_data.part(folder, labeled_data.TRAIN)
    if train is None:
        raise UsageError("there is no folder `train` in it", where=str(folder))
    test = tests or labeled_data.part(folder, labeled_data.TEST)
    return TrainingData(
        labeled_data.read(train, prepared.inputs, prepared.pictures),
        labeled_data.read(test, prepared.test_inputs, prepared.pictures) if test else None,
    )


@dataclass(frozen=True)
class TrainingRun:
    """A training with its data, and where its events go."""

    prepared: PreparedTraining
    data: TrainingData
    report: Callable[[Event], None]
    progress: Progress = SILENT

    def run(self, stepper: Stepper) -> None:
        """Trains until the last iteration of the schedule."""
        plan, size = self.prepared.schedule, self.prepared.training.solver.iter_size
        if plan.iterations < 1:
            raise UsageError("how many iterations?", hint="--iterations N")
        if plan.test_first and plan.test_interval and not stepper.steps:
            self._test(stepper)
        with self.progress.step("train", "iterations") as step:
            losses: list[float] = []
            done = stepper.steps

            def on_loss(loss: float) -> None:
                nonlocal done
                done += 1
                losses.append(loss)
                step.update(done // size, plan.iterations, f"loss {loss:.4g}")

            while stepper.steps < plan.iterations * size:
                first = stepper.steps
                stepper.advance(map(self._batch, range(first, self._end(first))), on_loss)
                iteration = stepper.steps // size
                if _is_due(iteration, plan.display, plan.iterations):
                    rate = schedule.rate(self.prepared.training, stepper.steps - 1)
                    mean = float(np.mean(losses))
                    self._event("train", iteration, loss=mean, rate=rate)
                    losses.clear()
                end = plan.iterations if plan.snapshot_at_end else 0
                if _is_due(iteration, plan.snapshot, end):
                    path = f"{plan.prefix}_iter_{iteration}.checkpoint"
                    stepper.save(path)
                    self._event("snapshot", iteration, path=path)
                if plan.test_interval and _is_due(iteration, plan.test_interval, plan.iterations):
                    self._test(stepper)

    def _end(self, first: int) -> int:
        """The step before which the next event comes."""
        plan, size = self.prepared.schedule, self.prepared.training.solver.iter_size
        iteration = first // size
        intervals = [n for n in (plan.display, plan.snapshot, plan.test_interval) if n]
        ends = [(iteration // n + 1) * n for n in intervals]
        return min([*ends, plan.iterations]) * size

    def _batch(self, step: int) -> Batch:
        """The batch of a step; half of the pictures are mirrored, if the network's file says so."""
        prepared = self.prepared
        size = next(iter(prepared.inputs.values()))[0][0]
        batch = self.data.train.shuffled(step, size, prepared.seed)
        if prepared.mirror:
            flips = np.random.default_rng((prepared.seed, 0xF11B, step)).random(size) < 0.5
            for name, array in batch.items():
                if array.ndim == 4:
                    flipped = array[..., ::-1]
                    batch[name] = np.where(flips.reshape(-1, 1, 1, 1), flipped, array)
        return batch

    def _test(self, stepper: Stepper) -> None:
        prepared, examples = self.prepared, self.data.test
        if examples is None:
            raise UsageError(
                "the solver tests the network, and there are no data for tests",
                hint="--test-data FOLDER, a folder `test` in the data, or --test-interval 0",
            )
        session = Session(prepared.test.program(stepper.network()), cache=False)
        size = next(iter(prepared.test_inputs.values()))[0][0]
        tests = prepared.schedule.tests or max(1, examples.count // size)
        sums: dict[str, list[float]] = {}
        with self.progress.step("test", "batches") as step:
            for i in range(tests):
                batch = examples.in_order(i, size)
                outputs = session.run({name: batch[name] for name in session.input_names})
                if prepared.test.losses:
                    first = session.output_names[0]
                    sums.setdefault("loss", []).append(float(outputs[first][0]))
                for one in prepared.test.accuracies:
                    share = _accuracy(one, outputs[one.output], batch[one.target])
                    sums.setdefault(one.name, []).append(share)
                step.update(i + 1, tests)
        means = {name: float(np.mean(values)) for name, values in sums.items()}
        iteration = stepper.steps // prepared.training.solver.iter_size
        self._event("test", iteration, **means)

    def _event(self, event: str, iteration: int, **values: Any) -> None:
        self.report({"event": event, "iteration": iteration, **values})


def _is_due(iteration: int, interval: int, end: int) -> bool:
    """Whether an event comes after an iteration: each `interval`, and at the end."""
    return iteration == end or bool(interval and iteration % interval == 0)


def _accuracy(accuracy: ShareOfLabels, scores: Array, labels: Array) -> float:
    """The share of labels that are among the largest scores; classes are dimension 1."""
    labels = labels.reshape(scores.shape[0], 1, *scores.shape[2:])
    own = np.take_along_axis(scores, np.clip(labels, 0, scores.shape[1] - 1), 1)
    is_right = (scores > own).sum(1, keepdims=True) < accuracy.top
    if accuracy.ignore_label is not None:
        is_right = is_right[labels != accuracy.ignore_label]
    return float(is_right.mean()) if is_right.size else 0.0


def with_schedule(prepared: PreparedTraining, **changes: int | str | None) -> PreparedTraining:
    """The same training with other values of its schedule; None leaves one as it is."""
    values: dict[str, Any] = {n: value for n, value in changes.items() if value is not None}
    return replace(prepared, schedule=replace(prepared.schedule, **values))
