"""Runs a sweep: builds and measures what is missing, and goes on after failures.

Nothing is kept beside the records and the builds themselves, so that a sweep that was killed is
simply run again: finished cells are found by their keys. Builds that cells share are made once.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from trimtab import files
from trimtab.errors import ResultError, TrimtabError
from trimtab.progress import SILENT, Progress, Step
from trimtab.results import index, records
from trimtab.results.index import Entry
from trimtab.results.records import Status
from trimtab.sweep.executor import CPU, Executor, Needs
from trimtab.sweep.matrix import Cell, Sweep
from trimtab.sweep.tasks import (
    BuildTask,
    Built,
    Identity,
    Measured,
    MeasureTask,
)

UNFINISHED = (Status.INFRA, Status.SKIPPED, index.TRUNCATED)
NOT_BUILT = "NOT BUILT"  # beside the statuses of runs: there is no run


class Workshop(Protocol):
    """What builds and measures. `build` and `measure` run wherever the executor has them, all else
    here.
    """

    build: Callable[[BuildTask], Built]
    measure: Callable[[MeasureTask], tuple[Measured, ...]]

    def identity(self, cell: Cell) -> Identity | None:
        """Of a build that is kept from an earlier time."""

    def build_task(self, cell: Cell) -> BuildTask:
        """How to build it."""

    def keep(self, cell: Cell, built: Built) -> None:
        """Keeps a build that has come home."""

    def measure_task(self, sweep: Sweep, cells: Mapping[Cell, Identity]) -> MeasureTask:
        """How to measure cells of one device in turns."""

    def needs(self, device: str) -> Needs:
        """What measuring on a device needs of an executor."""

    def takes_turns(self, device: str) -> bool:
        """Whether times are compared there: counts need no turns."""


@dataclass(frozen=True)
class Outcome:
    """What became of a cell. `file_name`: of its record, "" without one; `is_old`: it was there
    already.
    """

    cell: Cell
    status: str
    message: str = ""
    file_name: str = ""
    is_old: bool = False

    @property
    def is_good(self) -> bool:
        """Whether it has figures that can be believed."""
        return self.status == Status.OK


@dataclass
class Campaign:
    """One run of a sweep; its records go into `folder`. `resume`: cells whose record is INFRA are
    measured again. `seconds_left`: told what is still to be built and measured, says how long that
    takes.
    """

    sweep: Sweep
    workshop: Workshop
    executor: Executor
    folder: Path
    resume: bool = False
    progress: Progress = SILENT
    is_still: bool = False
    seconds_left: Callable[[Iterable[Cell], Iterable[Cell]], float] | None = None
    _outcomes: dict[Cell, Outcome] = field(default_factory=dict)
    _identities: dict[Cell, Identity] = field(default_factory=dict)
    _waiting: list[tuple[Cell, ...]] = field(default_factory=list)
    _futures: dict[Future[object], Callable[[], None]] = field(default_factory=dict)
    _going_on: dict[str, float] = field(default_factory=dict)
    _known: dict[str, Entry] = field(default_factory=dict)
    _todo: set[Cell] = field(default_factory=set)

    def run(self) -> list[Outcome]:
        """Does it all; what became of each cell, in the order of the sweep.

        Raises ResultError when records cannot be written.
        """
        self._known = newest(index.entries(self.folder))
        cells = self.sweep.cells
        self._waiting = self._groups(cells)
        self._todo = {cell.binary for cell in cells}
        with (
            self.executor,
            self.progress.step(f"sweep {self.sweep.name}", "cells", still=self.is_still) as step,
        ):
            for build in dict.fromkeys(cell.binary for cell in cells):
                self._begin_build(build)
            self._measure_what_is_built()
            self._say(step)
            while self._futures:
                done, _ = wait(self._futures, return_when=FIRST_COMPLETED)
                for future in done:
                    self._futures.pop(future)()
                self._measure_what_is_built()
                self._say(step)
        return [self._outcomes[cell] for cell in cells]

    def _groups(self, cells: Sequence[Cell]) -> list[tuple[Cell, ...]]:
        found: list[tuple[Cell, ...]] = []
        for group in self.sweep.groups(cells):
            is_whole = len(group) > 1 and self.workshop.takes_turns(group[0].device)
            found += [group] if is_whole else [(cell,) for cell in group]
        return found

    def _begin_build(self, build: Cell) -> None:
        if known := self.workshop.identity(build):
            self._identities[build] = known
            self._todo.discard(build)
            return
        future: Future[Built] | None = None

        def come_home() -> None:
            assert future is not None
            self._todo.discard(build)
            self._going_on.pop(f"build {build}", None)
            try:
                built = future.result()
                self.workshop.keep(build, built)
                self._identities[build] = built.identity
            except ResultError:
                raise
            except Exception as error:
                for cell in self.sweep.cells:
                    if cell.binary == build:
                        self._finish(Outcome(cell, NOT_BUILT, self._said(error)))

        try:
            task = self.workshop.build_task(build)
        except TrimtabError as error:  # such as a model that is not there any more
            failed: Future[Built] = Future()
            failed.set_exception(error)
            future = failed
            come_home()
            return
        future = self.executor.submit(self.workshop.build, task, {CPU: 1})
        self._going_on[f"build {build}"] = time.monotonic()
        self._futures[future] = come_home  # type: ignore[index]

    def _measure_what_is_built(self) -> None:
        """Begins with the groups all of whose cells are built, or will never be."""
        waiting = []
        for group in self._waiting:
            if any(cell.binary in self._todo for cell in group):
                waiting.append(group)
            else:
                self._measure(
                    [c for c in group if c not in self._outcomes and not self._is_done(c)]
                )
        self._waiting = waiting

    def _is_done(self, cell: Cell) -> bool:
        """Whether there is a record of the cell that stands."""
        entry = self._known.get(self.key(cell) or "")
        if entry is None or (entry.status in UNFINISHED and self.resume):
            return False
        message = "" if entry.status == Status.OK else f"of {entry.time[:19]}"
        self._finish(Outcome(cell, entry.status, message, entry.file_name, is_old=True))
        return True

    def key(self, cell: Cell) -> str | None:
        """Of a cell, as soon as it is built."""
        made = self._identities.get(cell.binary)
        return self.sweep.key(cell, made.binary_sha256, made.model_sha256) if made else None

    def _measure(self, cells: Sequence[Cell]) -> None:
        if not cells:
            return
        chosen = {cell: self._identities[cell.binary] for cell in cells}
        device = cells[0].device
        name = f"measure {cells[0]}" + (f" and {len(cells) - 1} more" if len(cells) > 1 else "")

        def come_home() -> None:
            self._going_on.pop(name, None)
            try:
                measured = future.result()
            except Exception as error:
                message = self._said(error)
                for cell in cells:
                    self._finish(Outcome(cell, Status.INFRA, message))
                return
            self._record(cells, measured)

        task = self.workshop.measure_task(self.sweep, chosen)
        future = self.executor.submit(self.workshop.measure, task, self.workshop.needs(device))
        self._going_on[name] = time.monotonic()
        self._futures[future] = come_home  # type: ignore[index]

    def _record(self, cells: Sequence[Cell], measured: Sequence[Measured]) -> None:
        """Keeps the records; cells that were cut short as another of their group failed take their
        turns without it.
        """
        again = []
        for cell, one in zip(cells, measured, strict=True):
            path = self.folder / one.file_name
            files.write_bytes(path, one.content, durable=True, error=ResultError)
            record = records.read(path)
            if record.status is Status.SKIPPED and len(cells) > 1:
                again.append(cell)
            else:
                self._finish(Outcome(cell, record.status, record.message, path.name))
        self._measure(again)

    def _finish(self, outcome: Outcome) -> None:
        self._outcomes[outcome.cell] = outcome
        if not outcome.is_good:
            self.progress.note(f"{outcome.cell}: {outcome.status}: {outcome.message}")
        elif not outcome.is_old:
            self.progress.note(f"{outcome.cell}: measured")

    def _said(self, error: Exception) -> str:
        if isinstance(error, TrimtabError):
            return str(error).replace("\n  next:", "; next:")
        # A bug: the sweep goes on, and whoever mends it needs the place.
        self.progress.note("".join(traceback.format_exception(error)))
        return f"{type(error).__name__}: {error}"

    def _say(self, step: Step) -> None:
        outcomes = self._outcomes.values()
        failed = sum(not outcome.is_good for outcome in outcomes)
        parts = [f"{len(self._going_on)} running"]
        if failed:
            parts.append(f"{failed} failed")
        if self.seconds_left:
            left = [cell for cell in self.sweep.cells if cell not in self._outcomes]
            parts.append(f"about {duration(self.seconds_left(self._todo, left))} left")
        parts += list(self._going_on)[:1]
        step.update(len(outcomes), len(self.sweep.cells), ", ".join(parts))


def newest(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The entry that counts for each cell, by key: the newest that is finished, else the newest."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if not entry.cell or entry.status == Status.SKIPPED:
            continue
        old = found.get(entry.cell)
        if old is None or entry.status not in UNFINISHED or old.status in UNFINISHED:
            found[entry.cell] = entry
    return found


def duration(seconds: float) -> str:
    """For people: "50 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
