"""The share of time for which each core of a device is busy, with whatever runs there.

Source: the lines `cpuN` of /proc/stat (proc(5)): ticks in user mode, nice, system, idle, waiting
for disks, interrupts, soft interrupts and stolen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from trimtab.devices.protocol import Device

_LINE = re.compile(r"cpu(\d{1,4})((?: \d{1,18}){8,})")
_IDLE = slice(3, 5)
_COUNTED = 8  # what follows them is a part of the time in user mode

Ticks = Mapping[int, tuple[int, int]]


def ticks(device: Device) -> Ticks:
    """Ticks since the start of the device, by core: busy and all; empty if it does not tell them,
    as Android.
    """
    text = device.shell("cat /proc/stat 2>/dev/null; true", "read the time of the cores")
    readings = {}
    for match in filter(None, map(_LINE.match, text.splitlines())):
        counts = [int(word) for word in match[2].split()[:_COUNTED]]
        readings[int(match[1])] = sum(counts) - sum(counts[_IDLE]), sum(counts)
    return readings


def shares(before: Ticks, after: Ticks) -> dict[int, float]:
    """The busy share of each core between two readings, of those that were online at both."""
    spans = {
        core: (after[core][0] - busy, after[core][1] - every)
        for core, (busy, every) in before.items()
        if core in after
    }
    return {core: round(busy / every, 4) for core, (busy, every) in spans.items() if every > 0}
