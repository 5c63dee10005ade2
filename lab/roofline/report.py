"""Timed kernels and operators as tables, JSON and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from lab.roofline.machine import Machine
from lab.roofline.timing import Timed, TimedOperator, by_kind
from trimtab.tables import Column, Page, Table, number


@figure_row
class RooflineRow(FigureRow):
    """Shares of the limits that the kernels of a family reach: median and range over layers."""

    family: str = text("family")
    isa: str = text("instruction set")
    layers: int = figure("layers")
    share: float = figure("share", ".0%", digits=4)
    min: float = figure("lowest", ".0%", digits=4)
    max: float = figure("highest", ".0%", digits=4)
    range: str = computed(
        "range",
        of=lambda row: f"{row.share:.0%} ({100 * row.min:.0f}-{100 * row.max:.0f})",
    )


ROOFLINE = Experiment(
    "bench.kernels",
    "roofline",
    RooflineRow,
    selection=("operators", "isa", "family", "network"),
    is_timed=True,
)


def kernels_page(machine: Machine, timed: Sequence[Timed]) -> Page:
    """The machine's limits, then one row per kernel and layer."""
    columns = [
        *(Column("kernel"), Column("layer"), number("µs", ",.1f"), number("rate")),
        *(number("share", ".0%"), Column("limit")),
    ]
    rows = [
        (t.kernel.name, t.layer.label, t.ns / 1e3, f"{t.rate:.1f} {t.unit}", t.share, t.limit)
        for t in timed
    ]
    return [_limits(machine), Table(columns, rows)]


def operators_page(machine: Machine, timed: Sequence[TimedOperator]) -> Page:
    """The machine's limits, then one row per operator, then one per kind of operator."""
    speed = [number("ms", ".3f"), number("GFLOP/s", ".1f"), number("share of peak", ".0%")]
    sums = [
        (kind, row["operators"], row["ms"], row["gflops"] or None, row["share"])
        for kind, row in by_kind(timed).items()
    ]
    return [
        _limits(machine),
        TimedOperator.table(timed),
        Table([Column("kind"), number("operators"), *speed], sums),
    ]


def kernels_facts(machine: Machine, timed: Sequence[Timed]) -> dict[str, Any]:
    """The machine's limits and the kernels, for JSON."""
    rows = [
        {
            "kernel": t.kernel.name,
            "layer": dict(t.layer.sizes),
            "ns": round(t.ns, 1),
            "rate": round(t.rate, 3),
            "unit": t.unit,
            "share": round(t.share, 4),
            "limit": t.limit,
        }
        for t in timed
    ]
    return {"machine": limits(machine), "kernels": rows}


def operators_facts(machine: Machine, timed: Sequence[TimedOperator]) -> dict[str, Any]:
    """The machine's limits, the operators, and their totals by kind, for JSON."""
    records = [op.record() for op in timed]
    return {"machine": limits(machine), "operators": records, "kinds": by_kind(timed)}


def rows(timed: Sequence[Timed]) -> list[RooflineRow]:
    """The shares of each family and instruction set."""
    shares: dict[tuple[str, str], list[float]] = {}
    for t in timed:
        shares.setdefault((t.kernel.typed_family, t.kernel.isa), []).append(t.share)
    return [
        RooflineRow(*key, len(values), median(values), min(values), max(values))
        for key, values in sorted(shares.items())
    ]


def families_table(rows: Iterable[RooflineRow], isas: Sequence[str]) -> Table:
    """One row per family; for each of `isas` the median and the range of shares."""
    by_family: dict[str, dict[str, RooflineRow]] = {}
    for row in rows:
        by_family.setdefault(row.family, {})[row.isa] = row
    columns = [Column("family"), number("layers"), *(number(isa, absent="-") for isa in isas)]
    cells = [
        (
            *(family, max(row.layers for row in of.values())),
            *(of[isa].range if isa in of else None for isa in isas),
        )
        for family, of in sorted(by_family.items())
    ]
    return Table(columns, cells)


def limits(machine: Machine) -> dict[str, Any]:
    """The machine's limits, in the result file and in JSON."""
    return {
        "peak_gflops": {isa: round(rate, 1) for isa, rate in machine.peaks.items()},
        "gb_per_s": {level.name: round(level.rate, 1) for level in machine.levels},
    }


def _limits(machine: Machine) -> str:
    peaks = ", ".join(f"{isa} {rate:.0f}" for isa, rate in machine.peaks.items())
    levels = ", ".join(f"{level.name} {level.rate:.0f}" for level in machine.levels)
    return f"Limits, one thread: multiply-adds {peaks} GFLOP/s; {levels} GB/s."
