"""Figures of fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import trimtab
from lab.committed import Results, Row
from trimtab.fitting import report
from trimtab.fitting.fit import Fitted
from trimtab.tables import Column, Table, number

NAME = "regret"


def rows(fitted: Fitted) -> list[dict[str, Any]]:
    """The regret of each way to plan, on the layers that were held out.

    `mean`, `worst`: time of the choice by that of the fastest way, the geometric mean and the
    largest; `largest`: the layer of the worst choice, what was chosen, and what is faster;
    `seconds`: the time of the whole fit.
    """
    return [
        {
            "core": fitted.core.name,
            "plans_by": name,
            "choices": len(regret.choices),
            "mean": round(regret.mean, 4),
            "worst": round(regret.worst, 3),
            "largest": report.described(*regret.largest(1)) if regret.choices else "",
            "seconds": round(fitted.seconds),
        }
        for name, regret in report.judged(fitted)
    ]


def to_results(figures: Sequence[Row], command: str, machine: Mapping[str, Any]) -> Results:
    """The content of the result file."""
    versions = {"trimtab": trimtab.__version__}
    return Results(command=command, machine=machine, versions=versions, rows=figures)


def table(figures: Iterable[Row]) -> Table:
    """One line per core and way to plan."""
    columns = [Column("core"), Column("plans by"), number("choices"), number("mean", ".3f")]
    columns += [number("worst", ".2f"), Column("the worst choice")]
    keys = ("core", "plans_by", "choices", "mean", "worst", "largest")
    return Table(columns, [[row[key] for key in keys] for row in figures])
