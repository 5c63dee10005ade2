"""The report of a fit: as text, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from trimtab import strict_json
from trimtab.fitting.fit import Fitted
from trimtab.fitting.regret import Decision, Regret
from trimtab.tables import Column, Table, number

_SHOWN = 5


def text(fitted: Fitted, path: Path) -> str:
    """Memory, rows of kernels, and regret."""
    facts, unit = fitted.facts, fitted.unit
    lines = [f"{fitted.core.name}, {fitted.machine}: {fitted.seconds:.0f} s"]
    if unit != "ns":
        lines.append("Counted instructions, scaled to cycles: these are not times.")
    for threads, rate in facts.gb_per_s.items():
        lines.append(f"memory, {_threads(threads)}: {rate:.1f} GB/s")
    if facts.cache_bytes:
        lines.append(f"one core keeps {facts.cache_bytes / 2**20:.1f} MB in its caches")
    if facts.hand_over_ns:
        lines.append(f"a loop that threads share takes {facts.hand_over_ns / 1000:.1f} us more")
    tables = kernels(fitted).text(), regrets(fitted).text()
    return "\n\n".join(("\n".join(lines), *tables, _worst(fitted), f"written: {path}"))


def kernels(fitted: Fitted) -> Table:
    """The rows of kernels: how well the fit describes what was measured."""
    columns = [Column("algorithm"), Column("kernel"), number("threads"), number("samples")]
    assert fitted.core.fit
    return Table(
        [*columns, number("error", ".0%")],
        [
            [row.algorithm, row.kernel, row.threads, row.samples, row.error]
            for row in fitted.core.fit.kernels
        ],
    )


def regrets(fitted: Fitted) -> Table:
    """Time of the planner's choice by that of the fastest way, on layers that were not fitted."""
    columns = [Column("plans by"), number("choices"), number("mean", ".3f"), number("worst", ".2f")]
    return Table(
        columns, [[name, len(of.choices), of.mean, of.worst] for name, of in judged(fitted)]
    )


def as_json(fitted: Fitted, path: Path) -> str:
    """The facts, the rows of kernels and the regret, as an object."""
    assert fitted.core.fit
    fit = asdict(fitted.core.fit)
    regret = {name: {"mean": of.mean, "worst": of.worst} for name, of in judged(fitted)}
    return strict_json.dumps(
        {
            "core": fitted.core.name,
            "file": str(path),
            "unit": fitted.unit,
            "is_time": fitted.unit == "ns",
            "seconds": fitted.seconds,
            "layers": fitted.layers,
            "held_out": fitted.held_out,
            "memory": {
                "gb_per_s": {str(n): rate for n, rate in fitted.facts.gb_per_s.items()},
                "cache_bytes": fitted.facts.cache_bytes,
                "hand_over_ns": fitted.facts.hand_over_ns,
            },
            "fit": fit,
            "regret": regret,
        },
        indent=1,
    )


def judged(fitted: Fitted) -> list[tuple[str, Regret]]:
    """The regret of each way to plan."""
    by_row = ("the row as it was", fitted.before)
    return [("the fit", fitted.regret), by_row, ("the generic row", fitted.unknown)]


def _worst(fitted: Fitted) -> str:
    lines = ["largest regrets of the fit:"]
    for one in fitted.regret.largest(_SHOWN):
        lines.append(f"  {one.regret:.2f}  {described(one)}")
    return "\n".join(lines)


def described(decision: Decision) -> str:
    """The layer of a choice, what was chosen, and what is faster."""
    layer = f"{decision.layer}, {decision.state} weights, {_threads(decision.threads)}"
    return f"{layer}: {decision.chosen} for {decision.fastest}"


def _threads(count: int) -> str:
    return f"{count} threads" if count > 1 else "1 thread"
