"""Loads the model files of published packages, and compares results with their own runtimes."""

from __future__ import annotations

import fnmatch
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import lab
from lab.committed import Results
from lab.formats.fetch import Package, listing, packages
from lab.formats.runtimes import IMAGE_SIZE, RUNTIMES
from lab.formats.worker import NOT_RUN, STATUSES
from trimtab.progress import SILENT, Progress

NAME = "formats"
_TIMEOUT_SECONDS = 300
_PACKAGES = ("ai-edge-litert", "ncnn", "onnxruntime", "opencv-python-headless")


@dataclass(frozen=True)
class FileOutcome:
    """The status of a model file, with the reason unless it matches."""

    package: str
    file: str
    runtime: str
    status: str
    reason: str


def model_files(root: Path) -> Iterator[tuple[Package, Path]]:
    """The model files of the packages below `root`. A file that several packages have counts once
    for each.
    """
    for package in packages():
        for path in sorted(package.folder(root).rglob("*")):
            if path.suffix in RUNTIMES:
                yield package, path


def measure(root: Path, progress: Progress = SILENT) -> list[FileOutcome]:
    """The outcome of each file, in a process of its own."""
    outcomes = []
    shapes = listing()["shapes"]
    with progress.step("compare model files", "files") as step:
        for done, (package, path) in enumerate(chosen := [*model_files(root)], 1):
            file = path.relative_to(package.folder(root)).as_posix()
            status, reason = _outcome(path, _shape(file, shapes))
            runtime = RUNTIMES[path.suffix][0]
            reason = " ".join(reason.replace(str(path), path.name).split())
            outcomes.append(FileOutcome(package.title, file, runtime, status, reason))
            step.update(done, len(chosen), f"{path.name}: {status}")
    return outcomes


def _shape(file: str, shapes: Mapping[str, Sequence[int]]) -> Sequence[int]:
    fitting = (shape for pattern, shape in shapes.items() if fnmatch.fnmatch(file, pattern))
    return next(fitting, [1, 3, IMAGE_SIZE, IMAGE_SIZE])


def _outcome(path: Path, shape: Sequence[int]) -> tuple[str, str]:
    command = [sys.executable, "-m", "lab.formats.worker", str(path), json.dumps(list(shape))]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
            cwd=lab.FOLDER.parent,
        )
        status, reason = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return NOT_RUN, f"it takes more than {_TIMEOUT_SECONDS} s"
    except (ValueError, IndexError):
        return NOT_RUN, f"the process ended with {done.returncode}"
    return str(status), str(reason)


def counts(outcomes: Sequence[FileOutcome]) -> list[tuple[str | int, ...]]:
    """Numbers of files by runtime and status, and their totals."""
    runtimes = [name for name, _ in RUNTIMES.values()]
    numbers = Counter((o.runtime, o.status) for o in outcomes)
    totals = Counter(o.status for o in outcomes)
    rows: list[tuple[str | int, ...]] = [
        (name, *(numbers[name, status] for status in STATUSES)) for name in runtimes
    ]
    return [*rows, ("all", *(totals[status] for status in STATUSES))]


def to_results(
    outcomes: Sequence[FileOutcome], failed: Mapping[Package, str], command: str
) -> Results:
    """The content of the result file: one row per file."""
    return Results(
        command=command,
        versions={name: metadata.version(name) for name in _PACKAGES},
        notes=[f"not fetched: {package.title}: {why}" for package, why in failed.items()],
        rows=[asdict(outcome) for outcome in outcomes],
    )
