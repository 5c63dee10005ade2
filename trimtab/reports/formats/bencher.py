"""Bencher Metric Format, for `bencher run --adapter json`.

    {"net": {"latency": {"value": 1.0, "lower_value": 0.9, "upper_value": 1.1}, "file-size": ...}}

A benchmark is a network, or one of its operators; a measure is a figure. `latency` (ns) and
`file-size` (bytes) are built-in measures; Bencher creates other measures at their first use.
Source: https://bencher.dev/docs/reference/bencher-metric-format/
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.compare.side_by_side import Comparison
from trimtab.reports import exchange
from trimtab.results.summary import Summary, Unit

SUFFIX = ".json"
IS_WHOLE = False

_MAX_NAME = 1024  # characters of a benchmark's name; Bencher's limit
# Bencher's built-in measures: https://bencher.dev/docs/explanation/thresholds/ and its adapters.
_BUILT_IN = {
    "latency": "latency",
    "shipped_bytes": "file-size",
    "latency_instructions": "instructions",
}


def run(summary: Summary) -> str:
    """The measures of one run."""
    return _benchmarks([summary])


def comparison(comparison: Comparison) -> str:
    """Each run as separate benchmarks; Bencher compares them."""
    return _benchmarks(comparison.runs)


def _benchmarks(runs: Sequence[Summary]) -> str:
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for name, summary in exchange.named(runs):
        for one in exchange.measures(summary):
            is_op = one.key == "op"
            benchmark = f"{name}/{one.name}"[:_MAX_NAME] if is_op else name
            op_measure = "latency" if one.unit is Unit.NS else "instructions"
            measure = op_measure if is_op else _BUILT_IN.get(one.key, one.key.replace("_", "-"))
            metric = {"value": one.value}
            if one.interval:
                metric |= {"lower_value": one.interval.low, "upper_value": one.interval.high}
            benchmarks.setdefault(benchmark, {})[measure] = metric
    return exchange.dump(benchmarks)
