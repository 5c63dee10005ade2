"""Measures the line coverage of the engine."""

from __future__ import annotations

from dataclasses import dataclass

from invoke.exceptions import Exit

from lab.options import OutputOptions
from trimtab.cli._command import command, group, option


@dataclass(frozen=True, kw_only=True)
class CoverageOptions:
    """Options of `coverage`."""

    html: str = option("folder for annotated sources")
    results: OutputOptions = group(OutputOptions)


@command(CoverageOptions, engine=True)
def coverage(options: CoverageOptions) -> None:
    """Measure line coverage of the engine by operator tests and seeds of fuzzing."""
    from lab.coverage import figures, measure
    from lab.dev import instrumented
    from lab.experiment import TaskRun

    run = TaskRun(figures.COVERAGE, options)
    rows = measure.measure(options.html)
    run.finish(rows, figures.page(rows), versions={"clang": instrumented.version()})
    if figures.share(rows) < figures.MINIMUM:
        raise Exit(f"coverage: less than {figures.MINIMUM:.0%}", code=1)
