"""Measures built cells of a sweep on their device: one alone, or several in interleaved rounds."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from trimtab.bench import archive, protocol
from trimtab.bench.jobs import Job, Schedule, ScheduledLaunch, Settings
from trimtab.compare import noise_floor, paired, verdicts
from trimtab.compare.ab import floors_folder, interleaved
from trimtab.devices import find_device
from trimtab.pipeline.stores import sweep_store
from trimtab.sweep.builds import BuildIdentity
from trimtab.sweep.bundle import FileBundle
from trimtab.sweep.executor import ALL, CPU, Needs
from trimtab.sweep.inputs import check_sources, source_hash
from trimtab.sweep.matrix import Cell, Sweep

ARMS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class BuiltCell:
    """A cell with its build. `role` is what the cell's record says about the sweep."""

    cell: Cell
    identity: BuildIdentity
    archived: FileBundle
    role: Mapping[str, Any]


@dataclass(frozen=True)
class MeasureTask:
    """Cells of one device to measure in interleaved rounds, or one cell alone.

    `sources` is the hash of the trimtab that must execute the task.
    """

    device: str
    cells: tuple[BuiltCell, ...]
    settings: Settings
    sources: str


@dataclass(frozen=True)
class CellRecord:
    """The record file of one cell: its name and its bytes."""

    file_name: str
    content: bytes


def measure_task(
    sweep: Sweep, builds: Mapping[Cell, BuildIdentity], revisions: Mapping[str, Any]
) -> MeasureTask:
    """The task that measures these cells of one device."""
    cells = []
    for cell, identity in builds.items():
        role = {
            "name": sweep.name,
            "cell": sweep.key(cell, *identity.hashes),
            "series": sweep.series(cell),
            "configuration": cell.configuration,
            "revisions": revisions,
        }
        folder = archive.folder_of(*identity.hashes, sweep_store())
        cells.append(BuiltCell(cell, identity, FileBundle.of_folder(folder), role))
    device = cells[0].cell.device
    return MeasureTask(device, tuple(cells), sweep.protocol.settings, source_hash())


def measure_cells(task: MeasureTask) -> tuple[CellRecord, ...]:
    """Measures the cells of a task; a failure on the device ends up in the records.

    Raises what leaves no record: the device is unreachable, or another process holds it.
    """
    check_sources(task.sources)
    definition = find_device(task.device)
    arms = []
    for built in task.cells:
        built.archived.into(sweep_store())
        arms.append(archive.read(*built.identity.hashes, sweep_store()))
    with definition.open() as device, tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        info = device.describe()
        settings = task.settings.counted() if info.is_emulated else task.settings
        settings = settings.resolved(is_emulated=info.is_emulated)
        if len(arms) == 1:
            common: dict[str, Any] = {}
            schedule: Schedule = [[ScheduledLaunch(0)]] * (settings.launches or 1)
        else:
            floor = noise_floor.read(definition.name, floors_folder())
            seed = uuid4().int % 2**32
            common = {"comparison": uuid4().hex[:12], "seed": seed, "is_duet": False}
            common["floor"] = asdict(floor) if floor else None
            if info.is_emulated:
                schedule = [[ScheduledLaunch(arm)] for arm in range(len(arms))]
            else:
                settings = in_blocks(settings)
                schedule = interleaved(settings.launches or 1, seed, len(arms))
        jobs = []
        for letter, (subject, expected), built in zip(ARMS, arms, task.cells, strict=False):
            role = {**common, **({verdicts.ARM: letter} if common else {}), "sweep": built.role}
            cell_settings = dataclasses.replace(settings, threads=built.cell.threads)
            jobs.append(Job(subject, expected, cell_settings, role))
        outcomes = protocol.measure_all(device, info, jobs, schedule, Path(scratch))
        return tuple(CellRecord(run.path.name, run.path.read_bytes()) for run in outcomes)


def in_blocks(settings: Settings) -> Settings:
    """Rounds the launches up to whole blocks, at least the two that a comparison needs."""
    per_block = paired.LAUNCHES_PER_BLOCK
    blocks = max(2, math.ceil((settings.launches or 1) / per_block))
    return dataclasses.replace(settings, launches=blocks * per_block)


def resource_needs(device: str) -> Needs:
    """The executor's resources that a measurement occupies.

    It occupies the device, a CPU if the device is emulated here, and all CPUs if the device is this
    machine.
    """
    cpus: dict[str, Needs] = {"local": {CPU: ALL}, "qemu_user": {CPU: 1}}
    return {device: 1, **cpus.get(find_device(device).transport, {})}
