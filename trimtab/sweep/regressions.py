"""Checks whether the newest commit is slower or larger, by the decision rule of `bench.ab`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.bench import archive
from trimtab.compare import ab, noise_floor
from trimtab.compare.ab import AbRequest
from trimtab.compare.arms import Arm, PreparedArm
from trimtab.devices import find_device
from trimtab.errors import ResultError, UsageError
from trimtab.pipeline.stores import store_of
from trimtab.progress import SILENT, Progress
from trimtab.results import records
from trimtab.results.index import Entry
from trimtab.sweep.history import Point, Series
from trimtab.tables import Column, Table, number


@dataclass(frozen=True)
class RegressionCheck:
    """A figure of the newest commit against the commit `before`.

    `ratio` is None if it could not be determined; `note` says why, or how it was determined.
    """

    series: Series
    before: Point
    ratio: float | None
    is_worse: bool
    note: str

    @property
    def values(self) -> tuple[float, float] | tuple[None, None]:
        """The figure at `before` and at the newest commit; None for times, because those of
        separate runs are not comparable.
        """
        if not self.series.is_exact:
            return None, None
        return self.before.value, self.series.points[-1].value


def check(
    all_series: Sequence[Series],
    folder: Path,
    *,
    baseline: str = "",
    tolerance: float = 0.0,
    launches: int = ab.LAUNCHES,
    progress: Progress = SILENT,
) -> list[RegressionCheck]:
    """Compares each figure of the newest commit with that of an earlier commit.

    The earlier commit is the one that starts with `baseline`, by default the previous one; a series
    without one is skipped. Exact figures are compared by their ratio. Latencies from separate runs
    are not comparable, so both archived binaries are measured in interleaved rounds, `launches` of
    each, with records in `folder`. `tolerance` is the allowed increase, as a share.

    Raises UsageError if no series has the baseline, and the errors of the device.
    """
    checks = []
    for one in all_series:
        earlier = [p for p in one.points[:-1] if p.commit.startswith(baseline)]
        if earlier:
            before, after = earlier[-1], one.points[-1]
            checks.append(_check(one, before, after, folder, tolerance, launches, progress))
    if baseline and not checks:
        raise UsageError(
            f"no cell has a measurement at {baseline} and at a later commit",
            hint="run the sweep at both commits, into the same results folder",
        )
    return checks


def _check(
    series: Series,
    before: Point,
    after: Point,
    folder: Path,
    tolerance: float,
    launches: int,
    progress: Progress,
) -> RegressionCheck:
    if series.is_exact:
        ratio = after.value / before.value
        return RegressionCheck(series, before, ratio, ratio > 1 + tolerance, "exact")
    old, new = before.run, after.run
    if _hashes(old, folder) == _hashes(new, folder):
        return RegressionCheck(series, before, 1.0, False, "the same binary and model")
    try:
        arms = [_prepared(run, folder) for run in (old, new)]
    except ResultError as error:
        return RegressionCheck(series, before, None, False, f"not checked: {error.what}")
    definition = find_device(series.device)
    floor = noise_floor.read(definition.name, ab.floors_folder())
    request = AbRequest(Arm(old.run_id), Arm(new.run_id), series.device, launches)
    title = f"{series.name}: {before.commit[:10]} and {after.commit[:10]} in interleaved rounds"
    with progress.step(title), definition.open() as device:
        verdict = ab.measure(device, arms, request, folder, floor, progress).verdict
    is_worse = verdict.is_real and verdict.ratio > 1 + tolerance
    return RegressionCheck(series, before, verdict.ratio, is_worse, str(verdict))


def _hashes(run: Entry, folder: Path) -> tuple[str, str]:
    header = records.read(folder / run.file_name).header
    return header.binary.sha256, header.model.sha256


def _prepared(run: Entry, folder: Path) -> PreparedArm:
    record = records.read(folder / run.file_name)
    return PreparedArm(*archive.of_run(record, store_of(record.header)), run.threads)


def _short(point: Point) -> str:
    """The first digits of a commit; `+` if files differed from it."""
    return point.commit[:10] + "+" * point.commit.endswith("+")


def table(checks: Sequence[RegressionCheck]) -> Table:
    """One row per check, those that are worse first."""
    columns = [
        *(Column("cell"), Column("figure"), Column("commit"), Column("beside")),
        *(number("before", ",.0f", absent="-"), number("now", ",.0f", absent="-")),
        number("ratio", ".4f"),
        *(Column("verdict"), Column("how")),
    ]
    rows = []
    for one in sorted(checks, key=lambda check: not check.is_worse):
        verdict = "worse" if one.is_worse else "not checked" if one.ratio is None else "ok"
        series = one.series
        commits = (_short(series.points[-1]), _short(one.before))
        rows.append(
            (series.name, series.figure, *commits, *one.values, one.ratio, verdict, one.note)
        )
    return Table(columns, rows)
