"""Measures training steps beside PyTorch's, in interleaved rounds with one thread each."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import trimtab
from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from lab.training import bounds, peer
from lab.training.networks import RATE, TRAININGS, Training
from lab.worker import WorkerProcess
from trimtab import files
from trimtab.errors import MissingRequirementError, RunnerError
from trimtab.progress import SILENT, Progress

BATCHES = (1, 8)
STEPS = 5  # of each engine in a round; the first finds the caches of the other
AGREEMENT = 1e-3  # of the losses of both engines

RATIO_BAR, PRODUCTS_BAR, MEMORY_BAR = 1.0, 1.15, 1.3
"""The largest ratios that the project promises: of a step to PyTorch's, of a step to its products
at the rate of inference, and of its memory to the lower bound.
"""


@figure_row
class TrainingRow(FigureRow):
    """One training: the fastest step of all rounds in milliseconds, PyTorch's in its faster memory
    format; the products of a step at the rate of inference; memory and its lower bound in MB.
    """

    training: str = text("training")
    batch: int = figure("batch", "d")
    step_ms: float = figure("trimtab", ".2f", digits=3)
    peer_ms: float = figure("PyTorch", ".2f", digits=3)
    ratio: float = computed("ratio", ".2f", of=lambda row: row.step_ms / row.peer_ms)
    products_ms: float = figure("products", ".2f", digits=3)
    products_ratio: float = computed("ratio", ".2f", of=lambda row: row.step_ms / row.products_ms)
    memory_mb: float = figure("memory", ".1f", digits=2)
    bound_mb: float = figure("bound", ".1f", digits=2)
    memory_ratio: float = computed("ratio", ".2f", of=lambda row: row.memory_mb / row.bound_mb)


TRAINING = Experiment(
    "bench.training",
    "training",
    TrainingRow,
    packages=("numpy",),
    selection=("training",),
    is_timed=True,
    stand_ins={"python": "TORCH/bin/python"},
)


def pytorch(python: str, training: Training, folder: Path) -> tuple[WorkerProcess, str]:
    """The process of PyTorch, and its version. MissingRequirementError if the interpreter lacks
    it.
    """
    argv = [python, "-P", peer.__file__, str(_job(training, folder))]
    process = None
    try:
        process = WorkerProcess(argv, "PyTorch")
        return process, str(process.answer())
    except RunnerError as error:
        if process:
            process.close()
        raise MissingRequirementError(
            f"PyTorch does not run: {error.what}",
            where=python,
            hint="--python names an interpreter with PyTorch",
        ) from error


def _job(training: Training, folder: Path) -> Path:
    """Writes the job of `peer`; returns its path."""
    network, built = training.network, training.built()
    arrays: dict[str, Any] = {var.name: np.asarray(var.data) for var in network.constants()}
    arrays |= training.batch
    with files.replacing(folder / "arrays.npz") as part, part.open("wb") as archive:
        np.savez(archive, **arrays)
    job = {
        "operators": [(op.type, op.inputs, op.outputs, op.attributes) for op in network.ops],
        "trained": built.parameters,
        "output": network.outputs[0],
        "rate": RATE,
        "arrays": str(folder / "arrays.npz"),
    }
    files.write_text(folder / "job.json", json.dumps(job))
    return folder / "job.json"


def measure(
    python: str, chosen: Sequence[str], rounds: int, progress: Progress = SILENT
) -> tuple[list[TrainingRow], dict[str, str]]:
    """The figures of trainings by name, and the versions of PyTorch and Python."""
    rows, version = [], ""
    cases = [(name, batch) for name in chosen for batch in BATCHES]
    with progress.step("measure training", "trainings") as step:
        for done, (name, batch) in enumerate(cases, 1):
            row, version = _of_one(python, name, batch, rounds)
            rows.append(row)
            step.update(done, len(cases))
    return rows, {"PyTorch": version, "python": sys.version.split()[0]}


def _of_one(python: str, name: str, batch: int, rounds: int) -> tuple[TrainingRow, str]:
    training = TRAININGS[name](batch)
    built = training.built()
    trainer, inference = trimtab.Trainer(built), trimtab.Session(training.network)
    images = {name: training.batch[name] for name in inference.input_names}
    ours: list[int] = []
    products: list[float] = []
    others: list[int] = []
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        torch, version = pytorch(python, training, Path(folder))
        with torch:
            _check(trainer, training, torch)
            for _ in range(rounds):
                for format in peer.FORMATS:
                    others += torch.ask(f"{format} {STEPS}")["ns"]
                for _ in range(STEPS):
                    start = time.perf_counter_ns()
                    trainer.step(training.batch)
                    ours.append(time.perf_counter_ns() - start)
                for _ in range(STEPS):
                    inference.run(images)
                    products.append(_products_ns(inference))
    return TrainingRow(
        name,
        batch,
        min(ours) / 1e6,
        min(others) / 1e6,
        min(products) * bounds.extra_products(built) / 1e6,
        _memory_bytes(trainer, training) / 1e6,
        bounds.memory_bytes(built) / 1e6,
    ), version


def _check(trainer: trimtab.Trainer, training: Training, torch: WorkerProcess) -> None:
    """RunnerError if the losses of the first steps differ."""
    ours = [trainer.step(training.batch) for _ in range(STEPS)]
    for format in peer.FORMATS:
        losses = torch.ask(f"{format} {STEPS}")["losses"]
        if not np.allclose(ours, losses, AGREEMENT, AGREEMENT):
            raise RunnerError(f"the losses of PyTorch ({format}) are {losses}, and ours are {ours}")


def _products_ns(inference: trimtab.Session) -> float:
    """The time of the products of an inference: operators that are sums of products."""
    times = zip(inference.time_operators(), inference.program.ops, strict=True)
    return sum(time for time, op in times if op.schema.macs is not None)


def _memory_bytes(trainer: trimtab.Trainer, training: Training) -> int:
    """The memory of a step: arena, constants, the batch, and parameters and states."""
    use = trainer.session.memory
    own = use["arena_bytes"] + use["weights_bytes"] + use["prepared_bytes"]
    arrays = (*trainer.values.values(), *training.batch.values())
    return own + sum(array.nbytes for array in arrays)
