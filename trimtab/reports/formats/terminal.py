"""Plain text for a terminal."""

from __future__ import annotations

import string
from collections.abc import Sequence

from trimtab import tables
from trimtab.compare.side_by_side import Comparison
from trimtab.reports import configurations, fmt, run_tables, text_plot
from trimtab.reports.configurations import Cell
from trimtab.results.summary import Summary, Unit
from trimtab.tables import Column, Table, number

SUFFIX = ".txt"
IS_WHOLE = True

_BARS = 10
_SIGNS = string.ascii_uppercase  # of the best configurations


def run(summary: Summary) -> str:
    """The report of one run."""
    found, ops = run_tables.of_run(summary), sorted(summary.ops, key=lambda op: -op.cost)
    if any(op.cost for op in ops):
        unit = Unit.INSTRUCTIONS if ops[0].ns is None else Unit.NS
        rows = [(op.label, op.cost, fmt.value(op.cost, unit)) for op in ops[:_BARS]]
        drawn = f"Most expensive operators ({unit})\n{text_plot.bars(rows)}"
        return _draw([summary.name], [*found, drawn], summary.notes)
    return _draw([summary.name], found, summary.notes)


def comparison(comparison: Comparison) -> str:
    """The report of several runs side by side."""
    title = " against ".join(run_tables.run_labels(comparison))
    heads = [title, *([f"{comparison.verdict}"] if comparison.verdict else [])]
    return _draw(heads, run_tables.of_comparison(comparison), comparison.notes)


def _draw(heads: Sequence[str], found: tables.Page, notes: Sequence[str]) -> str:
    return tables.text([*heads, *found, *(f"note: {note}" for note in notes)]) + "\n"


def cells(runs: Sequence[Summary]) -> str:
    """For every network and device: cost against bytes, the best ones by letter, and the rest."""
    found = configurations.cells_of(runs)
    page: tables.Page = [
        part
        for key in dict.fromkeys(map(_comparable, found))
        for part in _plane([cell for cell in found if _comparable(cell) == key])
    ]
    return tables.text(page or ["no run of these ended well"]) + "\n"


def _comparable(cell: Cell) -> tuple[str, str, str]:
    return cell.facts["model"], cell.facts["device"], cell.unit


def _plane(found: Sequence[Cell]) -> list[str | Table]:
    best = configurations.front(found)
    signs = {cell.run_id: _SIGNS[i] if i < len(_SIGNS) else "*" for i, cell in enumerate(best)}
    unit, facts = found[0].unit, found[0].facts
    dots = [(cell.shipped_bytes, cell.cost, signs.get(cell.run_id, "·")) for cell in found]
    dots.sort(key=lambda dot: dot[2] != "·")  # the best are seen where several lie
    cost = {Unit.NS: "time of an inference"}.get(unit, "executed instructions")
    said = text_plot.plane(
        [(float(x), y, sign) for x, y, sign in dots],
        ("bytes shipped", cost),
        (lambda n: fmt.value(n, Unit.BYTES), lambda n: fmt.value(n, unit)),
    )
    shown = configurations.told(found)[2:]  # network and device stand in the title
    rows = [(signs.get(c.run_id, ""), *(c.facts[f] for f in shown), *_numbers(c)) for c in found]
    columns = [*map(Column, ("", *shown)), number("one inference"), number("shipped")]
    title = f"{facts['model']} on {facts['device']}: nothing beats those with a letter in both"
    return [title, said, Table([*columns, Column("run")], rows)]


def _numbers(cell: Cell) -> tuple[str, str, str]:
    shipped = fmt.value(cell.shipped_bytes, Unit.BYTES)
    return fmt.value(cell.cost, cell.unit), shipped, cell.run_id
