"""Measures loading and planning beside onnxruntime's creation of a session, from the same files."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from lab.loading import networks, worker
from lab.loading.worker import CACHED, OWN, PEER
from lab.worker import ask_once
from trimtab import files, paths, zoo
from trimtab.errors import MissingRequirementError
from trimtab.progress import SILENT, Progress
from trimtab.tables import Table

PROCESSES = 3  # of each kind, whose median counts
# A file is known by its state only if that is older than the clock's resolution.
_SETTLE_S = 2.5

BARS = {"resnet50": 2.0, "mobilenet_v2": 4.0, "yolov8n": 4.0, "vit_tiny": 4.0}
"""The largest ratios of CPU time to onnxruntime's that the project promises."""


@figure_row
class LoadingRow(FigureRow):
    """One network. Milliseconds of CPU time: by kind of creation in one process (`worker`), and of
    imports and creation in a process with one engine (`alone`); resident memory of the latter in
    MB.
    """

    network: str = text("network")
    onnxruntime_ms: float = figure("onnxruntime", ".0f", digits=2)
    trimtab_ms: float = figure("trimtab", ".0f", digits=2)
    cached_ms: float = figure("cached", ".0f", digits=2)
    load_ms: float = figure("loading", ".0f", digits=2)
    plan_ms: float = figure("planning", ".0f", digits=2)
    alone_onnxruntime_ms: float = figure(PEER, ".0f", digits=2)
    alone_trimtab_ms: float = figure(OWN, ".0f", digits=2)
    alone_cached_ms: float = figure(CACHED, ".0f", digits=2)
    onnxruntime_peak_mb: float = figure("peak of onnxruntime", ".0f", digits=1)
    trimtab_peak_mb: float = figure("of trimtab", ".0f", digits=1)
    cached_peak_mb: float = figure(digits=1)
    ratio: float = computed("ratio", ".2f", of=lambda row: row.trimtab_ms / row.onnxruntime_ms)
    peak_ratio: float = computed(
        "ratio", ".2f", of=lambda row: row.trimtab_peak_mb / row.onnxruntime_peak_mb
    )


LOADING = Experiment(
    "bench.loading",
    "loading",
    LoadingRow,
    packages=(PEER, "onnx", "numpy"),
    selection=("network",),
    is_timed=True,
)


def names() -> tuple[str, ...]:
    """The zoo, and the network of this experiment."""
    return tuple(sorted((*zoo.names(), *networks.BUILDERS)))


def model(name: str, progress: Progress = SILENT) -> Path:
    """The ONNX file of a network, in the cache."""
    if name not in networks.BUILDERS:
        return zoo.cached(name, progress)
    path = paths.cache() / "loading" / f"{name}.onnx"
    data = networks.BUILDERS[name]().SerializeToString(deterministic=True)
    if not path.exists() or path.read_bytes() != data:
        files.write_bytes(path, data)
    return path


def measure(chosen: Sequence[str], rounds: int, progress: Progress = SILENT) -> list[LoadingRow]:
    """Measures networks by name. MissingRequirementError without onnxruntime, RunnerError if a
    process fails.
    """
    try:
        metadata.version(PEER)
    except metadata.PackageNotFoundError:
        raise MissingRequirementError(
            f"{PEER} is not installed", hint=f".venv/bin/pip install {PEER}"
        ) from None
    rows = []
    with progress.step("measure loading", "networks") as step:
        for done, name in enumerate(chosen, 1):
            rows.append(_of_one(name, model(name, progress), rounds))
            step.update(done, len(chosen))
    return rows


def _of_one(name: str, path: Path, rounds: int) -> LoadingRow:
    with tempfile.TemporaryDirectory(prefix="trimtab-") as cache:
        time.sleep(_SETTLE_S)
        times = _run("alternate", str(path), str(rounds), cache)
        alone: dict[str, list[Mapping[str, int]]] = {kind: [] for kind in (PEER, OWN, CACHED)}
        for _ in range(PROCESSES):
            for kind, runs in alone.items():
                runs.append(_run("alone", kind, str(path), cache))
    figures = {f"{kind}_ms": median(values) / 1e6 for kind, values in times.items()}
    for kind, runs in alone.items():
        figures[f"alone_{kind}_ms"] = median(run["cpu_ns"] for run in runs) / 1e6
        figures[f"{kind}_peak_mb"] = median(run["peak_bytes"] for run in runs) / 1e6
    return LoadingRow(name, **figures)


def _run(*arguments: str) -> Any:
    """The answer of a process of `worker`; RunnerError if it fails."""
    return ask_once([sys.executable, "-P", worker.__file__, *arguments], " ".join(arguments))


def tables(rows: Sequence[LoadingRow]) -> tuple[Table, Table]:
    """CPU times in milliseconds, and memory in MB, of each network in one process; and CPU times of
    whole starts, imports included.
    """
    names = ("network", "onnxruntime_ms", "trimtab_ms", "ratio", "load_ms", "plan_ms", "cached_ms")
    peaks = ("onnxruntime_peak_mb", "trimtab_peak_mb", "peak_ratio")
    alone = (f"alone_{kind}_ms" for kind in (PEER, OWN, CACHED))
    return LoadingRow.table(rows, *names, *peaks), LoadingRow.table(rows, "network", *alone)
