"""The busy shares of cores, from readings of /proc/stat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trimtab.devices.control import busy

# proc(5): user nice system idle iowait irq softirq steal guest guest_nice
BEFORE = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 0 50 800 50 0 0 0 30 0\ncpu1 0 0 0 500 0 0 0 0 0 0\n"
AFTER = "cpu0 150 0 60 820 60 5 5 0 60 0\ncpu3 1 1 1 1 1 1 1 1\nintr 5\n"


class Shell:
    """A device whose shell prints a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def shell(self, *_: str) -> str:
        return self._text


def read(text: str) -> Any:
    return busy.ticks(Shell(text))  # type: ignore[arg-type]


def test_the_share_of_a_core_is_what_is_neither_idle_nor_waiting_for_a_disk() -> None:
    before, after = read(BEFORE), read(AFTER)
    assert before == {0: (150, 1000), 1: (0, 500)}
    assert busy.shares(before, after) == {0: 0.7}  # 70 of 100 ticks; core 1 went offline
    assert busy.shares(before, before) == {}
    assert read("") == read("cpu0 1 2\n") == {}


def test_this_machine_tells_all_its_cores() -> None:
    ticks = read(Path("/proc/stat").read_text())
    assert all(0 <= busy <= every for busy, every in ticks.values())
    assert len(ticks) > 0
