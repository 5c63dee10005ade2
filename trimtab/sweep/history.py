"""The same cells over commits: their figures in order, and the steps in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trimtab.results.index import Entry
from trimtab.results.records import Status
from trimtab.sweep import steps
from trimtab.sweep.cell_log import Seen, Sighting
from trimtab.sweep.revision import Revision
from trimtab.sweep.steps import Step
from trimtab.tables import Column, Table, number

REPOSITORIES = ("project", "trimtab")
_BYTES = ("binary_bytes", "model_bytes")
_EXACT = ("instructions", *_BYTES)  # figures without noise


@dataclass(frozen=True)
class Point:
    """A figure of a cell at a commit, and the run that it is from, which may have been made at an
    earlier one with the same binary and model.
    """

    commit: str
    time: str
    subject: str
    value: float
    run: Entry


@dataclass(frozen=True)
class Series:
    """A figure of a cell over commits, oldest first, and its steps."""

    name: str
    figure: str
    device: str
    points: tuple[Point, ...]
    steps: tuple[Step, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every difference is one."""
        return self.figure in _EXACT


def series(
    entries: Sequence[Entry], sightings: Sequence[Sighting], repository: str, sweep: str = ""
) -> list[Series]:
    """What the cells of each commit of a repository measured, of all sweeps or of one."""
    good = {e.cell: e for e in entries if e.cell and e.status == Status.OK}  # the newest of each
    of_cells: dict[str, list[tuple[Revision, Entry, Seen]]] = defaultdict(list)
    for sighting in sightings:
        about = sighting.revisions.get(repository)
        if not about or sweep not in ("", sighting.name):
            continue
        for seen in sighting.cells:
            if seen.cell in good:
                of_cells[seen.series].append((Revision(**about), good[seen.cell], seen))
    found = []
    for known in of_cells.values():
        is_emulated = known[-1][1].is_emulated
        name = " ".join(str(value) for value in known[-1][2].configuration.values())
        for figure in ("instructions" if is_emulated else "latency_ns", *_BYTES):
            if all(getattr(entry, figure) is not None for _, entry, _ in known):
                found.append(_series(name, [(r, e) for r, e, _ in known], figure))
    return found


def _series(name: str, known: Sequence[tuple[Revision, Entry]], figure: str) -> Series:
    """Of a commit with several binaries, as a changed tree may have had, the last counts."""
    commits: dict[str, Point] = {}
    for revision, entry in known:
        commit, value = str(revision), float(getattr(entry, figure))
        commits.pop(commit, None)
        commits[commit] = Point(commit, revision.time, revision.subject, value, entry)
    # A changed tree comes after the commit that it was changed from.
    points = sorted(commits.values(), key=_place)
    values = [point.value for point in points]
    found = steps.exact(values) if figure in _EXACT else steps.noisy(values)
    return Series(name, figure, points[-1].run.device, tuple(points), tuple(found))


def _place(point: Point) -> tuple[datetime, bool]:
    """For the order of commits, whose times may be of several zones."""
    return datetime.fromisoformat(point.time), point.commit.endswith("+")


def table(found: Sequence[Series]) -> Table:
    """A row for each series: where it began, where it is, and each step with its commit."""
    columns = [
        *(Column("cell"), Column("figure"), number("commits"), number("first", ",.0f")),
        *(number("newest", ",.0f"), Column("steps")),
    ]
    rows = []
    for one in found:
        said = "; ".join(f"{step.ratio:.4f}x at {_said(one.points[step.at])}" for step in one.steps)
        first, last = one.points[0], one.points[-1]
        rows.append(
            (one.name, one.figure, len(one.points), first.value, last.value, said or "none")
        )
    return Table(columns, rows)


def _said(point: Point) -> str:
    is_changed = "+" if point.commit.endswith("+") else ""
    return f"{point.commit[:10]}{is_changed} ({point.subject[:50]})"


def to_json(found: Sequence[Series]) -> list[dict[str, Any]]:
    """For a program."""
    return [
        {
            "cell": one.name,
            "figure": one.figure,
            "device": one.device,
            "points": [
                {
                    "commit": point.commit,
                    "time": point.time,
                    "subject": point.subject,
                    "value": point.value,
                    "run_id": point.run.run_id,
                }
                for point in one.points
            ],
            "steps": [
                {"commit": one.points[step.at].commit, "at": step.at, "ratio": step.ratio}
                for step in one.steps
            ],
        }
        for one in found
    ]
