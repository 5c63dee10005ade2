"""Measures loading and planning beside onnxruntime's creation of a session, from the same files."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from lab.committed import Results
from lab.loading import networks, worker
from lab.loading.worker import CACHED, LOAD, OWN, PEER, PLAN
from trimtab import __version__, files, paths, zoo
from trimtab.errors import MissingRequirementError, RunnerError
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table, number

NAME = "loading"
PROCESSES = 3  # of each kind, whose median counts
# A file is known by its state only if that is older than the clock's resolution.
_SETTLE_S = 2.5

BARS = {"resnet50": 2.0, "mobilenet_v2": 4.0, "yolov8n": 4.0, "vit_tiny": 4.0}
"""The largest ratios of CPU time to onnxruntime's that the project promises."""


@dataclass(frozen=True)
class LoadingFigures:
    """One network. Milliseconds of CPU time: by kind of creation in one process (`worker`), and of
    imports and creation in a process with one engine; `peak_mb`: its resident memory.
    """

    network: str
    cpu_ms: Mapping[str, float]
    alone_ms: Mapping[str, float]
    peak_mb: Mapping[str, float]

    @property
    def ratio(self) -> float:
        """CPU time without the cache, relative to onnxruntime's."""
        return self.cpu_ms[OWN] / self.cpu_ms[PEER]

    @property
    def peak_ratio(self) -> float:
        """Peak memory without the cache, relative to onnxruntime's."""
        return self.peak_mb[OWN] / self.peak_mb[PEER]


def names() -> tuple[str, ...]:
    """The zoo, and the networks of this experiment."""
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


def measure(
    chosen: Sequence[str], rounds: int, progress: Progress = SILENT
) -> list[LoadingFigures]:
    """Measures networks by name. MissingRequirementError without onnxruntime, RunnerError if a
    process fails.
    """
    try:
        metadata.version(PEER)
    except metadata.PackageNotFoundError:
        raise MissingRequirementError(
            f"{PEER} is not installed", hint=f".venv/bin/pip install {PEER}"
        ) from None
    measured = []
    with progress.step("measure loading", "networks") as step:
        for done, name in enumerate(chosen, 1):
            measured.append(_of_one(name, model(name, progress), rounds))
            step.update(done, len(chosen))
    return measured


def _of_one(name: str, path: Path, rounds: int) -> LoadingFigures:
    with tempfile.TemporaryDirectory(prefix="trimtab-") as cache:
        time.sleep(_SETTLE_S)
        times = _run("alternate", str(path), str(rounds), cache)
        alone: dict[str, list[Mapping[str, int]]] = {kind: [] for kind in (PEER, OWN, CACHED)}
        for _ in range(PROCESSES):
            for kind, runs in alone.items():
                runs.append(_run("alone", kind, str(path), cache))
    return LoadingFigures(
        name,
        {kind: median(values) / 1e6 for kind, values in times.items()},
        {kind: median(run["cpu_ns"] for run in runs) / 1e6 for kind, runs in alone.items()},
        {kind: median(run["peak_bytes"] for run in runs) / 1e6 for kind, runs in alone.items()},
    )


def _run(*arguments: str) -> Any:
    """The answer of a process of `worker`; RunnerError if it fails."""
    argv = [sys.executable, "-P", worker.__file__, *arguments]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    if result.returncode:
        *_, last = ["it wrote nothing", *result.stderr.strip().splitlines()]
        raise RunnerError(f"the process ended: {last}", where=" ".join(arguments))
    return json.loads(result.stdout)


def to_results(
    measured: Sequence[LoadingFigures], command: str, machine: Mapping[str, Any]
) -> Results:
    """The figures as a committed result."""
    rows = [
        {
            "network": figures.network,
            **{f"{key}_ms": round(value, 2) for key, value in figures.cpu_ms.items()},
            **{f"alone_{key}_ms": round(value, 2) for key, value in figures.alone_ms.items()},
            **{f"{key}_peak_mb": round(value, 1) for key, value in figures.peak_mb.items()},
        }
        for figures in measured
    ]
    versions = {name: metadata.version(name) for name in (PEER, "onnx", "numpy")}
    versions["trimtab"] = __version__
    return Results(command=command, machine=machine, versions=versions, rows=rows)


def from_rows(rows: Sequence[Mapping[str, Any]]) -> list[LoadingFigures]:
    """The figures of a committed result."""
    kinds = PEER, OWN, CACHED
    return [
        LoadingFigures(
            row["network"],
            {kind: row[f"{kind}_ms"] for kind in (*kinds, LOAD, PLAN)},
            {kind: row[f"alone_{kind}_ms"] for kind in kinds},
            {kind: row[f"{kind}_peak_mb"] for kind in kinds},
        )
        for row in rows
    ]


def table(measured: Sequence[LoadingFigures]) -> Table:
    """CPU times in milliseconds, and memory in MB, of each network."""
    columns = [
        Column("network"),
        number("onnxruntime", ".0f"),
        number("trimtab", ".0f"),
        number("ratio", ".2f"),
        number("loading", ".0f"),
        number("planning", ".0f"),
        number("cached", ".0f"),
        number("peak of onnxruntime", ".0f"),
        number("of trimtab", ".0f"),
        number("ratio", ".2f", key="peak_ratio"),
    ]
    rows = [
        (
            figures.network,
            *(figures.cpu_ms[kind] for kind in (PEER, OWN)),
            figures.ratio,
            *(figures.cpu_ms[kind] for kind in (LOAD, PLAN, CACHED)),
            *(figures.peak_mb[kind] for kind in (PEER, OWN)),
            figures.peak_ratio,
        )
        for figures in measured
    ]
    return Table(columns, rows)


def alone_table(measured: Sequence[LoadingFigures]) -> Table:
    """CPU times of whole starts: imports and creation, in a process of its own."""
    columns = [Column("network"), *(number(name, ".0f") for name in (PEER, OWN, CACHED))]
    rows = [(f.network, *(f.alone_ms[kind] for kind in (PEER, OWN, CACHED))) for f in measured]
    return Table(columns, rows)
