"""Measures training steps beside PyTorch's, in interleaved rounds with one thread each."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import trimtab
from lab.committed import Results
from lab.training import bounds, peer
from lab.training.networks import RATE, TRAININGS, Training
from trimtab import __version__, files
from trimtab.errors import MissingRequirementError, RunnerError, TrimtabError
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table, number

NAME = "training"
BATCHES = (1, 8)
STEPS = 5  # of each engine in a round; the first finds the caches of the other
AGREEMENT = 1e-3  # of the losses of both engines

RATIO_BAR, PRODUCTS_BAR, MEMORY_BAR = 1.0, 1.15, 1.3
"""The largest ratios that the project promises: of a step to PyTorch's, of a step to its products
at the rate of inference, and of its memory to the lower bound.
"""


@dataclass(frozen=True)
class TrainingFigures:
    """One training: the fastest step of all rounds in milliseconds, PyTorch's in its faster memory
    format; the products of a step at the rate of inference; memory and its lower bound in MB.
    """

    training: str
    batch: int
    step_ms: float
    peer_ms: float
    products_ms: float
    memory_mb: float
    bound_mb: float

    @property
    def ratio(self) -> float:
        """The step, relative to PyTorch's."""
        return self.step_ms / self.peer_ms

    @property
    def products_ratio(self) -> float:
        """The step, relative to its products."""
        return self.step_ms / self.products_ms

    @property
    def memory_ratio(self) -> float:
        """The memory, relative to its lower bound."""
        return self.memory_mb / self.bound_mb


class Peer:
    """PyTorch in a process of its own. MissingRequirementError if the interpreter lacks it."""

    def __init__(self, python: str, training: Training, folder: Path) -> None:
        self._process = subprocess.Popen(
            [python, "-P", peer.__file__, str(_job(training, folder))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.version = str(self._answer())

    def run(self, format: str, count: int) -> tuple[list[int], list[float]]:
        """Nanoseconds and losses of steps."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{format} {count}\n")
        self._process.stdin.flush()
        answer = self._answer()
        return answer["ns"], answer["losses"]

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        _, errors = self._process.communicate()
        *_, last = ["it wrote nothing", *errors.strip().splitlines()]
        kind: type[TrimtabError] = RunnerError
        if "No module named" in last:
            kind = MissingRequirementError
        raise kind(f"PyTorch ended: {last}", hint="--python names an interpreter with PyTorch")


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
) -> tuple[list[TrainingFigures], str]:
    """The figures of trainings by name, and the version of PyTorch."""
    measured, version = [], ""
    cases = [(name, batch) for name in chosen for batch in BATCHES]
    with progress.step("measure training", "trainings") as step:
        for done, (name, batch) in enumerate(cases, 1):
            figures, version = _of_one(python, name, batch, rounds)
            measured.append(figures)
            step.update(done, len(cases))
    return measured, version


def _of_one(python: str, name: str, batch: int, rounds: int) -> tuple[TrainingFigures, str]:
    training = TRAININGS[name](batch)
    built = training.built()
    trainer, inference = trimtab.Trainer(built), trimtab.Session(training.network)
    images = {name: training.batch[name] for name in inference.input_names}
    own: list[int] = []
    products: list[float] = []
    others: dict[str, list[int]] = {format: [] for format in peer.FORMATS}
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        torch = Peer(python, training, Path(folder))
        try:
            _check(trainer, training, torch)
            for _ in range(rounds):
                for format, samples in others.items():
                    samples.extend(torch.run(format, STEPS)[0])
                for _ in range(STEPS):
                    start = time.perf_counter_ns()
                    trainer.step(training.batch)
                    own.append(time.perf_counter_ns() - start)
                for _ in range(STEPS):
                    inference.run(images)
                    products.append(_products_ns(inference))
        finally:
            torch.close()
    return TrainingFigures(
        name,
        batch,
        min(own) / 1e6,
        min(min(samples) for samples in others.values()) / 1e6,
        min(products) * bounds.extra_products(built) / 1e6,
        _memory_bytes(trainer, training) / 1e6,
        bounds.memory_bytes(built) / 1e6,
    ), torch.version


def _check(trainer: trimtab.Trainer, training: Training, torch: Peer) -> None:
    """RunnerError if the losses of the first steps differ."""
    own = [trainer.step(training.batch) for _ in range(STEPS)]
    for format in peer.FORMATS:
        _, losses = torch.run(format, STEPS)
        if not np.allclose(own, losses, AGREEMENT, AGREEMENT):
            raise RunnerError(f"the losses of PyTorch ({format}) are {losses}, and ours are {own}")


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


def to_results(
    measured: Sequence[TrainingFigures], torch: str, command: str, machine: Mapping[str, Any]
) -> Results:
    """The figures as a committed result."""
    versions = {"PyTorch": torch, "numpy": np.__version__, "trimtab": __version__}
    versions["python"] = sys.version.split()[0]
    rows = [
        {
            "training": figures.training,
            "batch": figures.batch,
            "step_ms": round(figures.step_ms, 3),
            "peer_ms": round(figures.peer_ms, 3),
            "products_ms": round(figures.products_ms, 3),
            "memory_mb": round(figures.memory_mb, 2),
            "bound_mb": round(figures.bound_mb, 2),
        }
        for figures in measured
    ]
    return Results(command=command, machine=machine, versions=versions, rows=rows)


def table(measured: Sequence[TrainingFigures]) -> Table:
    """Milliseconds of a step, and MB of memory."""
    columns = [
        Column("training"),
        number("batch", "d"),
        number("trimtab", ".2f"),
        number("PyTorch", ".2f"),
        number("ratio", ".2f"),
        number("products", ".2f"),
        number("ratio", ".2f", key="products_ratio"),
        number("memory", ".1f"),
        number("bound", ".1f"),
        number("ratio", ".2f", key="memory_ratio"),
    ]
    rows = [
        (
            *(f.training, f.batch, f.step_ms, f.peer_ms, f.ratio),
            *(f.products_ms, f.products_ratio, f.memory_mb, f.bound_mb, f.memory_ratio),
        )
        for f in measured
    ]
    return Table(columns, rows)
