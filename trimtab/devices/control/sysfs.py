"""Reads many small files of a device's kernel in one go: clocks, governors, temperatures.

Paths are relative to the device's `sysfs`, which is /sys, or a folder that stands in for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trimtab.devices import scripts
from trimtab.devices.protocol import Device

MAX_CORE = 1023  # as many as the C library's cpu_set_t holds

CLOCKS = (
    "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq",
    "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_max_freq",
)
GOVERNORS = (
    "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
    "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_driver",
)
TOPOLOGY = (
    "devices/system/cpu/online",
    "devices/system/cpu/cpu[0-9]*/cpu_capacity",
    "devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq",
    "devices/system/cpu/cpu[0-9]*/regs/identification/midr_el1",
)
TEMPERATURES = (
    "class/thermal/thermal_zone[0-9]*/type",
    "class/thermal/thermal_zone[0-9]*/temp",
)
TRIP_POINTS = (
    "class/thermal/thermal_zone[0-9]*/trip_point_[0-9]*_type",
    "class/thermal/thermal_zone[0-9]*/trip_point_[0-9]*_temp",
)
COOLING = (
    "class/thermal/cooling_device[0-9]*/type",
    "class/thermal/cooling_device[0-9]*/cur_state",
    "class/thermal/cooling_device[0-9]*/stats/total_trans",
    "devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count",
)


@dataclass(frozen=True)
class Tree:
    """Files by their paths, with the first line of each; `allowed`: the cores that processes of
    ours may run on, as the kernel writes them, "" where it does not say.
    """

    files: Mapping[str, str]
    allowed: str = ""

    def number(self, path: str) -> int | None:
        """The whole number in a file; None where there is none."""
        text = self.files.get(path, "")
        return int(text) if re.fullmatch("-?[0-9]{1,18}", text) else None

    def find(self, pattern: str) -> Iterator[tuple[int, str]]:
        """(the number that stands for `#` in `pattern`, the text) for each file of that form."""
        form = re.compile(re.escape(pattern).replace(r"\#", "([0-9]+)"))
        found = ((form.fullmatch(path), text) for path, text in self.files.items())
        return iter(sorted((int(match[1]), text) for match, text in found if match))

    def numbers(self, pattern: str) -> dict[int, int]:
        """As `find`, of files that hold whole numbers."""
        read = ((n, self.number(pattern.replace("#", str(n)))) for n, _ in self.find(pattern))
        return {n: value for n, value in read if value is not None}


def read(device: Device, *patterns: str) -> Tree:
    """The files of these patterns (of the shell) that there are and can be read."""
    text = scripts.script("read_files", device.sysfs, *patterns)
    return parse(device.shell(text, "read the state of the processors"))


def parse(text: str) -> Tree:
    """What the script of `read` printed."""
    files: dict[str, str] = {}
    for line in text.splitlines():
        path, separator, value = line.partition(":")
        if separator:
            files.setdefault(path, value.strip())
    return Tree(files, files.pop("Cpus_allowed_list", ""))


def cores_of(text: str) -> frozenset[int]:
    """{0, 1, 2, 3, 6} of "0-3,6". Raises ValueError."""
    cores: set[int] = set()
    for span in text.split(","):
        first, dash, last = span.partition("-")
        if not first.isascii() or not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"{text!r} is no list of cores")
        if int(last or first) > MAX_CORE:
            raise ValueError(f"{text!r} names a core over {MAX_CORE}")
        cores.update(range(int(first), int(last or first) + 1))
    if not cores:
        raise ValueError(f"{text!r} names no core")
    return frozenset(cores)


def list_of(cores: Sequence[int] | frozenset[int]) -> str:
    """ "0-3,6" of {0, 1, 2, 3, 6}, as the kernel and the runner write it."""
    spans: list[list[int]] = []
    for core in sorted(cores):
        if spans and core == spans[-1][1] + 1:
            spans[-1][1] = core
        else:
            spans.append([core, core])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
