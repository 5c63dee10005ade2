"""What the formats of other programs have in common: the measures of a run under names that stay
the same from run to run, so that those programs find the same benchmark again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.compare.side_by_side import Comparison
from trimtab.errors import UsageError
from trimtab.reports import run_tables
from trimtab.results.statistics import Interval
from trimtab.results.summary import Summary, Unit


@dataclass(frozen=True)
class Measure:
    """One number of a run. `key`: the figure's, or "op"; `name`: what was measured, in words that
    do not change with the build; `interval` is None for what is exact.
    """

    key: str
    name: str
    unit: Unit
    value: float
    interval: Interval | None


def measures(run: Summary) -> Iterator[Measure]:
    """The figures of a run, then its operators."""
    for figure in run.figures:
        found = figure.statistic
        interval = found.interval if found.interval.low != found.interval.high else None
        yield Measure(figure.key, figure.label.strip(), figure.unit, figure.value, interval)
    for op in run.ops:
        if op.cost:
            unit = Unit.INSTRUCTIONS if op.ns is None else Unit.NS
            yield Measure("op", f"op {op.index} {op.label}", unit, op.cost, None)


def named(runs: Sequence[Summary]) -> list[tuple[str, Summary]]:
    """Runs of one file under the names that their benchmarks begin with: the network's, and what
    tells several runs from each other.
    """
    networks = [run.header.model.name.split(".")[0] for run in runs]
    if len(runs) == 1:
        return list(zip(networks, runs, strict=True))
    labels = run_tables.run_labels(Comparison(tuple(runs), (), ()))
    paired = zip(networks, labels, strict=True)
    names = [n if n == label else f"{n} [{label}]" for n, label in paired]
    return list(zip(names, runs, strict=True))


def check_timed(runs: Sequence[Summary], form: str) -> None:
    """For a format of nothing but times: UsageError when a run has none."""
    for run in runs:
        if run.figure("latency") is None:
            why = "an emulator's time means nothing" if run.header.is_emulated else str(run.status)
            raise UsageError(
                f"{form} holds times, and {run.name} has none ({why})",
                where=run.path,
                hint="csv, bencher and github-action-benchmark hold executed instructions too",
            )


def facts(run: Summary) -> dict[str, str]:
    """What a reader needs to tell runs apart, in short."""
    header = run.header
    return {
        "run_id": header.run_id,
        "time": header.time,
        "status": str(run.status),
        "model": header.model.name,
        "profile": header.profile,
        "toolchain": header.toolchain,
        "cpu": header.cpu,
        "device": str(header.device["name"]),
        "emulated": "yes" if header.is_emulated else "no",
        "threads": str(header.protocol.get("threads", "")),
    }


def dump(value: Any) -> str:
    """JSON as files hold it."""
    return json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
