"""Runs a sweep: builds and measures the missing cells, and continues after failures.

All state is in the records and the cached builds, so an interrupted sweep is resumed by running it
again: finished cells are recognized by their keys. Cells with the same binary share one build.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab import files
from trimtab.errors import ResultError, TrimtabError
from trimtab.progress import SILENT, Progress, Step, format_duration
from trimtab.results import index, records
from trimtab.results.index import Entry
from trimtab.results.records import MEASURED, Status
from trimtab.sweep.builds import BuildCache, BuildIdentity, CellBuild, build_cell
from trimtab.sweep.executor import CPU, Executor
from trimtab.sweep.matrix import Cell, Sweep, counts_exactly
from trimtab.sweep.measurements import (
    CellRecord,
    measure_cells,
    measure_task,
    resource_needs,
)

UNFINISHED = (Status.INFRA, Status.SKIPPED, index.TRUNCATED)
NOT_BUILT = "NOT BUILT"  # beside the statuses of runs: the cell has no run


@dataclass(frozen=True)
class CellOutcome:
    """The result of one cell.

    `file_name` is that of its record, "" if it has none. `is_old`: the record is from an earlier
    run of the sweep.
    """

    cell: Cell
    status: str
    message: str = ""
    file_name: str = ""
    is_old: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the cell has valid figures."""
        return self.status in MEASURED


@dataclass
class Campaign:
    """One run of a sweep, whose records go into `folder`.

    `resume` measures cells again whose record is INFRA. `revisions` go into the records.
    `seconds_left` estimates the duration of the remaining builds and cells.
    """

    sweep: Sweep
    executor: Executor
    folder: Path
    resume: bool = False
    progress: Progress = SILENT
    cache: BuildCache = field(default_factory=BuildCache)
    revisions: Mapping[str, Any] = field(default_factory=dict)
    is_still: bool = False
    seconds_left: Callable[[Iterable[Cell], Iterable[Cell]], float] | None = None
    _outcomes: dict[Cell, CellOutcome] = field(default_factory=dict)
    _identities: dict[Cell, BuildIdentity] = field(default_factory=dict)
    _waiting: list[tuple[Cell, ...]] = field(default_factory=list)
    _futures: dict[Future[Any], Callable[[Future[Any]], None]] = field(default_factory=dict)
    _running: dict[str, float] = field(default_factory=dict)
    _entries: dict[str, Entry] = field(default_factory=dict)
    _pending_builds: set[Cell] = field(default_factory=set)

    def run(self) -> list[CellOutcome]:
        """Builds and measures; one outcome per cell, in the order of the sweep.

        Raises ResultError if a record cannot be written.
        """
        self._entries = newest(index.entries(self.folder))
        cells = self.sweep.cells
        self._waiting = self._groups(cells)
        self._pending_builds = {cell.binary for cell in cells}
        with (
            self.executor,
            self.progress.step(f"sweep {self.sweep.name}", "cells", still=self.is_still) as step,
        ):
            for build in dict.fromkeys(cell.binary for cell in cells):
                self._start_build(build)
            self._start_measurements()
            self._report(step)
            while self._futures:
                done, _ = wait(self._futures, return_when=FIRST_COMPLETED)
                for future in done:
                    self._futures.pop(future)(future)
                self._start_measurements()
                self._report(step)
        return [self._outcomes[cell] for cell in cells]

    def key(self, cell: Cell) -> str | None:
        """The cell's key, None until it is built."""
        identity = self._identities.get(cell.binary)
        return self.sweep.key(cell, *identity.hashes) if identity else None

    def _groups(self, cells: Sequence[Cell]) -> list[tuple[Cell, ...]]:
        groups: list[tuple[Cell, ...]] = []
        for group in self.sweep.groups(cells):
            is_compared = len(group) > 1 and not counts_exactly(group[0].device)
            groups += [group] if is_compared else [(cell,) for cell in group]
        return groups

    def _start_build(self, build: Cell) -> None:
        if identity := self.cache.find(build):
            self._identities[build] = identity
            self._pending_builds.discard(build)
            return
        name = f"build {build}"
        try:
            future = self.executor.submit(build_cell, self.cache.task(build), {CPU: 1})
        except TrimtabError as error:  # such as a model file that was removed
            self._fail_build(build, error)
            return
        self._running[name] = time.monotonic()
        self._futures[future] = lambda done: self._finish_build(build, name, done)

    def _finish_build(self, build: Cell, name: str, future: Future[CellBuild]) -> None:
        self._running.pop(name)
        try:
            result = future.result()
            self.cache.store(build, result)
        except ResultError:
            raise
        except Exception as error:
            self._fail_build(build, error)
        else:
            self._identities[build] = result.identity
            self._pending_builds.discard(build)

    def _fail_build(self, build: Cell, error: Exception) -> None:
        self._pending_builds.discard(build)
        message = self._message(error)
        for cell in self.sweep.cells:
            if cell.binary == build:
                self._finish(CellOutcome(cell, NOT_BUILT, message))

    def _start_measurements(self) -> None:
        """Starts the groups whose builds have all finished or failed."""
        waiting = []
        for group in self._waiting:
            if any(cell.binary in self._pending_builds for cell in group):
                waiting.append(group)
            else:
                self._measure(
                    [c for c in group if c not in self._outcomes and not self._is_done(c)]
                )
        self._waiting = waiting

    def _is_done(self, cell: Cell) -> bool:
        """Whether the cell has a valid record already."""
        entry = self._entries.get(self.key(cell) or "")
        if entry is None or (entry.status in UNFINISHED and self.resume):
            return False
        message = "" if entry.status == Status.OK else f"of {entry.time[:19]}"
        self._finish(CellOutcome(cell, entry.status, message, entry.file_name, is_old=True))
        return True

    def _measure(self, cells: Sequence[Cell]) -> None:
        if not cells:
            return
        builds = {cell: self._identities[cell.binary] for cell in cells}
        name = f"measure {cells[0]}" + (f" and {len(cells) - 1} more" if len(cells) > 1 else "")
        task = measure_task(self.sweep, builds, self.revisions)
        future = self.executor.submit(measure_cells, task, resource_needs(cells[0].device))
        self._running[name] = time.monotonic()
        self._futures[future] = lambda done: self._finish_measurement(cells, name, done)

    def _finish_measurement(
        self, cells: Sequence[Cell], name: str, future: Future[tuple[CellRecord, ...]]
    ) -> None:
        self._running.pop(name)
        try:
            cell_records = future.result()
        except Exception as error:
            message = self._message(error)
            for cell in cells:
                self._finish(CellOutcome(cell, Status.INFRA, message))
        else:
            self._store_records(cells, cell_records)

    def _store_records(self, cells: Sequence[Cell], cell_records: Sequence[CellRecord]) -> None:
        """Stores the records. Cells cut short by the failure of another cell of their group are
        measured again without it.
        """
        cut_short = []
        for cell, cell_record in zip(cells, cell_records, strict=True):
            path = self.folder / cell_record.file_name
            files.write_bytes(path, cell_record.content, durable=True, error=ResultError)
            record = records.read(path)
            if record.status is Status.SKIPPED and len(cells) > 1:
                cut_short.append(cell)
            else:
                self._finish(CellOutcome(cell, record.status, record.message, path.name))
        self._measure(cut_short)

    def _finish(self, outcome: CellOutcome) -> None:
        self._outcomes[outcome.cell] = outcome
        if not outcome.is_good:
            self.progress.note(f"{outcome.cell}: {outcome.status}: {outcome.message}")
        elif not outcome.is_old:
            self.progress.note(f"{outcome.cell}: measured")

    def _message(self, error: Exception) -> str:
        if isinstance(error, TrimtabError):
            return one_line(error)
        # A bug of trimtab: the sweep continues, and its report needs the traceback.
        self.progress.note("".join(traceback.format_exception(error)))
        return f"{type(error).__name__}: {error}"

    def _report(self, step: Step) -> None:
        outcomes = self._outcomes.values()
        failed = sum(not outcome.is_good for outcome in outcomes)
        parts = [f"{len(self._running)} running"]
        if failed:
            parts.append(f"{failed} failed")
        if self.seconds_left:
            missing = [cell for cell in self.sweep.cells if cell not in self._outcomes]
            seconds = self.seconds_left(self._pending_builds, missing)
            parts.append(f"about {format_duration(seconds)} left")
        parts += list(self._running)[:1]
        step.update(len(outcomes), len(self.sweep.cells), ", ".join(parts))


def one_line(error: TrimtabError) -> str:
    """The message of an error with its next step."""
    return str(error).replace("\n  next:", "; next:")


def newest(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The entry that counts for each cell, by key: the newest finished one, else the newest."""
    by_key: dict[str, Entry] = {}
    for entry in entries:
        if not entry.cell or entry.status == Status.SKIPPED:
            continue
        previous = by_key.get(entry.cell)
        if previous is None or entry.status not in UNFINISHED or previous.status in UNFINISHED:
            by_key[entry.cell] = entry
    return by_key
