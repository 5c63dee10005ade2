"""Measures what `pip install trimtab` puts on a disk."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import OutputOptions
from trimtab.cli._command import command, group

NAMESPACE = "package"


@dataclass(frozen=True, kw_only=True)
class PackageSizeOptions:
    """Options of `package.size`."""

    results: OutputOptions = group(OutputOptions)


@command(PackageSizeOptions)
def size(options: PackageSizeOptions) -> None:
    """Show the megabytes of an installed trimtab, by package."""
    import sys

    from lab.experiment import TaskRun
    from lab.package_size import measure

    run = TaskRun(measure.PACKAGES, options)
    rows = measure.measure(run.progress)
    run.finish(rows, [measure.table(rows)], versions={"Python": sys.version.split()[0]})
