"""Seconds of the tests by room, beside the committed ones.

Machines differ in speed and load, so that the share of a room in the sum is compared: a room that
grows faster than the others is seen in the run in which it does.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from lab import committed
from lab.experiment import Experiment, FigureRow, figure, figure_row, text
from trimtab.errors import FileAccessError, RegressionError
from trimtab.tables import Column, Table

SMALL = 0.02
"""Shares of the whole below this one are not compared."""

ALLOWED = 1.6
"""Largest share of a room beside the committed one."""


@figure_row
class RoomSeconds(FigureRow):
    """The tests of one room: their number, and the sum of their durations in s."""

    room: str = text("room")
    tests: int = figure("tests", ",d")
    seconds: float = figure("s", ",.0f", digits=1)


SECONDS = Experiment("tests.seconds", "test_seconds", RoomSeconds, is_timed=True)


def of_run(report: Path) -> list[RoomSeconds]:
    """The rooms of a run, slowest first, from pytest's JUnit file.

    FileAccessError if there is none: `./inv test` writes it.
    """
    try:
        cases = ET.parse(report).iter("testcase")
    except (OSError, ET.ParseError) as error:
        raise FileAccessError(
            f"no durations: {error}", where=str(report), hint="./inv test writes them"
        ) from error
    sums: dict[str, list[float]] = {}
    for case in cases:
        parts = case.get("classname", "").split(".")
        room = parts[1] if len(parts) > 2 else "modules"
        sums.setdefault(room, []).append(float(case.get("time", 0)))
    rooms = [RoomSeconds(name, len(times), sum(times)) for name, times in sums.items()]
    return sorted(rooms, key=lambda room: -room.seconds)


def shares(rooms: Sequence[RoomSeconds]) -> dict[str, float]:
    """The share of each room in the sum of all."""
    whole = sum(room.seconds for room in rooms) or 1.0
    return {room.room: room.seconds / whole for room in rooms}


def check(rooms: Sequence[RoomSeconds], before: Sequence[RoomSeconds]) -> None:
    """RegressionError naming the rooms whose share grew by more than ALLOWED."""
    was = shares(before)
    grown = [
        f"{room}: {was.get(room, 0):.1%} to {share:.1%} of the time"
        for room, share in shares(rooms).items()
        if share > SMALL + ALLOWED * was.get(room, 0)
    ]
    if grown:
        raise RegressionError(
            "tests of a room take longer than the committed share:\n  " + "\n  ".join(grown),
            where=str(committed.path_of(SECONDS.name)),
            hint="make room, or commit the new shares: ./inv tests.seconds --update",
        )


def table(rooms: Sequence[RoomSeconds]) -> Table:
    """A row for each room."""
    columns = [Column("room"), Column("tests", ",d"), Column("s", ",.0f"), Column("share", ".1%")]
    of = shares(rooms)
    return Table(columns, [(r.room, r.tests, r.seconds, of[r.room]) for r in rooms])
