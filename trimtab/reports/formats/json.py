"""JSON for other programs: the figures with their statistics, without raw samples."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from trimtab import strict_json
from trimtab.compare.side_by_side import Comparison
from trimtab.compare.verdicts import as_json
from trimtab.results.summary import Summary

SUFFIX = ".json"
IS_WHOLE = True


def run(summary: Summary) -> str:
    """One object with header, figures, operators and size."""
    return _dump(_run(summary))


def comparison(comparison: Comparison) -> str:
    """The runs, and one row per figure with the ratios to the first run."""
    return _dump(
        {
            "runs": [_run(summary) for summary in comparison.runs],
            "rows": [asdict(row) for row in comparison.rows],
            "operators": [asdict(row) for row in comparison.operators],
            "notes": comparison.notes,
            "verdict": as_json(comparison.verdict) if comparison.verdict else None,
        }
    )


def _run(summary: Summary) -> dict[str, Any]:
    figures = {
        figure.key: {
            "unit": figure.unit,
            "value": figure.value,
            **asdict(figure.statistic),
            "spread": asdict(figure.spread) if figure.spread else None,
            "drift": asdict(figure.drift) if figure.drift else None,
        }
        for figure in summary.figures
    }
    first = {"accuracy": None, "search": None}  # accuracy comes before speed
    values = {**first, **asdict(summary), "figures": figures, "notes": summary.notes}
    for op in values["ops"]:
        del op["samples_ns"], op["shares"]
    del values["network"]
    return values


def _dump(value: Any) -> str:
    return strict_json.dumps(value, indent=1) + "\n"
