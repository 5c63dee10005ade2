"""The tables of timed kernels and operators: text, Markdown, JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from trimtab.instruments.roofline.machine import Machine
from trimtab.instruments.roofline.timing import Timed, TimedOperator, by_kind


def kernels_table(machine: Machine, timed: Sequence[Timed], form: str) -> str:
    """One row per kernel and layer. `form`: a table format of tabulate."""
    rows = [
        (
            t.kernel.name,
            t.layer.label,
            f"{t.ns / 1e3:,.1f}",
            f"{t.rate:.1f} {t.unit}",
            f"{t.share:.0%}",
            t.limit,
        )
        for t in timed
    ]
    return f"{_limits(machine)}\n{_table(rows, _KERNEL_HEADS, form)}\n"


def operators_table(machine: Machine, timed: Sequence[TimedOperator], form: str) -> str:
    """One row per operator, then one per kind of operator."""
    rows = [
        (op.name, op.kind, op.kernel, _shape(op.output), *_speed(op.ns, op.macs, op.share))
        for op in timed
    ]
    sums = [
        (
            kind,
            row["operators"],
            *_speed(row["ms"] * 1e6, row["gflops"] * row["ms"] * 5e5, row["share"]),
        )
        for kind, row in by_kind(timed).items()
    ]
    operators = _table(rows, ("operator", "kind", "kernel", "output", *_SPEED), form)
    return (
        f"{_limits(machine)}\n{operators}\n\n{_table(sums, ('kind', 'operators', *_SPEED), form)}\n"
    )


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


_KERNEL_HEADS = ("kernel", "layer", "µs", "rate", "share", "limit")
_SPEED = ("ms", "GFLOP/s", "share of peak")


def _machine(machine: Machine) -> dict[str, Any]:
    return {
        "peak_gflops": {isa: round(rate, 1) for isa, rate in machine.peaks.items()},
        "gb_per_s": {level.name: round(level.rate, 1) for level in machine.levels},
    }


def _limits(machine: Machine) -> str:
    peaks = ", ".join(f"{isa} {rate:.0f}" for isa, rate in machine.peaks.items())
    levels = ", ".join(f"{level.name} {level.rate:.0f}" for level in machine.levels)
    return f"Limits, one thread: multiply-adds {peaks} GFLOP/s; {levels} GB/s.\n"


def _speed(ns: float, macs: float, share: float | None) -> tuple[str, str, str]:
    rate = f"{2 * macs / ns:.1f}" if macs else ""
    return f"{ns / 1e6:.3f}", rate, "" if share is None else f"{share:.0%}"


def _shape(dims: tuple[int, ...]) -> str:
    return "x".join(map(str, dims))


def _table(rows: Sequence[tuple[Any, ...]], heads: tuple[str, ...], form: str) -> str:
    right = {"µs", "rate", "share", "operators", *_SPEED}
    align = ["right" if head in right else "left" for head in heads]
    return tabulate(rows, heads, form, colalign=align if rows else None, disable_numparse=True)
