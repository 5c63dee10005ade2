"""Many runs as cells of one table: what each configuration is, costs and weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.reports import fmt
from trimtab.results.records import Status
from trimtab.results.summary import Summary, Unit
from trimtab.tables import Column, Table, number

# What a sweep says of its cells beside what every record does: `configuration` in their protocol.
_CONFIGURED = ("precision", "weights", "prefer", "plan")
# What tells cells apart, in the order in which a page asks for it.
FACTS = ("model", "device", *_CONFIGURED, "profile", "toolchain", "cpu", "threads")


@dataclass(frozen=True)
class Cell:
    """One measured configuration. `cost`: its headline, which counts `unit`; `href`: of its own
    page, "" where there is none.
    """

    run_id: str
    time: str
    facts: Mapping[str, str]
    cost: float
    unit: Unit
    shipped_bytes: int
    href: str = ""


def cell_of(run: Summary, base: str = "") -> Cell | None:
    """The cell of a run, whose own page is at `base` + its id, where there is a base; None of one
    that failed or measured nothing.
    """
    figure, shipped = run.headline, run.figure("shipped_bytes")
    if run.status not in (Status.OK, Status.THROTTLED) or figure is None or shipped is None:
        return None
    header = run.header
    configured = (header.protocol.get("sweep") or {}).get("configuration") or {}
    facts = (
        header.model.name.split(".")[0],
        str(header.device["name"]),
        *(str(configured.get(name) or "") for name in _CONFIGURED),
        *(header.profile, header.toolchain, header.cpu, str(header.protocol.get("threads", 1))),
    )
    return Cell(
        header.run_id,
        header.time,
        dict(zip(FACTS, facts, strict=True)),
        figure.value,
        figure.unit,
        round(shipped.value),
        base and base + header.run_id,
    )


def cells_of(runs: Sequence[Summary], base: str = "") -> list[Cell]:
    """The newest cell of each configuration, the smallest first; `base` as of `cell_of`."""
    newest: dict[tuple[str, ...], Cell] = {}
    for cell in filter(None, (cell_of(run, base) for run in runs)):
        key = (*cell.facts.values(), str(cell.shipped_bytes))
        if key not in newest or newest[key].time < cell.time:
            newest[key] = cell
    return sorted(newest.values(), key=lambda cell: (cell.shipped_bytes, cell.cost))


def front(cells: Sequence[Cell]) -> list[Cell]:
    """Those that no other of the same network, device and unit beats in both cost and bytes."""
    best: dict[tuple[str, str, str], float] = {}
    found = []
    for cell in sorted(cells, key=lambda cell: (cell.shipped_bytes, cell.cost)):
        key = (cell.facts["model"], cell.facts["device"], cell.unit)
        if cell.cost < best.get(key, float("inf")):
            best[key] = cell.cost
            found.append(cell)
    return found


def told(cells: Sequence[Cell]) -> list[str]:
    """The facts that any of the cells has."""
    return [fact for fact in FACTS if any(cell.facts[fact] for cell in cells)]


def table(cells: Sequence[Cell]) -> Table:
    """A row per cell; those that nothing beats are marked."""
    best, shown = {cell.run_id for cell in front(cells)}, told(cells)
    rows = [
        (
            "best" if cell.run_id in best else "",
            *(cell.facts[fact] for fact in shown),
            fmt.value(cell.cost, cell.unit)
            + (" instructions" if cell.unit is Unit.INSTRUCTIONS else ""),
            fmt.value(cell.shipped_bytes, Unit.BYTES),
            cell.run_id,
        )
        for cell in cells
    ]
    columns = [*map(Column, ("", *shown)), number("one inference"), number("shipped")]
    return Table([*columns, Column("run")], rows, "Cells")
