"""Detectors of packages from their files to boxes, bytes and instructions."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import CheckedOptions
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class JourneysOptions:
    """Options of `bench.journeys`."""

    origin: tuple[str, ...] = option("only this origin of lab/journeys/origins.py (repeatable)", ())
    precision: tuple[str, ...] = option("only this precision, such as int8 (repeatable)", ())
    results: CheckedOptions = group(CheckedOptions)


@command(JourneysOptions, engine=True)
def journeys(options: JourneysOptions) -> None:
    """Compare boxes of detectors of packages with those of the code that they come with."""
    from lab.experiment import TaskRun
    from lab.journeys import measure
    from lab.journeys.origins import ORIGINS

    run = TaskRun(measure.JOURNEYS, options)
    chosen = run.chosen("origin", ORIGINS), run.chosen("precision", measure.PLANS)
    run.finish([*measure.measure(*chosen, run.progress)])
