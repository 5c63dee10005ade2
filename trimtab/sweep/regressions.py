"""Is the newest commit worse than the one before it? By the rule of `bench.ab`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.bench import archive
from trimtab.compare import ab
from trimtab.compare import noise_floor as floors
from trimtab.compare.ab import AbRequest
from trimtab.compare.arms import Ready, Side
from trimtab.devices import find_device
from trimtab.errors import ResultError, UsageError
from trimtab.pipeline.stores import store_of
from trimtab.progress import SILENT, Progress
from trimtab.results import records
from trimtab.results.index import Entry
from trimtab.sweep.history import Point, Series
from trimtab.tables import Column, Table, number


@dataclass(frozen=True)
class Checked:
    """A figure of the newest commit beside the `before`: its ratio, whether that is a real
    regression, and what else is to be said. `ratio` None: it could not be told.
    """

    series: Series
    before: Point
    ratio: float | None
    is_worse: bool
    note: str


def check(
    found: Sequence[Series],
    folder: Path,
    *,
    baseline: str = "",
    tolerance: float = 0.0,
    launches: int = ab.LAUNCHES,
    progress: Progress = SILENT,
) -> list[Checked]:
    """Each figure of the newest commit beside that of the commit that begins with `baseline`, or
    the one before; nothing where there is none. What is exact is worse by its ratio; times that
    were measured apart tell nothing, so that both kept binaries are measured in turns, `launches`
    of each, into `folder`. An increase up to `tolerance`, a share, is allowed.

    UsageError when no earlier commit is like the baseline; errors of the device.
    """
    checked = []
    for one in found:
        earlier = [p for p in one.points[:-1] if p.commit.startswith(baseline)]
        if earlier:
            before, after = earlier[-1], one.points[-1]
            checked.append(_check(one, before, after, folder, tolerance, launches, progress))
    if baseline and not checked:
        raise UsageError(
            f"no cell was measured at {baseline} and later",
            hint="run the sweep at both commits, into the same results folder",
        )
    return checked


def _check(
    one: Series,
    before: Point,
    after: Point,
    folder: Path,
    tolerance: float,
    launches: int,
    progress: Progress,
) -> Checked:
    if one.is_exact:
        ratio = after.value / before.value
        return Checked(one, before, ratio, ratio > 1 + tolerance, "exact")
    old, new = before.run, after.run
    if _files(old, folder) == _files(new, folder):
        return Checked(one, before, 1.0, False, "the same binary and model")
    try:
        sides = [_ready(run, folder) for run in (old, new)]
    except ResultError as error:
        return Checked(one, before, None, False, f"not told: {error.what}")
    definition = find_device(one.device)
    known = floors.read(definition.name, ab.floors_folder())
    request = AbRequest(Side(old.run_id), Side(new.run_id), one.device, launches)
    with (
        progress.step(f"{one.name}: {before.commit[:10]} and {after.commit[:10]} in turns"),
        definition.open() as device,
    ):
        verdict = ab.measure(device, sides, request, folder, known, progress).verdict
    is_worse = verdict.is_real and verdict.ratio > 1 + tolerance
    return Checked(one, before, verdict.ratio, is_worse, str(verdict))


def _files(run: Entry, folder: Path) -> tuple[str, str]:
    header = records.read(folder / run.file_name).header
    return header.binary.sha256, header.model.sha256


def _ready(run: Entry, folder: Path) -> Ready:
    record = records.read(folder / run.file_name)
    return Ready(*archive.of_run(record, store_of(record.header)), run.threads)


def table(checked: Sequence[Checked]) -> Table:
    """For people."""
    columns = [
        *(Column("cell"), Column("figure"), Column("beside"), number("ratio", ".4f")),
        *(Column("verdict"), Column("how")),
    ]
    rows = []
    for one in checked:
        verdict = "worse" if one.is_worse else "not told" if one.ratio is None else "ok"
        series = one.series
        rows.append(
            (series.name, series.figure, one.before.commit[:10], one.ratio, verdict, one.note)
        )
    return Table(columns, rows)
