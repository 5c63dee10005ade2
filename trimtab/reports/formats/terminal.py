"""Plain text for a terminal."""

from __future__ import annotations

import string
from collections.abc import Sequence

from trimtab import escape, tables
from trimtab.compare.side_by_side import Comparison
from trimtab.reports import configurations, fmt, paced_tables, run_tables, text_plot
from trimtab.reports.configurations import Configuration
from trimtab.results.summary import Summary, Unit
from trimtab.tables import Column, Table, number

SUFFIX = ".txt"
IS_WHOLE = True

_BARS = 10
_SIGNS = string.ascii_uppercase  # for the configurations of the Pareto front


def run(summary: Summary) -> str:
    """The report of one run; it begins and ends with the answer."""
    parts: list[str | Table] = [*run_tables.of_run(summary)]
    ops = [op for op in sorted(summary.ops, key=lambda op: -op.cost) if op.cost]
    if len(ops) > 1:
        unit = Unit.INSTRUCTIONS if ops[0].ns is None else Unit.NS
        rows = [(escape.line(op.label), op.cost, fmt.value(op.cost, unit)) for op in ops[:_BARS]]
        drawn = f"Most expensive operators ({unit})\n{text_plot.bars(rows)}"
        parts.append(drawn)
    parts += paced_tables.picture(summary.paced)
    parts += [_note(note) for note in summary.notes]
    return tables.text([escape.line(summary.name), *parts, run_tables.answer(summary)]) + "\n"


def comparison(comparison: Comparison) -> str:
    """The report of several runs side by side."""
    title = " against ".join(run_tables.run_labels(comparison))
    ends = [*map(_note, comparison.notes)]
    if comparison.verdict:
        ends.append(escape.line(f"{comparison.verdict}"))  # where the eye is
    parts: tables.Page = [escape.line(title), *run_tables.of_comparison(comparison), *ends]
    return tables.text(parts) + "\n"


def _note(text: str) -> str:
    return escape.line(f"note: {text}")


def cells(runs: Sequence[Summary]) -> str:
    """For every network and device: cost against size, with letters for the Pareto front."""
    measured = configurations.configurations_of(runs)
    page: tables.Page = [
        part
        for key in dict.fromkeys(map(_comparable, measured))
        for part in _plane([one for one in measured if _comparable(one) == key])
    ]
    sentences = *configurations.warnings(runs), *configurations.failures(runs)
    failures = map(escape.line, sentences)
    return tables.text([*(page or ["none of these runs succeeded"]), *failures]) + "\n"


def _comparable(configuration: Configuration) -> tuple[str, str, str]:
    return configuration.facts["model"], configuration.facts["device"], configuration.unit


def _plane(measured: Sequence[Configuration]) -> list[str | Table]:
    best = configurations.pareto_front(measured)
    signs = {one.run_id: _SIGNS[i] if i < len(_SIGNS) else "*" for i, one in enumerate(best)}
    unit, facts = measured[0].unit, measured[0].facts
    dots = [(float(one.shipped_bytes), one.cost, signs.get(one.run_id, "·")) for one in measured]
    dots.sort(key=lambda dot: dot[2] != "·")  # the best ones cover the others
    cost = {Unit.NS: "time of an inference"}.get(unit, "executed instructions")
    shown = configurations.present_facts(measured)[2:]  # network and device are in the title
    rows = [
        (
            signs.get(one.run_id, one.flaw and configurations.INACCURATE),
            *(one.facts[fact] for fact in shown),
            fmt.value(one.cost, one.unit),
            *configurations.details(one),
        )
        for one in measured
    ]
    columns = [*map(Column, ("", *shown)), number("one inference"), *configurations.DETAILS]
    title = f"{facts['model']} on {facts['device']}"
    if len(measured) > 1:
        title += ": no other one beats those with a letter in both"
    table = Table(columns, rows)
    if len(measured) == 1:  # one point is no chart
        return [escape.line(title), table]
    plot = text_plot.plane(
        dots,
        ("bytes shipped", cost),
        (lambda n: fmt.value(n, Unit.BYTES), lambda n: fmt.value(n, unit)),
    )
    return [escape.line(title), plot, table]
