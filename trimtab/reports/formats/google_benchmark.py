"""JSON in the format of Google Benchmark (`--benchmark_format=json`), for its `compare.py`:

    ./inv report last~1 --format google-benchmark --output a.json
    ./inv report last --format google-benchmark --output b.json
    compare.py benchmarks a.json b.json

Each launch is a repetition, as the U test needs; its time is the median of its inferences.
`cpu_time` of inferences is that of all threads, by inference; elsewhere it repeats the wall-clock
time. Sizes and executed
instructions are counters. Source: the library's docs/user_guide.md and src/json_reporter.cc.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from trimtab.compare.side_by_side import Comparison
from trimtab.reports import exchange
from trimtab.results.summary import Figure, Summary, Unit

SUFFIX = ".json"
IS_WHOLE = False


def run(summary: Summary) -> str:
    """The benchmarks of one run. Raises UsageError if it has no times."""
    return _benchmarks([summary])


def comparison(comparison: Comparison) -> str:
    """The benchmarks of all runs under distinct names, for `compare.py filters`.

    Raises UsageError if a run has no times.
    """
    return _benchmarks(comparison.runs)


def _benchmarks(runs: Sequence[Summary]) -> str:
    exchange.check_timed(runs, "google-benchmark")
    first = runs[0].header
    # As in Google Benchmark, the context is the machine of the measurement.
    context: dict[str, Any] = {
        "date": first.time,
        "host_name": first.device.name,
        "executable": first.binary.name,
        "num_cpus": first.device.cpu_count or 1,
        "mhz_per_cpu": 0,
        "cpu_scaling_enabled": first.control.get("governor") != "performance",
        "caches": [],
        "load_avg": [],
        "library_build_type": "release",
        **exchange.facts(runs[0]),
    }
    benchmarks = [
        entry
        for family, (name, summary) in enumerate(exchange.named(runs))
        for entry in _run_entries(name, summary, family)
    ]
    return exchange.dump({"context": context, "benchmarks": benchmarks})


def _run_entries(name: str, summary: Summary, family: int) -> Iterator[dict[str, Any]]:
    counters = {
        figure.key: figure.value for figure in summary.figures if figure.unit is not Unit.NS
    }
    timed = [f for f in summary.figures if f.unit is Unit.NS and f.key != "cpu"]
    for instance, figure in enumerate(timed):
        about = _about(f"{name}/{figure.key}", family, instance)
        figure_counters = counters if figure.key == "latency" else {}
        yield from _repetitions(about, figure, figure_counters, summary)
    for instance, op in enumerate(summary.ops, len(timed)):
        if op.ns is not None:
            about = _about(f"{name}/op {op.index} {op.label}", family, instance)
            yield _entry(about, 0, 1, max(len(op.samples_ns), 1), op.ns)


def _repetitions(
    about: dict[str, Any], figure: Figure, counters: dict[str, float], summary: Summary
) -> Iterator[dict[str, Any]]:
    label = {"label": f"{summary.status}: {summary.message}"} if summary.message else {}
    cpu = summary.figure("cpu") if figure.key == "latency" else None
    for i, samples in enumerate(figure.launches):
        median = float(statistics.median(samples))
        entry = _entry(about, i, len(figure.launches), len(samples), median)
        used = {"cpu_time": float(cpu.samples[i])} if cpu and i < len(cpu.samples) else {}
        yield {**entry, **used, **label, **counters}


def _about(name: str, family: int, instance: int) -> dict[str, Any]:
    return {
        "name": name,
        "family_index": family,
        "per_family_instance_index": instance,
        "run_name": name,
        "run_type": "iteration",
    }


def _entry(about: dict[str, Any], index: int, count: int, runs: int, ns: float) -> dict[str, Any]:
    return {
        **about,
        "repetitions": count,
        "repetition_index": index,
        "threads": 1,
        "iterations": runs,
        "real_time": ns,
        "cpu_time": ns,
        "time_unit": "ns",
    }
