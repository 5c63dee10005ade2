"""Measures single operators and short chains beside onnxruntime and OpenVINO."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from lab import waiting
from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from lab.operators.draw import DrawnCase
from lab.peers import worker
from lab.peers.compare import INSTALL, US
from lab.peers.process import PeerCase, environment, probe
from lab.peers.report import geometric_mean
from lab.worker import WorkerProcess
from trimtab.errors import MissingRequirementError, RunnerError, TrimtabError
from trimtab.progress import SILENT, Progress
from trimtab.tables import Page

PEERS = ("onnxruntime", "openvino")
BAR = 1.10
_BLOCK_NS = 2_000_000
_MOST_RUNS = 400
_LARGEST_ERROR = 1e-3


@figure_row
class OperatorRow(FigureRow):
    """A case: milliseconds of an inference of each engine, the median of blocks, or the minimum if
    the machine was busy.

    `waited`: the largest mean share of a block of an engine for which its threads were ready and
    had no core; `error`: of trimtab, relative to the largest magnitude of the output; `samples`:
    nanoseconds of an inference in each block, by the figure that follows from them.
    """

    case: str = text("case")
    kind: str = text("operators")
    threads: int = figure("threads")
    trimtab_ms: float = figure("trimtab", ".3f", digits=4)
    onnxruntime_ms: float | None = figure("onnxruntime", ".3f", digits=4, absent="-")
    openvino_ms: float | None = figure("OpenVINO", ".3f", digits=4, absent="-")
    waited: float = figure("waited", ".0%", digits=3)
    error: float = figure()
    samples: Mapping[str, Sequence[Sequence[float]]] = figure(default_factory=dict)
    ratio: float = computed(
        "ratio",
        ".2f",
        of=lambda row: (
            row.trimtab_ms
            / min(ms for ms in (row.onnxruntime_ms, row.openvino_ms) if ms is not None)
        ),
    )


OPERATORS = Experiment(
    "bench.operators",
    "operators",
    OperatorRow,
    selection=("kind",),
    is_timed=True,
    stand_ins={"python": "PEERS/bin/python"},
)


@dataclass
class Engine:
    """A process with one engine, which loads one case after the other."""

    name: str
    python: str
    count: int = 1
    ns: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    where: str = ""
    process: WorkerProcess | None = None

    def load(self, case: PeerCase, threads: int) -> float:
        """Loads a case; returns the error of its outputs. RunnerError if the engine fails."""
        self.ns, self.waited, self.count = [], [], 1
        self.where = f"{self.name} on {case.model.stem}"
        if self.process is None:
            argv = [self.python, worker.__file__, "jobs"]
            self.process = WorkerProcess(argv, self.where, environment())
        self._ask(case.job(self.name, threads))
        self.run()
        self.count = max(1, min(_MOST_RUNS, int(_BLOCK_NS / self.ns[0])))
        self.ns, self.waited = [], []
        return case.error()

    def run(self) -> None:
        """Times a block of inferences. RunnerError if one fails."""
        answer = self._ask(str(self.count))
        self.ns.append(answer["ns"] / self.count)
        self.waited.append(answer["waited"])

    def _ask(self, line: str) -> Any:
        assert self.process
        try:
            answer = self.process.ask(line)
        except RunnerError:
            self.close()
            raise
        if "error" in answer:
            raise RunnerError(answer["error"], where=self.where)
        return answer

    def close(self) -> None:
        """Ends the process."""
        if self.process:
            self.process.close()
        self.process = None


def engines(python: str) -> tuple[list[Engine], dict[str, str]]:
    """The peers of the interpreter `python`, and trimtab in this one; and the peers' versions.
    MissingRequirementError without a peer.
    """
    versions = {name: v for name, v in probe(python).items() if name in PEERS}
    if not versions:
        raise MissingRequirementError("no peer is installed", where=python, hint=INSTALL)
    return [Engine(US, sys.executable), *(Engine(name, python) for name in versions)], versions


def measure(
    cases: Sequence[DrawnCase],
    running: Sequence[Engine],
    threads: int,
    rounds: int,
    progress: Progress = SILENT,
) -> tuple[list[OperatorRow], list[str]]:
    """The rows, and why cases or peers are left out: they fail, or their results are wrong."""
    rows: list[OperatorRow] = []
    left_out: list[str] = []
    with progress.step("measure operators", "cases") as step:
        for done, case in enumerate(cases, 1):
            with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
                try:
                    peer_case = PeerCase.of(case.write(Path(folder)), Path(folder))
                    rows += _of_one(case, peer_case, running, threads, rounds, left_out)
                except TrimtabError as error:
                    where = error.where if isinstance(error, RunnerError) else case.name
                    left_out.append(f"{where}: {error.what}")
            step.update(done, len(cases))
    return rows, left_out


def _of_one(
    case: DrawnCase,
    files: PeerCase,
    running: Sequence[Engine],
    threads: int,
    rounds: int,
    left_out: list[str],
) -> list[OperatorRow]:
    errors: dict[str, float] = {}
    able: list[Engine] = []
    for engine in running:
        try:
            errors[engine.name] = engine.load(files, threads)
        except RunnerError as error:
            left_out.append(f"{error.where}: {error.what}")
            continue
        if errors[engine.name] <= _LARGEST_ERROR:
            able.append(engine)
        else:
            left_out.append(f"{engine.name} on {case.name}: error {errors[engine.name]:.2g}")
    if US not in (names := [engine.name for engine in able]) or len(names) == 1:
        return []
    for _ in range(rounds):
        for engine in able:
            engine.run()
        able = [*able[1:], able[0]]
    waited = max(mean(engine.waited) for engine in able)
    samples = {f"{engine.name}_ms": [[round(ns)] for ns in engine.ns] for engine in able}
    ms = {name: waiting.typical(rounds, waited) / 1e6 for name, rounds in samples.items()}
    absent = {f"{name}_ms": None for name in PEERS}
    return [
        OperatorRow(
            case=case.name,
            kind=case.kind,
            threads=threads,
            waited=waited,
            error=float(f"{errors[US]:.2g}"),
            samples=samples,
            **{**absent, **ms},  # type: ignore[arg-type]
        )
    ]


def verdict(rows: Sequence[OperatorRow]) -> str:
    """Sentences: the geometric mean, the cases beyond the bar, and how busy the machine was."""
    words = []
    for threads in sorted({row.threads for row in rows}):
        ratios = [row.ratio for row in rows if row.threads == threads]
        slow = sum(ratio > BAR for ratio in ratios)
        words.append(
            f"With {threads} thread{'s' * (threads > 1)}, the geometric mean of {len(ratios)} "
            f"ratios to the better peer is {geometric_mean(ratios):.2f}; {slow} are above {BAR}."
        )
    return " ".join([*words, waiting.sentence([row.waited for row in rows], "cases")]).strip()


def page(rows: Sequence[OperatorRow]) -> Page:
    """The verdict, and all rows, the slowest first."""
    slowest = sorted(rows, key=lambda row: -row.ratio)
    return [verdict(rows), OperatorRow.table(slowest)]
