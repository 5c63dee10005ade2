"""Says where the time of the tests goes."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

NAMESPACE = "tests"


@dataclass(frozen=True, kw_only=True)
class SecondsOptions:
    """Options of `tests.seconds`."""

    check: bool = option("fail if the share of a room grew", False)
    json: bool = option("print JSON", False)
    update: bool = option("write the figures to lab/test_seconds/", False)


@command(SecondsOptions)
def seconds(options: SecondsOptions) -> None:
    """Show the seconds of the last ./inv test by room, or compare them with the committed ones."""
    from dataclasses import asdict

    from lab import committed
    from lab.machine import MachineMonitor
    from lab.test_seconds import seconds as durations
    from trimtab import paths, strict_json, tables
    from trimtab.cli._progress import shown

    rooms = durations.of_run(paths.cache() / "tests.xml")
    if options.json:
        print(strict_json.dumps([asdict(room) for room in rooms], indent=1))
    else:
        print(tables.text([durations.table(rooms)]))
    if options.check:
        durations.check(rooms, durations.from_rows(committed.read(durations.NAME).rows))
    if options.update:
        results = durations.to_results(rooms, MachineMonitor().facts())
        shown().note(f"written: {committed.write(durations.NAME, results)}")
