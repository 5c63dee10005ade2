"""Plain text for a terminal."""

from __future__ import annotations

import string
from collections.abc import Sequence

from trimtab import escape, tables
from trimtab.compare.side_by_side import Comparison
from trimtab.reports import configurations, fmt, run_tables, text_plot
from trimtab.reports.configurations import Configuration
from trimtab.results.summary import Summary, Unit
from trimtab.tables import Column, Table, number

SUFFIX = ".txt"
IS_WHOLE = True

_BARS = 10
_SIGNS = string.ascii_uppercase  # for the configurations of the Pareto front


def run(summary: Summary) -> str:
    """The report of one run."""
    parts, ops = run_tables.of_run(summary), sorted(summary.ops, key=lambda op: -op.cost)
    if any(op.cost for op in ops):
        unit = Unit.INSTRUCTIONS if ops[0].ns is None else Unit.NS
        rows = [(escape.line(op.label), op.cost, fmt.value(op.cost, unit)) for op in ops[:_BARS]]
        drawn = f"Most expensive operators ({unit})\n{text_plot.bars(rows)}"
        return _draw([summary.name], [*parts, drawn], summary.notes)
    return _draw([summary.name], parts, summary.notes)


def comparison(comparison: Comparison) -> str:
    """The report of several runs side by side."""
    title = " against ".join(run_tables.run_labels(comparison))
    heads = [title, *([f"{comparison.verdict}"] if comparison.verdict else [])]
    return _draw(heads, run_tables.of_comparison(comparison), comparison.notes)


def _draw(heads: Sequence[str], parts: tables.Page, notes: Sequence[str]) -> str:
    lines = [escape.line(f"note: {note}") for note in notes]
    return tables.text([*map(escape.line, heads), *parts, *lines]) + "\n"


def cells(runs: Sequence[Summary]) -> str:
    """For every network and device: cost against size, with letters for the Pareto front."""
    measured = configurations.configurations_of(runs)
    page: tables.Page = [
        part
        for key in dict.fromkeys(map(_comparable, measured))
        for part in _plane([one for one in measured if _comparable(one) == key])
    ]
    return tables.text(page or ["none of these runs succeeded"]) + "\n"


def _comparable(one: Configuration) -> tuple[str, str, str]:
    return one.facts["model"], one.facts["device"], one.unit


def _plane(measured: Sequence[Configuration]) -> list[str | Table]:
    best = configurations.pareto_front(measured)
    signs = {one.run_id: _SIGNS[i] if i < len(_SIGNS) else "*" for i, one in enumerate(best)}
    unit, facts = measured[0].unit, measured[0].facts
    dots = [(float(one.shipped_bytes), one.cost, signs.get(one.run_id, "·")) for one in measured]
    dots.sort(key=lambda dot: dot[2] != "·")  # the best ones cover the others
    cost = {Unit.NS: "time of an inference"}.get(unit, "executed instructions")
    plot = text_plot.plane(
        dots,
        ("bytes shipped", cost),
        (lambda n: fmt.value(n, Unit.BYTES), lambda n: fmt.value(n, unit)),
    )
    shown = configurations.present_facts(measured)[2:]  # network and device are in the title
    rows = [
        (signs.get(one.run_id, ""), *(one.facts[fact] for fact in shown), *_numbers(one))
        for one in measured
    ]
    columns = [*map(Column, ("", *shown)), number("one inference"), number("shipped")]
    title = f"{facts['model']} on {facts['device']}: no other one beats those with a letter in both"
    return [escape.line(title), plot, Table([*columns, Column("run")], rows)]


def _numbers(one: Configuration) -> tuple[str, str, str]:
    shipped = fmt.value(one.shipped_bytes, Unit.BYTES)
    return fmt.value(one.cost, one.unit), shipped, one.run_id
