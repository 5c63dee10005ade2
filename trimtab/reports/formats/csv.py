"""CSV: a row for every figure and operator of every run, for a spreadsheet or pandas.

The first columns describe the run, the others the measure. `low` and `high` are the 95 % interval,
empty if the value is exact or has no interval.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab import escape
from trimtab.compare.side_by_side import Comparison
from trimtab.reports import exchange
from trimtab.results.summary import Summary

SUFFIX = ".csv"
IS_WHOLE = False

_MEASURED = ("key", "name", "unit", "value", "low", "high")


def run(summary: Summary) -> str:
    """The rows of one run."""
    return _rows([summary])


def comparison(comparison: Comparison) -> str:
    """The rows of all runs, one after the other, without ratios."""
    return _rows(comparison.runs)


def _rows(runs: Sequence[Summary]) -> str:
    rows: list[list[object]] = [[*exchange.facts(runs[0]), "message", *_MEASURED]]
    for summary in runs:
        about = [*exchange.facts(summary).values(), summary.message]
        for one in exchange.measures(summary):
            low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
            rows.append([*about, one.key, one.name, one.unit, one.value, low, high])
    return escape.csv_document(rows)
