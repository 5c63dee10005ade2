"""The figures of networks on a machine, as a page, a comment of a pull request, and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lab import committed
from lab.experiment import Experiment
from lab.peers.compare import US
from lab.peers.report import geometric_mean
from lab.silicon.measure import SiliconFigures, SiliconRow
from trimtab import escape
from trimtab.tables import Column, Page, Table, markdown, number

SILICON = Experiment(
    "bench.silicon",
    "silicon",
    SiliconRow,
    is_timed=True,
    stand_ins={"python": "PEERS/bin/python", "history": "HISTORY", "folder": "FOLDER"},
)
MARK = "<!-- trimtab on silicon -->"  # by which the comment of an earlier run is found
_PUBLISHED = "silicon/published"


def published(core: str) -> dict[tuple[str, str, int], float]:
    """Milliseconds that ncnn publishes for a core, by network, precision and threads."""
    return {
        (row["network"], row["precision"], row["threads"]): row["ms"]
        for row in committed.read(_PUBLISHED).rows
        if row["core"] == core
    }


def table(rows: Sequence[SiliconRow], core: str, title: str = "") -> Table:
    """One row per network, precision and number of threads."""
    engines = list(dict.fromkeys(name for row in rows for name in row.engines_ms if name != US))
    theirs = published(core)
    columns = [*map(Column, ("network", "precision")), number("threads", "d")]
    columns += [number("binary, KB", ".0f"), number("model, MB", ".2f")]
    columns.append(number("alone, ms", ".2f", absent="-"))
    beside = [US, *engines] if engines else []
    columns += [number(name, ".2f", absent="-") for name in beside]
    columns += [number("ratio to the best", ".2f", absent="-")] * bool(beside)
    columns += [number("ncnn, published", ".2f", absent="-")] * bool(theirs)
    cells: list[list[Any]] = []
    for row in rows:
        times = [row.alone_ms, *(row.engines_ms.get(name) for name in beside)]
        times += [row.ratio] * bool(beside)
        times += [theirs.get((row.network, row.precision, row.threads))] * bool(theirs)
        sizes = [row.binary_bytes / 1e3, row.model_bytes / 1e6]
        cells.append([row.network, row.precision, row.threads, *sizes, *times])
    return Table(columns, cells, title)


def page(measured: SiliconFigures, machine: Mapping[str, Any], worsened: Sequence[str]) -> Page:
    """The verdict of the gate, the table, and the reasons for what is missing."""
    core = str(machine["core"])
    parts: list[str | Table] = []
    reasons = [("Failed", measured.failed), ("Worse than the committed history", worsened)]
    for title, lines in (*reasons, ("Left out", measured.left_out)):
        if lines:
            rows = [[line] for line in lines]
            parts.append(Table([Column("reason")], rows, title))
    if not measured.rows:
        return parts
    words = [f"{machine['cores']} cores ({core})"]
    words += [f"{name} {version}" for name, version in measured.versions.items()]
    if mean := total_ratio(measured.rows):
        words.append(f"geometric mean of the ratios {mean:.2f}")
    return [escape.markdown(", ".join(words)), table(measured.rows, core), *parts]


def comment(measured: SiliconFigures, machine: Mapping[str, Any], worsened: Sequence[str]) -> str:
    """The page as Markdown, below a heading with the verdict."""
    if measured.failed:
        verdict = f"{len(measured.failed)} networks failed"
    elif worsened:
        verdict = f"{len(worsened)} figures are worse"
    else:
        verdict = f"{len(measured.rows)} measurements, nothing worse"
    return f"{MARK}\n## trimtab: {verdict}\n\n{markdown(page(measured, machine, worsened))}\n"


def total_ratio(rows: Iterable[SiliconRow]) -> float | None:
    """The geometric mean of the ratios to the fastest peer; None without a peer."""
    return geometric_mean(row.ratio for row in rows if row.ratio is not None)
