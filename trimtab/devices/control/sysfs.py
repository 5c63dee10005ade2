"""Reads many small files of a device's kernel at once: clocks, governors, temperatures.

Paths are relative to the device's `sysfs`, which is /sys or a stand-in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trimtab.devices import printed, scripts
from trimtab.devices.protocol import Device

MAX_CORE = 1023  # the capacity of the C library's cpu_set_t

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
class SysfsTree:
    """The first line of each file, by path.

    `allowed`: the cores that our processes may use, in the kernel's notation; "" if unknown.
    """

    files: Mapping[str, str]
    allowed: str = ""

    def number(self, path: str) -> int | None:
        """The integer in a file; None if there is none."""
        return printed.number(self.files.get(path, ""))

    def find(self, pattern: str) -> Iterator[tuple[int, str]]:
        """Pairs (number in place of `#`, text) of the files whose path matches `pattern`."""
        form = re.compile(re.escape(pattern).replace(r"\#", "([0-9]{1,9})"))
        matches = ((form.fullmatch(path), text) for path, text in self.files.items())
        return iter(sorted((int(match[1]), text) for match, text in matches if match))

    def numbers(self, pattern: str) -> dict[int, int]:
        """The integers of the files that `find` returns, by number."""
        values = ((n, self.number(pattern.replace("#", str(n)))) for n, _ in self.find(pattern))
        return {n: value for n, value in values if value is not None}


def read(device: Device, *patterns: str) -> SysfsTree:
    """The readable files that match shell patterns."""
    text = scripts.script("read_files", device.sysfs, *patterns)
    return parse(device.shell(text, "read the state of the processors"))


def parse(text: str) -> SysfsTree:
    """Parses the output of read_files.sh."""
    files: dict[str, str] = {}
    for line in text.splitlines():
        path, separator, value = line.partition(":")
        if separator:
            files.setdefault(path, value.strip())
    return SysfsTree(files, files.pop("Cpus_allowed_list", ""))


def cores_of(text: str) -> frozenset[int]:
    """Parses a list of cores: "0-3,6" is {0, 1, 2, 3, 6}. Raises ValueError."""
    cores: set[int] = set()
    for span in text.split(","):
        first, dash, last = span.partition("-")
        low, high = printed.number(first, 0), printed.number(last if dash else first, 0)
        if low is None or high is None:
            raise ValueError(f"{text[:80]!r} is not a list of cores")
        if high > MAX_CORE:
            raise ValueError(f"{text[:80]!r} names a core above {MAX_CORE}")
        cores.update(range(low, high + 1))
    if not cores:
        raise ValueError(f"{text!r} names no core")
    return frozenset(cores)


def list_of(cores: Sequence[int] | frozenset[int]) -> str:
    """Formats a list of cores as the kernel and the runner do: {0, 1, 2, 3, 6} is "0-3,6"."""
    spans: list[list[int]] = []
    for core in sorted(cores):
        if spans and core == spans[-1][1] + 1:
            spans[-1][1] = core
        else:
            spans.append([core, core])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
