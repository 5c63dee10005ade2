"""The figures of cells over commits, and the change points in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trimtab.results.index import Entry
from trimtab.results.records import MEASURED, Status
from trimtab.sweep import change_points
from trimtab.sweep.cell_log import CellLog, LoggedCell
from trimtab.sweep.change_points import ChangePoint
from trimtab.sweep.revision import Revision
from trimtab.tables import Column, Table, number

REPOSITORIES = ("project", "trimtab")
_BYTES = ("binary_bytes", "model_bytes")
_EXACT = ("instructions", *_BYTES)  # figures without noise


@dataclass(frozen=True)
class Point:
    """A figure of a cell at a commit.

    `run` is the run that measured it, perhaps at an earlier commit with the same binary and model.
    """

    commit: str
    time: str
    subject: str
    value: float
    run: Entry

    @property
    def order(self) -> tuple[datetime, bool]:
        """Sort key: commit time in any zone; a changed working tree comes after its commit."""
        return datetime.fromisoformat(self.time), self.commit.endswith("+")


@dataclass(frozen=True)
class Series:
    """A figure of a cell over commits, oldest first, and its change points."""

    name: str
    figure: str
    device: str
    points: tuple[Point, ...]
    steps: tuple[ChangePoint, ...]

    @property
    def is_exact(self) -> bool:
        """Whether the figure has no noise."""
        return self.figure in _EXACT


def series(
    entries: Sequence[Entry], logs: Sequence[CellLog], repository: str, sweep: str = ""
) -> list[Series]:
    """The series of all cells over the commits of a repository, of all sweeps or of one."""
    newest = {e.cell: e for e in entries if e.cell and e.status in MEASURED}
    by_series: dict[str, list[tuple[Revision, Entry, LoggedCell]]] = defaultdict(list)
    for log in logs:
        revision = log.revisions.get(repository)
        if not revision or sweep not in ("", log.name):
            continue
        for cell in log.cells:
            if cell.cell in newest:
                by_series[cell.series].append((Revision(**revision), newest[cell.cell], cell))
    result = []
    for measured in by_series.values():
        _, last_entry, last_cell = measured[-1]
        name = " ".join(str(value) for value in last_cell.configuration.values())
        name += " (inaccurate)" if last_entry.status == Status.INACCURATE else ""
        for figure in ("instructions" if last_entry.is_emulated else "latency_ns", *_BYTES):
            if all(getattr(entry, figure) is not None for _, entry, _ in measured):
                result.append(_series(name, [(r, e) for r, e, _ in measured], figure))
    return result


def _series(name: str, measured: Sequence[tuple[Revision, Entry]], figure: str) -> Series:
    """One series. The last binary counts if a commit has several, from a changed working tree."""
    commits: dict[str, Point] = {}
    for revision, entry in measured:
        commit, value = str(revision), float(getattr(entry, figure))
        commits.pop(commit, None)
        commits[commit] = Point(commit, revision.time, revision.subject, value, entry)
    points = sorted(commits.values(), key=lambda point: point.order)
    values = [point.value for point in points]
    find = change_points.exact if figure in _EXACT else change_points.noisy
    return Series(name, figure, points[-1].run.device, tuple(points), tuple(find(values)))


def table(all_series: Sequence[Series]) -> Table:
    """One row per series: its first and newest value, and each change point with its commit."""
    columns = [
        *(Column("cell"), Column("figure"), number("commits"), number("first", ",.0f")),
        *(number("newest", ",.0f"), Column("steps")),
    ]
    rows = []
    for one in all_series:
        steps = "; ".join(
            f"{step.ratio:.4f}x at {commit_label(one.points[step.at])}" for step in one.steps
        )
        first, last = one.points[0], one.points[-1]
        rows.append(
            (one.name, one.figure, len(one.points), first.value, last.value, steps or "none")
        )
    return Table(columns, rows)


def commit_label(point: Point) -> str:
    """A commit in short: the first digits, `+` if files differed from it, and its subject."""
    changed = "+" if point.commit.endswith("+") else ""
    return f"{point.commit[:10]}{changed} ({point.subject[:50]})"


def to_json(all_series: Sequence[Series]) -> list[dict[str, Any]]:
    """All series as JSON values."""
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
        for one in all_series
    ]
