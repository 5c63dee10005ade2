"""Says where the time of the tests goes."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import OutputOptions
from trimtab.cli._command import command, group, option

NAMESPACE = "tests"


@dataclass(frozen=True, kw_only=True)
class SecondsOptions:
    """Options of `tests.seconds`."""

    check: bool = option("fail if the share of a room grew", False)
    results: OutputOptions = group(OutputOptions)


@command(SecondsOptions)
def seconds(options: SecondsOptions) -> None:
    """Show the seconds of the last ./inv test by room, or compare them with the committed ones."""
    from lab.experiment import TaskRun
    from lab.test_seconds import seconds as durations
    from trimtab import paths

    run = TaskRun(durations.SECONDS, options)
    rooms = durations.of_run(paths.cache() / "tests.xml")
    run.finish(rooms, [durations.table(rooms)])
    if options.check:
        durations.check(rooms, durations.SECONDS.rows())
