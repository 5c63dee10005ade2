"""The time of the tests by room."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.test_seconds import seconds
from lab.test_seconds.seconds import RoomSeconds
from trimtab import tables
from trimtab.errors import FileAccessError, RegressionError

REPORT = """<testsuites><testsuite>
<testcase classname="tests.ops.test_cast" name="a" time="3.0"/>
<testcase classname="tests.ops.cases.test_it" name="b" time="1.0"/>
<testcase classname="tests.test_files" name="c" time="0.5"/>
<testcase classname="tests.passes.test_fuse" name="d[1]" time="5.5"/>
</testsuite></testsuites>
"""


def test_durations_are_summed_by_room_slowest_first(tmp_path: Path) -> None:
    report = tmp_path / "tests.xml"
    report.write_text(REPORT)
    rooms = seconds.of_run(report)
    assert rooms == [
        RoomSeconds("passes", 1, 5.5), RoomSeconds("ops", 2, 4.0), RoomSeconds("modules", 1, 0.5)
    ]  # fmt: skip
    assert seconds.shares(rooms) == {"passes": 0.55, "ops": 0.4, "modules": 0.05}
    line = tables.text([seconds.table(rooms)]).splitlines()[-2]
    assert line.split() == ["ops", "2", "4", "40.0%"]


def test_a_run_that_was_not_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="no durations"):
        seconds.of_run(tmp_path / "none.xml")


def test_a_room_that_grows_faster_than_the_others_fails_and_a_slower_machine_does_not() -> None:
    before = [RoomSeconds("ops", 10, 60.0), RoomSeconds("passes", 10, 40.0)]
    slower = [RoomSeconds("ops", 10, 180.0), RoomSeconds("passes", 12, 125.0)]
    seconds.check(slower, before)
    grown = [RoomSeconds("ops", 10, 60.0), RoomSeconds("passes", 10, 130.0)]
    with pytest.raises(RegressionError, match=r"passes: 40\.0% to 68\.4% of the time"):
        seconds.check(grown, before)
    with pytest.raises(RegressionError, match=r"new: 0\.0% to 5\.7% of the time"):
        seconds.check([*before, RoomSeconds("new", 1, 6.0)], before)
