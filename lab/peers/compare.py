"""Measures trimtab and other inference engines on the same ONNX models, in interleaved rounds.

Each engine runs in a process of its own, in the interpreter that has its packages. A round runs
every engine once, so that drift of the machine affects all alike, and rotates their order; loading
is timed in fresh processes. The expected outputs come from onnxruntime without optimizations
(`oracle`).
"""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from lab import waiting
from lab.experiment import FigureRow, figure, figure_row, text
from lab.peers.process import EngineBlock, LoadFigures, PeerCase, Process, prepare, probe
from lab.peers.worker import ENGINES
from trimtab.errors import MissingRequirementError, RunnerError, TrimtabError
from trimtab.progress import SILENT, Progress, Step

US = "trimtab"
SUITE_PEERS = ("onnxruntime", "openvino", "ncnn")
RUNS_PER_ROUND = 4
LOADS = 5  # fresh processes whose loading is timed
INSTALL = (
    "python3 -m venv peers && peers/bin/pip install numpy onnxruntime openvino ncnn pnnx MNN "
    "onnx, then ./inv bench.peers --python peers/bin/python"
)

A = TypeVar("A")
B = TypeVar("B")


@figure_row
class PeersRow(FigureRow):
    """Figures of one engine on one network.

    `quartiles_ms`: of the inferences; `start_ms`: loading and first inference; `error`: the
    largest, relative to the largest magnitude of an output; `peak_bytes`: resident memory, weights
    included; `shipped_bytes`: the model's files, as a user of the engine would ship them; `waited`:
    the largest mean share of time for which an engine had no core, of all engines on the network:
    on a busy machine, `median_ms` is that of the fastest round; `weights_bytes`: of the ONNX model;
    `loads`: of fresh processes, whose medians count; `samples`: nanoseconds of the steady-state
    inferences of each round, which `median_ms` follows from.
    """

    network: str = text("network")
    engine: str = text("engine")
    threads: int = figure("threads")
    median_ms: float = figure(digits=4)
    quartiles_ms: Sequence[float] = figure()
    minimum_ms: float = figure(digits=4)
    start_ms: float = figure(digits=3)
    beyond_weights_bytes: float = figure()
    error: float = figure()
    peak_bytes: float = figure()
    shipped_bytes: int = figure()
    waited: float = figure(digits=3, default=0.0)
    weights_bytes: int = figure(default=0, stored=False)
    loads: tuple[LoadFigures, ...] = figure(default=(), stored=False)
    samples: Mapping[str, Sequence[Sequence[int]]] = figure(default_factory=dict)

    @classmethod
    def of(
        cls,
        case: tuple[str, str, int],
        weights_bytes: int,
        loads: Sequence[LoadFigures],
        rounds: Sequence[Sequence[int]],
        waited: float = 0.0,
    ) -> PeersRow:
        """The figures of samples. `case`: network, engine and threads; `rounds`: nanoseconds of the
        inferences of each.
        """
        peak = statistics.median(load.peak_bytes for load in loads)
        run_ns = [ns for block in rounds for ns in block]
        return cls(
            *case,
            median_ms=waiting.typical(rounds, waited) / 1e6,
            quartiles_ms=[round(float(q) / 1e6, 4) for q in np.percentile(run_ns, (25, 75))],
            minimum_ms=min(run_ns) / 1e6,
            start_ms=statistics.median(load.create_ns + load.first_ns for load in loads) / 1e6,
            beyond_weights_bytes=max(peak - weights_bytes, 0),
            error=float(f"{max(load.error for load in loads):.2g}"),
            peak_bytes=peak,
            shipped_bytes=loads[0].shipped_bytes,
            waited=waited,
            weights_bytes=weights_bytes,
            loads=tuple(loads),
            samples={"median_ms": [list(block) for block in rounds]},
        )


@dataclass(frozen=True)
class PeerComparison:
    """All results, the engines' versions, and the reasons for missing ones."""

    versions: Mapping[str, str]
    results: tuple[PeersRow, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class ComparisonScope:
    """The scope of a comparison. `prefer`: the preference of trimtab's plans, or "". `loads`: fresh
    processes whose loading is timed. `tolerant`: a network that trimtab fails on is left out, too.
    """

    models: Sequence[Path]
    threads: Sequence[int] = (1,)
    rounds: int = 10
    prefer: str = ""
    loads: int = LOADS
    tolerant: bool = False


class RunningEngine(Protocol):
    """A running engine with a loaded model."""

    loaded: LoadFigures

    def run(self, count: int) -> EngineBlock:
        """Times `count` inferences."""

    def close(self) -> None:
        """Ends the engine."""


Start = Callable[[], RunningEngine]


class Engines(Protocol):
    """The engines to compare."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions by name."""

    def prepare(self, engine: str, case: PeerCase, threads: int) -> Start:
        """Converts the model for the engine; returns the function that starts it. RunnerError."""


class Installed:
    """The peers installed for the interpreter `python`, and trimtab in this one.

    `quantized`: only engines that run QDQ files in int8; `only`: these peers, by default all that
    read ONNX or have a converter for it.
    MissingRequirementError without a peer.
    """

    def __init__(self, python: str, *, quantized: bool = False, only: Collection[str] = ()) -> None:
        peers = {
            name: version
            for name, version in probe(python).items()
            if name != US
            and (ENGINES[name].quantized or not quantized)
            and (name in only if only else ENGINES[name].reads == ".onnx")
        }
        if not peers:
            raise MissingRequirementError("no peer is installed", where=python, hint=INSTALL)
        self.versions = {**peers, US: probe(sys.executable).get(US, "")}
        self._python = python

    def prepare(self, engine: str, case: PeerCase, threads: int) -> Start:
        """See `Engines`."""
        python = sys.executable if engine == US else self._python
        prepare(python, case, engine, threads)
        return partial(Process, python, case, engine, threads)


def compare(
    work: ComparisonScope, engines: Engines, cache: Path, progress: Progress = SILENT
) -> PeerComparison:
    """Measures all engines on each model. `cache`: folder for files in the engines' own formats.

    A peer that fails on a model is left out for it; RunnerError when trimtab fails, unless the
    scope is tolerant.
    """
    results: list[PeersRow] = []
    left_out: list[str] = []
    with progress.step("measure beside the peers", "networks") as networks:
        for number, model in enumerate(work.models, 1):
            case = None
            try:
                case = PeerCase.of(model, cache, work.prefer)
                for threads in work.threads:
                    title = f"{model.stem}, {threads} thread{'s' * (threads > 1)}"
                    with progress.step(title, "rounds", still=True) as step:
                        results += _on_one(case, threads, work, engines, left_out, step)
            except TrimtabError as error:
                if not work.tolerant:
                    raise
                left_out.append(f"{model.stem}: {error.what}")
            finally:
                if work.tolerant and case is not None:  # half a gigabyte for each network of a list
                    shutil.rmtree(case.folder, ignore_errors=True)
            networks.update(number, len(work.models))
    return PeerComparison(engines.versions, tuple(results), tuple(dict.fromkeys(left_out)))


def _on_one(
    case: PeerCase,
    threads: int,
    work: ComparisonScope,
    engines: Engines,
    left_out: list[str],
    step: Step,
) -> list[PeersRow]:
    """The results of all engines on one model; adds the reasons of failures to `left_out`."""
    loads: dict[str, list[LoadFigures]] = {name: [] for name in engines.versions}
    blocks: dict[str, list[EngineBlock]] = {name: [] for name in engines.versions}

    def load(name: str, start: Start) -> Start:
        with closing(start()) as fresh:
            loads[name].append(fresh.loaded)
        return start

    def run(name: str, engine: RunningEngine) -> RunningEngine:
        blocks[name].append(engine.run(1 + RUNS_PER_ROUND))
        return engine

    starts = _each(engines.versions, lambda name, _: engines.prepare(name, case, threads), left_out)
    total = work.loads + work.rounds
    for number in range(work.loads):
        step.update(number, total, "load")
        starts = _each(starts, load, left_out)
    with ExitStack() as stack:
        running = _each(starts, lambda _, start: stack.enter_context(closing(start())), left_out)
        for number in range(work.loads, total):
            step.update(number, total, "run")
            running = _each(running, run, left_out)
            running = _rotated(running)
    step.update(total, total)
    waited = max(statistics.mean(block.waited for block in blocks[name]) for name in running)
    return [
        PeersRow.of(
            (case.model.stem, name, threads),
            case.weights_bytes,
            loads[name],
            # The first inference finds another engine's weights in the caches.
            [block.ns[1:] for block in blocks[name]],
            waited,
        )
        for name in engines.versions
        if name in running
    ]


def _rotated(engines: Mapping[str, A]) -> dict[str, A]:
    """`engines` with the first one moved to the end."""
    first, *others = engines
    return {name: engines[name] for name in (*others, first)}


def _each(
    engines: Mapping[str, A], step: Callable[[str, A], B], left_out: list[str]
) -> dict[str, B]:
    """Maps `step` over the engines, without peers that fail, whose reasons go to `left_out`."""
    results = {}
    for name, engine in engines.items():
        try:
            results[name] = step(name, engine)
        except RunnerError as error:
            if name == US:
                raise
            left_out.append(str(error))
    return results
