"""Builds the cells of a sweep, and caches the builds for later runs.

A build task travels to the process that executes it, so it holds the model and the plan as bundles
of files. The cache has one file per build, named after everything that determines its result.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab import files, importers, paths, strict_json, zoo
from trimtab.bench import archive
from trimtab.errors import TrimtabError, UsageError
from trimtab.paths import PROGRAM
from trimtab.pipeline import input_shapes
from trimtab.pipeline.built import build, subject_of
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.loaded import load
from trimtab.pipeline.measured import expected_output
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.resolve import read_plan
from trimtab.pipeline.stores import sweep_store
from trimtab.sweep import inputs
from trimtab.sweep.bundle import FileBundle
from trimtab.sweep.matrix import TUNED, Cell

_UNLIMITED = 10**9  # the archive keeps all builds while a sweep runs


@dataclass(frozen=True)
class BuildIdentity:
    """SHA-256 of a build's binary and model, in hex, and the seconds that the build took."""

    binary_sha256: str
    model_sha256: str
    seconds: float

    @property
    def hashes(self) -> tuple[str, str]:
        """The hashes of binary and model."""
        return self.binary_sha256, self.model_sha256


@dataclass(frozen=True)
class BuildTask:
    """A request to build a cell; the cell's device has no influence.

    `network` has all files of the model, None for a network of the zoo. `plan` is the plan file, if
    any. `sources` is the hash of the trimtab that must execute the task; `key` that of the inputs.
    """

    cell: Cell
    network: FileBundle | None
    plan: FileBundle | None
    sources: str
    key: str = ""


@dataclass(frozen=True)
class CellBuild:
    """A finished build; `archived` is its folder in `trimtab.bench.archive`, `key` that of its
    task.
    """

    identity: BuildIdentity
    archived: FileBundle
    key: str = ""


def recipe_of(cell: Cell, model: Path, plan_file: Path | None) -> Recipe:
    """The recipe of a cell whose model and plan are these files."""
    shapes, cameras, views = input_shapes.parse_all(cell.input)
    return Recipe(
        model=cell.model if cell.model in zoo.names() else str(model),
        profile=cell.profile,
        toolchain=cell.toolchain,
        cpu=cell.cpu,
        shapes=shapes,
        cameras=cameras,
        plan=read_plan(
            str(plan_file or ""),
            prefer=cell.prefer,
            weights=cell.weights,
            accuracy=cell.accuracy,
            precision=cell.precision,
            threads=cell.threads,
        ),
        calibration=Calibration(samples=cell.calibration, budget=cell.budget, views=views),
    )


def build_cell(task: BuildTask) -> CellBuild:
    """Builds a cell and archives the result.

    Raises the errors of a build, and UsageError if this trimtab is not the one that sent the task.
    """
    inputs.check_sources(task.sources)
    begin_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="trimtab-") as name:
        scratch = Path(name)
        model = Path(task.cell.model)
        if task.network:
            model = task.network.into(scratch) / model.name
        plan_file = task.plan.into(scratch) / Path(task.cell.plan).name if task.plan else None
        recipe = dataclasses.replace(
            recipe_of(task.cell, model, plan_file),
            output=scratch / "build",
            measurement=MeasurementRequest(task.cell.device),
        )
        built = build(plan(load(recipe)))
        subject = archive.store(
            subject_of(built), expected_output(built), sweep_store(), limit=_UNLIMITED
        )
    seconds = time.monotonic() - begin_s
    identity = BuildIdentity(files.sha256(subject.binary), files.sha256(subject.model), seconds)
    return CellBuild(identity, FileBundle.of_folder(subject.binary.parent), task.key)


class BuildCache:
    """The builds of earlier sweeps, in the cache folder, and those of this trimtab."""

    def __init__(self) -> None:
        self._sources = inputs.source_hash()

    def find(self, cell: Cell) -> BuildIdentity | None:
        """The cached build, or None if it is missing or an input file has changed."""
        entry = _read_entry(_entry_file(_key(cell, self._sources)))
        if not entry:
            return None
        identity = BuildIdentity(entry["binary"], entry["model"], entry["seconds"])
        folder = archive.folder_of(*identity.hashes, sweep_store())
        return identity if folder.is_dir() else None

    def task(self, cell: Cell) -> BuildTask:
        """The task that builds a cell, with its files. Errors of `importers.files`."""
        network = plan_file = None
        if cell.model not in zoo.names():
            path = Path(cell.model)
            network = FileBundle("model", path.parent, importers.files(path))
        if cell.plan == TUNED:
            raise UsageError(
                "the plan was not tuned", where=str(cell), hint=f"{PROGRAM} tune shows the reason"
            )
        if cell.plan:
            plan_file = FileBundle("plan", Path(cell.plan).parent, [Path(cell.plan)])
        key = inputs.digest(cell, self._sources)
        return BuildTask(cell, network, plan_file, self._sources, key)

    def store(self, cell: Cell, result: CellBuild) -> None:
        """Archives a build that another process made, and records its identity, unless its inputs
        have changed meanwhile.
        """
        result.archived.into(sweep_store())
        if result.key != _key(cell, inputs.source_hash()):
            return
        identity = result.identity
        entry = {
            "build": str(cell),
            "binary": identity.binary_sha256,
            "model": identity.model_sha256,
            "seconds": identity.seconds,
        }
        files.write_text(_entry_file(result.key), strict_json.dumps(entry) + "\n")


def build_durations() -> dict[str, float]:
    """Seconds that each cached build took, by the build's name."""
    entries = map(_read_entry, _cache_folder().glob("*.json"))
    return {entry["build"]: entry["seconds"] for entry in entries if entry}


def _cache_folder() -> Path:
    return paths.cache() / "sweep" / "builds"


def _key(cell: Cell, sources: str) -> str:
    """The present key of a cell; "" if it cannot be built, which the build reports."""
    try:
        return inputs.digest(cell, sources)
    except TrimtabError:
        return ""


def _entry_file(key: str) -> Path:
    return _cache_folder() / f"{key[:24]}.json"


def _read_entry(path: Path) -> dict[str, Any] | None:
    """One entry of the cache; None if the file is missing or incomplete."""
    try:
        entry = strict_json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    types = {"build": str, "binary": str, "model": str, "seconds": float}
    is_complete = isinstance(entry, dict) and all(
        isinstance(entry.get(key), kind) for key, kind in types.items()
    )
    return entry if is_complete else None
