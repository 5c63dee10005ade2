"""trimtab beside other inference engines, on the same ONNX models and in the same minutes.

Every engine has a process of its own, in the interpreter that has its packages. The engines take
turns within a round, so that drift of the machine hits all alike, and each round begins with
another one, so that none always follows the same; loading is timed in fresh processes. The expected
outputs come from an engine that optimizes nothing (`oracle`).
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from lab.peers.process import Case, Loaded, Process, prepare, probe
from lab.peers.worker import ENGINES
from trimtab.errors import MissingRequirementError, RunnerError
from trimtab.progress import SILENT, Progress, Step

US = "trimtab"
RUNS_PER_TURN = 4
LOADS = 5  # fresh processes whose loading is timed
INSTALL = (
    "python3 -m venv peers && peers/bin/pip install numpy onnxruntime openvino ncnn pnnx MNN "
    "ai-edge-litert onnx, then ./inv bench.peers --python peers/bin/python"
)

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Result:
    """One engine on one network. `loads`: of fresh processes; `run_ns`: steady-state inferences."""

    network: str
    engine: str
    threads: int
    weights_bytes: int
    loads: tuple[Loaded, ...]
    run_ns: tuple[int, ...]

    @property
    def median_ms(self) -> float:
        """Of an inference in the steady state."""
        return statistics.median(self.run_ns) / 1e6

    @property
    def minimum_ms(self) -> float:
        """Of an inference in the steady state."""
        return min(self.run_ns) / 1e6

    @property
    def start_ms(self) -> float:
        """Loading and the first inference, as the median of the fresh processes."""
        return statistics.median(load.create_ns + load.first_ns for load in self.loads) / 1e6

    @property
    def peak_bytes(self) -> float:
        """Peak resident memory of the engine, weights included, as the median of the processes."""
        return statistics.median(load.peak_bytes for load in self.loads)

    @property
    def beyond_weights_bytes(self) -> float:
        """Peak resident memory of the engine without what the ONNX model's weights take."""
        return max(self.peak_bytes - self.weights_bytes, 0)

    @property
    def shipped_bytes(self) -> int:
        """Of the model's files, as a user of the engine would ship them."""
        return self.loads[0].shipped_bytes

    @property
    def error(self) -> float:
        """The largest of all loads."""
        return max(load.error for load in self.loads)


@dataclass(frozen=True)
class Comparison:
    """All results, the engines' versions, and what was left out and why."""

    versions: Mapping[str, str]
    results: tuple[Result, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Work:
    """What is compared: models, thread counts, rounds of inferences, and what plans of trimtab
    `prefer`.
    """

    models: Sequence[Path]
    threads: Sequence[int] = (1,)
    rounds: int = 10
    prefer: str = ""


class Engine(Protocol):
    """An engine that has loaded a model."""

    loaded: Loaded

    def run(self, count: int) -> Sequence[int]:
        """Nanoseconds of each of `count` inferences."""

    def close(self) -> None:
        """Ends it."""


Start = Callable[[], Engine]


class Engines(Protocol):
    """The engines that there are."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Name to version."""

    def prepare(self, engine: str, case: Case, threads: int) -> Start:
        """Makes what the engine reads of the model; returns what starts it. RunnerError."""


class Installed:
    """The peers that the interpreter at `python` has, and trimtab in this one; `quantized`: only
    those that compute with the integers of QDQ files.

    MissingRequirementError when there is not one peer.
    """

    def __init__(self, python: str, *, quantized: bool = False) -> None:
        peers = {
            name: version
            for name, version in probe(python).items()
            if name != US and (ENGINES[name].quantized or not quantized)
        }
        if not peers:
            raise MissingRequirementError("no peer is installed there", where=python, hint=INSTALL)
        self.versions = {**peers, US: probe(sys.executable).get(US, "")}
        self._python = python

    def prepare(self, engine: str, case: Case, threads: int) -> Start:
        """See `Engines`."""
        python = sys.executable if engine == US else self._python
        prepare(python, case, engine, threads)
        return partial(Process, python, case, engine, threads)


def compare(work: Work, engines: Engines, cache: Path, progress: Progress = SILENT) -> Comparison:
    """Measures all engines on each model. A peer that fails on a model is left out there;
    RunnerError when trimtab fails. `cache` is for files in the engines' own formats.
    """
    results: list[Result] = []
    left_out: list[str] = []
    with progress.step("measure beside the peers", "networks") as networks:
        for number, model in enumerate(work.models, 1):
            case = Case.of(model, cache, work.prefer)
            for threads in work.threads:
                title = f"{model.stem}, {threads} thread{'s' * (threads > 1)}"
                with progress.step(title, "turns", still=True) as step:
                    results += _on_one(case, threads, work.rounds, engines, left_out, step)
            networks.update(number, len(work.models))
    return Comparison(engines.versions, tuple(results), tuple(left_out))


def _on_one(
    case: Case, threads: int, rounds: int, engines: Engines, left_out: list[str], step: Step
) -> list[Result]:
    """The results of all engines on one model; those that fail go to `left_out`."""
    loads: dict[str, list[Loaded]] = {name: [] for name in engines.versions}
    samples: dict[str, list[int]] = {name: [] for name in engines.versions}

    def load(name: str, start: Start) -> Start:
        with closing(start()) as fresh:
            loads[name].append(fresh.loaded)
        return start

    def take_turn(name: str, engine: Engine) -> Engine:
        # The first finds the caches full of another engine's weights.
        samples[name] += engine.run(1 + RUNS_PER_TURN)[1:]
        return engine

    starts = _each(engines.versions, lambda name, _: engines.prepare(name, case, threads), left_out)
    turns = LOADS + rounds
    for turn in range(LOADS):
        step.update(turn, turns, "load")
        starts = _each(starts, load, left_out)
    with ExitStack() as stack:
        running = _each(starts, lambda _, start: stack.enter_context(closing(start())), left_out)
        for turn in range(LOADS, turns):
            step.update(turn, turns, "run")
            running = _each(running, take_turn, left_out)
            running = _rotated(running)
    step.update(turns, turns)
    return [
        Result(
            case.model.stem, name, threads, case.weights_bytes,
            tuple(loads[name]), tuple(samples[name]),
        )
        for name in engines.versions
        if name in running
    ]  # fmt: skip


def _rotated(engines: Mapping[str, A]) -> dict[str, A]:
    """The first one at the end."""
    first, *others = engines
    return {name: engines[name] for name in (*others, first)}


def _each(
    engines: Mapping[str, A], step: Callable[[str, A], B], left_out: list[str]
) -> dict[str, B]:
    """What `step` makes of every engine; a peer that fails is not there, and its reason is in
    `left_out`.
    """
    done = {}
    for name, engine in engines.items():
        try:
            done[name] = step(name, engine)
        except RunnerError as error:
            if name == US:
                raise
            left_out.append(str(error))
    return done
