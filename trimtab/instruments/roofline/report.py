"""What timed kernels and operators say: pages of tables, and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trimtab.instruments.roofline.machine import Machine
from trimtab.instruments.roofline.timing import Timed, TimedOperator, by_kind
from trimtab.tables import Column, Page, Table, number


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
    """An object: the machine's limits, and the kernels."""
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
    return json.dumps({"machine": _machine(machine), "kernels": rows}, indent=1)


def operators_json(machine: Machine, timed: Sequence[TimedOperator]) -> str:
    """An object: the machine's limits, the operators, and their sums by kind."""
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
    return json.dumps(facts, indent=1)


def _machine(machine: Machine) -> dict[str, Any]:
    return {
        "peak_gflops": {isa: round(rate, 1) for isa, rate in machine.peaks.items()},
        "gb_per_s": {level.name: round(level.rate, 1) for level in machine.levels},
    }


def _limits(machine: Machine) -> str:
    peaks = ", ".join(f"{isa} {rate:.0f}" for isa, rate in machine.peaks.items())
    levels = ", ".join(f"{level.name} {level.rate:.0f}" for level in machine.levels)
    return f"Limits, one thread: multiply-adds {peaks} GFLOP/s; {levels} GB/s."
