"""Networks on this machine: built, checked, and timed alone and beside other engines."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.exclusive import exclusive
from lab.experiment import FigureRow, computed, figure, figure_row, text
from lab.peers.compare import US, ComparisonScope, Engines, Installed, compare
from lab.peers.converted import normal_samples
from lab.peers.quantized import quantized
from trimtab.bench.jobs import Settings
from trimtab.devices.control import Control
from trimtab.errors import TrimtabError
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.card import CardEntry, entry
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.resolve import read_plan
from trimtab.progress import Progress

PEERS = ("onnxruntime", "ncnn", "litert", "executorch")
PRECISIONS = ("f32", "f16", "int8")
LAUNCHES, MIN_TIME_MS = 3, 1000  # of the shipped binary; the comparison has rounds of its own
WRONG = 0.1  # error of an output, relative to its largest magnitude, that is no rounding error
_BESIDE = (".tflite", ".pte")


def _ratio(engines_ms: Mapping[str, float]) -> float | None:
    peers = [ms for name, ms in engines_ms.items() if name != US]
    return engines_ms[US] / min(peers) if peers and US in engines_ms else None


@figure_row
class SiliconRow(FigureRow):
    """A network in a precision on a number of threads.

    `alone_ms`: median of the shipped binary; `outputs`: how they compare with the oracle's;
    `engines_ms`: medians of the interleaved rounds by engine, trimtab among them. Bytes are those
    of the shipped binary and of its model. Engines compute in float32, except in int8, where all
    read the same QDQ file; nothing is beside f16. `ratio`: trimtab's time by that of the fastest
    peer, None without one.
    """

    network: str = text("network")
    precision: str = text("precision")
    threads: int = figure("threads", "d")
    binary_bytes: int = figure()
    model_bytes: int = figure()
    alone_ms: float | None = figure("alone, ms", ".2f", absent="-", digits=4)
    outputs: str = figure()
    engines_ms: Mapping[str, float] = figure(default_factory=dict)
    ratio: float | None = computed(
        "ratio to the best", ".2f", absent="-", of=lambda row: _ratio(row.engines_ms)
    )


@dataclass(frozen=True)
class SiliconPlan:
    """The scope of a measurement. `python`: the interpreter of the peers, "" for none; `minutes`: a
    network that would begin later is left out; `results`: the folder of run records; `wait_s`: how
    long to wait for another measurement on this machine.
    """

    models: Sequence[Path]
    precisions: Sequence[str]
    threads: Sequence[int]
    rounds: int
    python: str
    minutes: float
    results: Path
    wait_s: float = 0.0


@dataclass
class SiliconFigures:
    """`left_out`: reasons why an engine or a network has no figures; `failed`: those that are a
    failure of trimtab. `versions`: of the engines.
    """

    rows: list[SiliconRow] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def measure(plan: SiliconPlan, cache: Path, progress: Progress) -> SiliconFigures:
    """Measures each network in each precision. `cache`: for files of other engines."""
    measured = SiliconFigures()
    end = time.monotonic() + plan.minutes * 60
    for model in plan.models:
        for precision in plan.precisions:
            name = f"{model.stem} in {precision}"
            if time.monotonic() > end:
                measured.left_out.append(f"{name}: the {plan.minutes:g} minutes were over")
                continue
            with progress.step(name):
                _measure_network(model, precision, plan, cache, measured, progress)
    return measured


def _measure_network(
    model: Path,
    precision: str,
    plan: SiliconPlan,
    cache: Path,
    into: SiliconFigures,
    progress: Progress,
) -> None:
    for threads in plan.threads:
        subject = quantized(model, cache) if precision == "int8" else model
        recipe = _recipe(subject, precision, threads, plan)
        # The plan of a network that is int8 already is one of floats.
        one = replace(entry(recipe, None, progress), precision=precision)
        if one.run is None or not one.is_measured:
            why = one.reason or (one.run.message if one.run else "")
            into.failed.append(f"{one.network} in {precision}: {why}")
            return
        row = _row(one, threads)
        try:
            row = replace(row, engines_ms=_beside(subject, row, plan, cache, into, progress))
        except TrimtabError as error:
            into.left_out.append(f"{one.network} in {precision} beside others: {error.what}")
        into.rows.append(row)


def _recipe(model: Path, precision: str, threads: int, plan: SiliconPlan) -> Recipe:
    control = Control(wait_s=plan.wait_s)
    settings = Settings(
        threads=threads, launches=LAUNCHES, min_time_ms=MIN_TIME_MS, control=control
    )
    is_half = precision == "f16"
    # Samples tell whether values fit in f16.
    samples = str(normal_samples(model, model.parent)) if is_half else ""
    return Recipe(
        model=str(model),
        plan=read_plan("", precision="f16" if is_half else "", threads=threads),
        calibration=Calibration(samples),
        measurement=MeasurementRequest("local", settings, plan.results),
    )


def _row(entry: CardEntry, threads: int) -> SiliconRow:
    assert entry.run is not None
    latency = entry.run.figure("latency")
    sizes = [entry.run.figure(key) for key in ("binary_bytes", "model_bytes")]
    binary, model = (int(size.value) if size else 0 for size in sizes)
    alone = latency.value / 1e6 if latency else None
    return SiliconRow(
        entry.network, entry.precision, threads, binary, model, alone, entry.run.golden
    )


def _beside(
    model: Path,
    row: SiliconRow,
    plan: SiliconPlan,
    cache: Path,
    into: SiliconFigures,
    progress: Progress,
) -> dict[str, float]:
    """Medians of interleaved rounds by engine; empty where nothing can be beside trimtab."""
    if not plan.python or row.precision == "f16":
        return {}
    is_quantized = row.precision == "int8"
    scope = ComparisonScope([model], [row.threads], plan.rounds, loads=1)
    engines: Engines = Installed(plan.python, quantized=is_quantized, only=PEERS)
    into.versions |= engines.versions
    absent = [name for name in PEERS if name not in engines.versions and not is_quantized]
    with exclusive("bench.silicon", plan.wait_s, progress):
        comparison = compare(scope, engines, cache, progress)
    reasons = [*(f"{name}: it is not installed" for name in absent), *comparison.left_out]
    into.left_out += [reason for reason in reasons if reason not in into.left_out]
    wrong = [result for result in comparison.results if not result.error <= WRONG]
    into.left_out += [f"{r.engine} on {r.network}: its error is {r.error:.2g}" for r in wrong]
    return {
        result.engine: round(result.median_ms, 4)
        for result in comparison.results
        if result not in wrong
    }


def gathered(models: Sequence[Path], folder: Path) -> list[Path]:
    """Copies of ONNX networks in one folder, with their files for other engines, which may be there
    already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copies = []
    for model in models:
        for path in (model, *(model.with_suffix(suffix) for suffix in _BESIDE)):
            target = folder / path.name
            if path.is_file() and path.resolve() != target.resolve():
                shutil.copy(path, target)
        copies.append(folder / model.name)
    return copies
