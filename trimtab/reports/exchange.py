"""Measures of a run for formats of other programs, under names that are stable between runs.

Those programs recognize a benchmark by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab import strict_json
from trimtab.compare.side_by_side import Comparison
from trimtab.errors import UsageError
from trimtab.reports import run_tables
from trimtab.results.statistics import Interval
from trimtab.results.summary import Summary, Unit


@dataclass(frozen=True)
class Measure:
    """One number of a run.

    `key` is that of a figure, or "op". `name` does not change with the build. `interval` is None
    for an exact value.
    """

    key: str
    name: str
    unit: Unit
    value: float
    interval: Interval | None


def measures(run: Summary) -> Iterator[Measure]:
    """The figures of a run, then its operators."""
    for figure in run.figures:
        bounds = figure.statistic.interval
        interval = bounds if bounds.low != bounds.high else None
        yield Measure(figure.key, figure.label, figure.unit, figure.value, interval)
    for op in run.ops:
        if op.cost:
            unit = Unit.INSTRUCTIONS if op.ns is None else Unit.NS
            yield Measure("op", f"op {op.index} {op.label}", unit, op.cost, None)


def named(runs: Sequence[Summary]) -> list[tuple[str, Summary]]:
    """The runs of one report, each with the prefix of its benchmarks' names.

    The prefix is the network's name, followed by the facts in which the runs differ.
    """
    networks = [run.header.model.name.split(".")[0] for run in runs]
    if len(runs) == 1:
        return list(zip(networks, runs, strict=True))
    labels = run_tables.run_labels(Comparison(tuple(runs), (), ()))
    paired = zip(networks, labels, strict=True)
    names = [n if n == label else f"{n} [{label}]" for n, label in paired]
    return list(zip(names, runs, strict=True))


def check_timed(runs: Sequence[Summary], form: str) -> None:
    """Raises UsageError if a run has no times, for a format that holds only times."""
    for run in runs:
        if run.figure("latency") is None:
            reason = "emulated" if run.header.is_emulated else str(run.status)
            raise UsageError(
                f"{form} holds times, and {run.name} has none ({reason})",
                where=run.path,
                hint="csv, bencher and github-action-benchmark also hold executed instructions",
            )


def facts(run: Summary) -> dict[str, str]:
    """The facts that distinguish runs, in short."""
    header = run.header
    return {
        "run_id": header.run_id,
        "time": header.time,
        "status": str(run.status),
        "model": header.model.name,
        "profile": header.profile,
        "toolchain": header.toolchain,
        "cpu": header.cpu,
        "device": header.device.name,
        "emulated": "yes" if header.is_emulated else "no",
        "threads": str(header.protocol.get("threads", "")),
    }


def dump(value: Any) -> str:
    """The JSON text of a file."""
    return strict_json.dumps(value, indent=1) + "\n"
