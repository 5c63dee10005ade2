"""Loads the model files of published packages, and compares results with their own runtimes."""

from __future__ import annotations

import fnmatch
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import lab
from lab.experiment import Experiment, FigureRow, figure_row, text
from lab.formats.fetch import Package, listing, packages
from lab.formats.runtimes import IMAGE_SIZE, RUNTIMES
from lab.formats.worker import MATCHES, NOT_RUN, STATUSES
from lab.worker import ask_once
from trimtab.errors import RunnerError
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table, number

_TIMEOUT_SECONDS = 300


@figure_row
class FormatsRow(FigureRow):
    """The status of a model file, with the reason unless it matches."""

    package: str = text("of")
    file: str = text("file")
    runtime: str = text("runtime")
    status: str = text("status")
    reason: str = text("reason")


FORMATS = Experiment(
    "formats",
    "formats",
    FormatsRow,
    packages=("ai-edge-litert", "ncnn", "onnxruntime", "opencv-python-headless"),
    stand_ins={"folder": "FOLDER"},
)


def model_files(root: Path) -> Iterator[tuple[Package, Path]]:
    """The model files of the packages below `root`. A file that several packages have counts once
    for each.
    """
    for package in packages():
        for path in sorted(package.folder(root).rglob("*")):
            if path.suffix in RUNTIMES:
                yield package, path


def measure(root: Path, progress: Progress = SILENT) -> list[FormatsRow]:
    """The outcome of each file, in a process of its own."""
    outcomes = []
    shapes = listing()["shapes"]
    with progress.step("compare model files", "files") as step:
        for done, (package, path) in enumerate(chosen := [*model_files(root)], 1):
            file = path.relative_to(package.folder(root)).as_posix()
            status, reason = _outcome(path, _shape(file, shapes))
            runtime = RUNTIMES[path.suffix][0]
            reason = " ".join(reason.replace(str(path), path.name).split())
            outcomes.append(FormatsRow(package.title, file, runtime, status, reason))
            step.update(done, len(chosen), f"{path.name}: {status}")
    return outcomes


def _shape(file: str, shapes: Mapping[str, Sequence[int]]) -> Sequence[int]:
    fitting = (shape for pattern, shape in shapes.items() if fnmatch.fnmatch(file, pattern))
    return next(fitting, [1, 3, IMAGE_SIZE, IMAGE_SIZE])


def _outcome(path: Path, shape: Sequence[int]) -> tuple[str, str]:
    command = [sys.executable, "-m", "lab.formats.worker", str(path), json.dumps(list(shape))]
    root = lab.FOLDER.parent
    try:
        status, reason = ask_once(command, path.name, cwd=root, timeout_s=_TIMEOUT_SECONDS)
    except RunnerError as error:
        return NOT_RUN, error.what
    return str(status), str(reason)


def tables(rows: Sequence[FormatsRow]) -> list[Table]:
    """Numbers of files by runtime and status with their totals, and the files that do not match."""
    numbers = Counter((row.runtime, row.status) for row in rows)
    totals = Counter(row.status for row in rows)
    counts: list[tuple[str | int, ...]] = [
        (name, *(numbers[name, status] for status in STATUSES)) for name, _ in RUNTIMES.values()
    ]
    counts.append(("all", *(totals[status] for status in STATUSES)))
    others = [row for row in rows if row.status != MATCHES]
    return [
        Table([Column("runtime"), *map(number, STATUSES)], counts),
        FormatsRow.table(others, "file", "package", "status", "reason"),
    ]
