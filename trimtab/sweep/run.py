"""Sweeps: many configurations built, measured and told apart."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from trimtab import files, paths, zoo
from trimtab.bench import archive, protocol
from trimtab.bench.jobs import Job, Schedule, Settings, Turn
from trimtab.build.toolchain import find_toolchain
from trimtab.compare import noise_floor as floors
from trimtab.compare import paired
from trimtab.compare.ab import floors_folder
from trimtab.devices import find_device
from trimtab.errors import ModelFileError, UsageError
from trimtab.pipeline.built import build as build_network
from trimtab.pipeline.built import subject_of
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.loaded import load
from trimtab.pipeline.measured import expected_output
from trimtab.pipeline.planned import plan as plan_network
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.resolve import model_path, read_plan
from trimtab.pipeline.stores import sweep_store
from trimtab.profile import find_profile
from trimtab.progress import SILENT, Progress
from trimtab.results import index
from trimtab.sweep import build_memos as memos
from trimtab.sweep import cell_log, matrix, revision
from trimtab.sweep.bundle import Bundle
from trimtab.sweep.campaign import Campaign, Outcome, newest
from trimtab.sweep.cell_log import Seen
from trimtab.sweep.estimate import Pace
from trimtab.sweep.executor import ALL, CPU, Executor, Needs
from trimtab.sweep.matrix import Cell, Sweep
from trimtab.sweep.summary import varying
from trimtab.sweep.tasks import (
    BuildTask,
    Built,
    Candidate,
    Identity,
    Measured,
    MeasureTask,
)
from trimtab.tables import Column, Table

MOST_KEPT = 400  # builds of sweeps, beyond those of the one that goes on
_SIDES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def find(file: str) -> Path:
    """The sweep of that path, or else of that name among those that come with trimtab."""
    path, own = Path(file), paths.root() / "sweeps" / f"{file}.toml"
    return own if path.name == file and not path.exists() and own.is_file() else path


def read(path: Path) -> Sweep:
    """The sweep of a file, its cells with toolchain and core of their devices.

    UsageError for what is wrong in the file, and the error of a device, toolchain, profile, plan or
    core that there is not: before anything is built.
    """
    sweep = matrix.read(path)
    cells = []
    for cell in sweep.cells:
        recipe = Recipe(toolchain=cell.toolchain, cpu=cell.cpu).on_device(find_device(cell.device))
        resolved = dataclasses.replace(cell, toolchain=recipe.toolchain, cpu=recipe.cpu)
        _check(resolved, path)
        cells.append(resolved)
    if too_many := [g for g in sweep.groups(cells) if len(g) > len(_SIDES)]:
        raise UsageError(
            f"{len(too_many[0])} cells would take turns, the most is {len(_SIDES)}",
            where=str(path),
            hint="compare fewer axes",
        )
    return dataclasses.replace(sweep, cells=tuple(dict.fromkeys(cells)))


def _check(cell: Cell, path: Path) -> None:
    if cell.model not in zoo.names() and not Path(cell.model).is_file():
        raise UsageError(
            f"model {cell.model!r} is neither a file there nor a network of the zoo",
            where=str(path),
            hint=f"paths are relative to the sweep's file; ./inv zoo: {', '.join(zoo.names())}",
        )
    find_toolchain(cell.toolchain).core(cell.cpu)
    if cell.profile:
        find_profile(cell.profile)
    _recipe(cell, Path(cell.model), Path(cell.plan) if cell.plan else None)


def run(
    sweep: Sweep,
    path: Path,
    folder: Path,
    *,
    executor: Executor,
    resume: bool = False,
    progress: Progress = SILENT,
) -> list[Outcome]:
    """Builds and measures what is missing of the sweep in the file `path`; records go into
    `folder`. See `Campaign`.
    """
    shop = Workshop(path)
    campaign = Campaign(
        sweep,
        shop,
        executor,
        folder,
        resume,
        progress,
        is_still=any(cell.device in _transports(sweep, "local") for cell in sweep.cells),
        seconds_left=pace(sweep, folder).seconds,
    )
    try:
        outcomes = campaign.run()
        keyed = [(cell, campaign.key(cell)) for cell in sweep.cells]
        seen = [Seen(key, sweep.series(c), c.configuration) for c, key in keyed if key]
        if seen:
            cell_log.write(sweep.name, shop.revisions, seen, folder)
        return outcomes
    finally:
        archive.trim(sweep_store(), max(MOST_KEPT, len(sweep.cells)))


@dataclass(frozen=True)
class Listed:
    """A cell before it is measured: its status so far, "" without one; whether it is built."""

    cell: Cell
    status: str
    is_built: bool


def survey(sweep: Sweep, path: Path, folder: Path) -> tuple[list[Listed], float]:
    """What there is of a sweep, and about how many seconds the rest takes."""
    shop = Workshop(path)
    known = newest(index.entries(folder))
    listed: list[Listed] = []
    builds: dict[Cell, None] = {}
    left: list[Cell] = []
    for cell in sweep.cells:
        identity, status = shop.identity(cell.binary), ""
        if identity:
            key = sweep.key(cell, identity.binary_sha256, identity.model_sha256)
            status = known[key].status if key in known else ""
        else:
            builds[cell.binary] = None
        if not status:
            left.append(cell)
        listed.append(Listed(cell, status, identity is not None))
    return listed, pace(sweep, folder).seconds(builds, left)


def listing(listed: Sequence[Listed]) -> Table:
    """For people."""
    axes = varying([one.cell for one in listed])
    rows = [
        (
            *(one.cell.configuration.get(axis, "") for axis in axes),
            one.status or ("built" if one.is_built else "to be built"),
        )
        for one in listed
    ]
    return Table([*map(Column, axes), Column("state")], rows)


def pace(sweep: Sweep, folder: Path) -> Pace:
    """How fast this sweep is, by what was measured into `folder` before."""
    return Pace(
        sweep,
        index.entries(folder),
        {memo["build"]: memo["seconds"] for memo in memos.every()},
        len(os.sched_getaffinity(0)),
        _transports(sweep, "local"),
        _transports(sweep, "qemu_user"),
    )


def _transports(sweep: Sweep, name: str) -> list[str]:
    devices = dict.fromkeys(cell.device for cell in sweep.cells)
    return [device for device in devices if find_device(device).transport == name]


def _recipe(cell: Cell, model: Path, plan: Path | None) -> Recipe:
    chosen = read_plan(str(plan or ""), cell.prefer, cell.weights, cell.precision, cell.threads)
    return Recipe(
        model=cell.model if cell.model in zoo.names() else str(model),
        profile=cell.profile,
        toolchain=cell.toolchain,
        cpu=cell.cpu,
        plan=chosen,
        calibration=Calibration(samples=cell.calibration, budget=cell.budget),
    )


def build(task: BuildTask) -> Built:
    """Builds a cell and keeps what it made; raises whatever a build does, and UsageError where
    another trimtab would build it.
    """
    _check_sources(task.sources)
    begin_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="trimtab-") as name:
        scratch = Path(name)
        model = Path(task.cell.model)
        if task.network:
            model = task.network.into(scratch) / model.name
        plan = task.plan.into(scratch) / Path(task.cell.plan).name if task.plan else None
        recipe = dataclasses.replace(
            _recipe(task.cell, model, plan),
            output=scratch / "made",
            measurement=MeasurementRequest(task.cell.device),
        )
        built = build_network(plan_network(load(recipe)))
        subject = subject_of(built)
        subject = archive.keep(subject, expected_output(built), sweep_store(), most=_NO_LIMIT)
    identity = Identity(
        files.sha256(subject.binary), files.sha256(subject.model), time.monotonic() - begin_s
    )
    return Built(identity, Bundle.of_folder(subject.binary.parent))


_NO_LIMIT = 10**9  # while a sweep goes on, what it has built stays


def measure(task: MeasureTask) -> tuple[Measured, ...]:
    """Measures cells on their device; what fails there is in the records.

    Raises what has no record: the device is not there, or is another's.
    """
    _check_sources(task.sources)
    definition = find_device(task.device)
    sides = []
    for candidate in task.candidates:
        candidate.kept.into(sweep_store())
        hashes = candidate.identity.binary_sha256, candidate.identity.model_sha256
        sides.append(archive.read(*hashes, sweep_store()))
    seed, count = uuid4().int % 2**32, len(sides)
    with definition.open() as device, tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        info = device.describe()
        settings = task.settings.counted() if info.is_emulated else task.settings
        settings = settings.resolved(is_emulated=info.is_emulated)
        known = floors.read(definition.name, floors_folder())
        turns: dict[str, Any] = {"comparison": uuid4().hex[:12], "seed": seed, "is_duet": False}
        turns["floor"] = asdict(known) if known else None
        schedule: Schedule = [[Turn(side)] for side in range(count)]
        if count == 1:
            turns, schedule = {}, [[Turn(0)]] * (settings.launches or 1)
        elif not info.is_emulated:
            settings = _in_blocks(settings)
            order = paired.order(settings.launches or 1, seed, count)
            schedule = [
                [Turn(side, place={"block": block, "turn": turn})]
                for turn, (side, block) in enumerate(order)
            ]
        jobs = []
        for letter, (subject, expected), candidate in zip(
            _SIDES, sides, task.candidates, strict=False
        ):
            own = dataclasses.replace(settings, threads=candidate.cell.threads)
            role = {**(turns and {**turns, "side": letter}), "sweep": candidate.role}
            jobs.append(Job(subject, expected, own, role))
        outcomes = protocol.measure_all(device, info, jobs, schedule, Path(scratch))
        return tuple(Measured(o.path.name, o.path.read_bytes()) for o in outcomes)


def _in_blocks(settings: Settings) -> Settings:
    """Whole blocks, and two of them at least: what a comparison takes."""
    per_block = paired.LAUNCHES_PER_BLOCK
    blocks = max(2, math.ceil((settings.launches or 1) / per_block))
    return dataclasses.replace(settings, launches=blocks * per_block)


class Workshop:
    """Builds and measures the cells of the sweep in one file; see `campaign.Workshop`."""

    build: Callable[[BuildTask], Built] = staticmethod(build)
    measure: Callable[[MeasureTask], tuple[Measured, ...]] = staticmethod(measure)

    def __init__(self, path: Path) -> None:
        """`path`: of the sweep's file."""
        self._sources = memos.sources()
        self.revisions = revision.both(paths.root(), path.resolve().parent)

    def identity(self, cell: Cell) -> Identity | None:
        """Of a build that is kept; None where one of its files is another now, or is not there."""
        try:
            memo = memos.read(self._memo_file(cell))
        except OSError:
            return None
        if not memo:
            return None
        found = Identity(memo["binary"], memo["model"], memo["seconds"])
        folder = archive.folder_of(found.binary_sha256, found.model_sha256, sweep_store())
        return found if folder.is_dir() else None

    def build_task(self, cell: Cell) -> BuildTask:
        """With the files that it takes; ModelFileError when they are not there."""
        network = plan = None
        if cell.model not in zoo.names():
            path = Path(cell.model)
            beside = [p for p in sorted(path.parent.glob(f"{path.stem}.*")) if p.is_file()]
            if path not in beside:
                raise ModelFileError("there is no such file", where=str(path))
            network = Bundle("model", beside)
        if cell.plan:
            plan = Bundle("plan", [Path(cell.plan)])
        return BuildTask(cell, network, plan, self._sources)

    def keep(self, cell: Cell, built: Built) -> None:
        """Keeps what was built, and that this cell is it."""
        built.kept.into(sweep_store())
        identity = built.identity
        memo = {
            "build": str(cell),
            "binary": identity.binary_sha256,
            "model": identity.model_sha256,
            "seconds": identity.seconds,
        }
        files.write_text(self._memo_file(cell), json.dumps(memo) + "\n")

    def measure_task(self, sweep: Sweep, cells: Mapping[Cell, Identity]) -> MeasureTask:
        """With the kept builds, and what the records are to say of the sweep."""
        candidates = []
        for cell, identity in cells.items():
            hashes = identity.binary_sha256, identity.model_sha256
            role = {
                "name": sweep.name,
                "cell": sweep.key(cell, *hashes),
                "series": sweep.series(cell),
                "configuration": cell.configuration,
                "revisions": self.revisions,
            }
            bundle = Bundle.of_folder(archive.folder_of(*hashes, sweep_store()))
            candidates.append(Candidate(cell, identity, bundle, role))
        device = candidates[0].cell.device
        return MeasureTask(device, tuple(candidates), sweep.protocol.settings, self._sources)

    def needs(self, device: str) -> Needs:
        """The device; CPU to emulate it; and all of this machine for times of it."""
        transport = find_device(device).transport
        of_cpu: dict[str, Needs] = {"local": {CPU: ALL}, "qemu_user": {CPU: 1}}
        return {device: 1, **of_cpu.get(transport, {})}

    def takes_turns(self, device: str) -> bool:
        """Emulated devices count, and exactly."""
        return find_device(device).transport != "qemu_user"

    def _memo_file(self, cell: Cell) -> Path:
        """Named after all that decides what a build makes; raises OSError for a file that cannot be
        read.
        """
        facts: list[object] = [self._sources, cell.configuration]
        model = model_path(cell.model)
        for path in (model, *(Path(p) for p in (cell.plan, cell.calibration) if p)):
            facts.append(memos.digest(path))
        if cell.profile:
            facts.append(find_profile(cell.profile).digest())
        name = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]
        return memos.folder() / f"{name}.json"


def _check_sources(wanted: str) -> None:
    if wanted != memos.sources():
        raise UsageError(
            "this worker has another trimtab than the one that began the sweep",
            hint="install the same version, or check out the same commit, and start it again",
        )
