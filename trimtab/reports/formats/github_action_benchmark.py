"""JSON for the GitHub action `benchmark-action/github-action-benchmark`.

Use `tool: customSmallerIsBetter`: less is better in every figure.

    [{"name": "net: inference", "unit": "ns", "value": 1.0, "range": "± 0.1", "extra": "..."}]

`range` is half of the 95 % interval. Source: the action's README, "Custom benchmarks".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trimtab.compare.side_by_side import Comparison
from trimtab.reports import exchange
from trimtab.results.summary import Summary

SUFFIX = ".json"
IS_WHOLE = False


def run(summary: Summary) -> str:
    """The figures and operators of one run."""
    return _benchmarks([summary])


def comparison(comparison: Comparison) -> str:
    """The figures and operators of every run, under distinct names."""
    return _benchmarks(comparison.runs)


def _benchmarks(runs: Sequence[Summary]) -> str:
    entries = []
    for name, summary in exchange.named(runs):
        extra = "\n".join(f"{key}: {value}" for key, value in exchange.facts(summary).items())
        for one in exchange.measures(summary):
            entry: dict[str, Any] = {
                "name": f"{name}: {one.name}",
                "unit": str(one.unit),
                "value": one.value,
            }
            if one.interval:
                entry["range"] = f"± {(one.interval.high - one.interval.low) / 2:.4g}"
            entries.append({**entry, "extra": extra})
    return exchange.dump(entries)
