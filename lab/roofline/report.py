"""Timed kernels and operators as tables, JSON and committed results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from lab.committed import Results, Row
from lab.roofline.machine import Machine
from lab.roofline.timing import Timed, TimedOperator, by_kind
from trimtab import __version__, strict_json
from trimtab.tables import Column, Page, Table, number

NAME = "roofline"  # the result file


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
    columns = [Column("operator"), Column("kind"), Column("kernel"), Column("output")]
    rows = [
        (
            *(op.name, op.kind, op.kernel, "x".join(map(str, op.output))),
            *(op.ns / 1e6, 2 * op.macs / op.ns or None, op.share),
        )
        for op in timed
    ]
    sums = [
        (kind, row["operators"], row["ms"], row["gflops"] or None, row["share"])
        for kind, row in by_kind(timed).items()
    ]
    return [
        _limits(machine),
        Table([*columns, *speed], rows),
        Table([Column("kind"), number("operators"), *speed], sums),
    ]


def kernels_json(machine: Machine, timed: Sequence[Timed]) -> str:
    """A JSON object of the machine's limits and the kernels."""
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
    return strict_json.dumps({"machine": _machine(machine), "kernels": rows}, indent=1)


def operators_json(machine: Machine, timed: Sequence[TimedOperator]) -> str:
    """A JSON object of the machine's limits, the operators, and their totals by kind."""
    rows = [
        {
            "operator": op.name,
            "kind": op.kind,
            "kernel": op.kernel,
            "macs": op.macs,
            "ns": op.ns,
            "share": op.share,
        }
        for op in timed
    ]
    facts = {"machine": _machine(machine), "operators": rows, "kinds": by_kind(timed)}
    return strict_json.dumps(facts, indent=1)


def to_results(
    machine: Machine, timed: Sequence[Timed], command: str, facts: Mapping[str, Any]
) -> Results:
    """The content of the result file: the shares of each family and instruction set."""
    shares: dict[tuple[str, str], list[float]] = {}
    for t in timed:
        shares.setdefault((t.kernel.typed_family, t.kernel.isa), []).append(round(t.share, 4))
    return Results(
        command=command,
        machine={**facts, **_machine(machine)},
        versions={"trimtab": __version__},
        rows=[
            {
                "family": family,
                "isa": isa,
                "layers": len(values),
                "share": round(median(values), 4),
                "min": min(values),
                "max": max(values),
            }
            for (family, isa), values in sorted(shares.items())
        ],
    )


def families_table(rows: Iterable[Row], isas: Sequence[str]) -> Table:
    """One row per family; for each of `isas` the median and the range of shares."""
    by_family: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_family.setdefault(row["family"], {})[row["isa"]] = row

    def cell(row: Row | None) -> str | None:
        if row is None:
            return None
        return f"{row['share']:.0%} ({100 * row['min']:.0f}-{100 * row['max']:.0f})"

    columns = [Column("family"), number("layers"), *(number(isa, absent="-") for isa in isas)]
    return Table(
        columns,
        [
            [family, max(r["layers"] for r in of.values()), *(cell(of.get(isa)) for isa in isas)]
            for family, of in sorted(by_family.items())
        ],
    )


def _machine(machine: Machine) -> dict[str, Any]:
    return {
        "peak_gflops": {isa: round(rate, 1) for isa, rate in machine.peaks.items()},
        "gb_per_s": {level.name: round(level.rate, 1) for level in machine.levels},
    }


def _limits(machine: Machine) -> str:
    peaks = ", ".join(f"{isa} {rate:.0f}" for isa, rate in machine.peaks.items())
    levels = ", ".join(f"{level.name} {level.rate:.0f}" for level in machine.levels)
    return f"Limits, one thread: multiply-adds {peaks} GFLOP/s; {levels} GB/s."
