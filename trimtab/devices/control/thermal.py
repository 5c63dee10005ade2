"""Heat: the gate before a launch, and what tells that a device slowed itself down meanwhile."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Any

from trimtab.devices.control import sysfs
from trimtab.devices.control.sysfs import Tree
from trimtab.devices.facts import CPU_SENSOR, hottest
from trimtab.devices.protocol import Device

GATE_S = 120.0  # a board with a heat sink cools from its trip point in less
_POLL_S = 1.0
_BELOW_TRIP_CELSIUS = 10.0
_NO_TRIP_CELSIUS = 65.0  # where the device names no trip point; boards throttle from 70 to 85 on

_CPU = "devices/system/cpu/cpu#/"
_ZONE = "class/thermal/thermal_zone#/"
_COOLER = "class/thermal/cooling_device#/"
_SELF_CLOCKING = ("intel_pstate", "amd-pstate", "amd-pstate-epp")  # they report an average
_SLOW = 0.9


@dataclass(frozen=True)
class Sample:
    """The state of a device between two launches; empty where it does not tell.

    `mhz`: current frequencies of the measured cores, `limit_mhz`: what they may have now;
    `cooling`: states of what cools by slowing down, above 0 while it does; `slowdowns`: how often
    each has changed so far, with the processor's own count.
    """

    celsius: float | None
    mhz: dict[int, float]
    limit_mhz: dict[int, float]
    cooling: dict[str, int]
    slowdowns: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """For a record."""
        return asdict(self)


def sample(device: Device, cores: Collection[int]) -> Sample:
    """Asks the device."""
    tree = sysfs.read(device, *sysfs.CLOCKS, *sysfs.TEMPERATURES, *sysfs.COOLING)
    return parse(tree, cores)


def parse(tree: Tree, cores: Collection[int]) -> Sample:
    """What the files say of `cores`."""

    def mhz(name: str) -> dict[int, float]:
        read = tree.numbers(f"{_CPU}cpufreq/{name}")
        return {core: khz / 1000 for core, khz in read.items() if core in cores}

    coolers = {n: kind for n, kind in tree.find(_COOLER + "type") if CPU_SENSOR.search(kind)}
    states, changes = (
        tree.numbers(_COOLER + "cur_state"),
        tree.numbers(_COOLER + "stats/total_trans"),
    )
    slowdowns = {f"{coolers[n]} {n}": count for n, count in changes.items() if n in coolers}
    own = tree.numbers(f"{_CPU}thermal_throttle/core_throttle_count")
    slowdowns |= {f"core {core}": count for core, count in own.items() if core in cores}
    return Sample(
        celsius=temperature(tree),
        mhz=mhz("scaling_cur_freq"),
        limit_mhz=mhz("scaling_max_freq"),
        cooling={f"{coolers[n]} {n}": state for n, state in states.items() if n in coolers},
        slowdowns=slowdowns,
    )


def temperature(tree: Tree) -> float | None:
    """The temperature of the processor, in degrees Celsius; None where nothing tells it."""
    kinds = dict(tree.find(_ZONE + "type"))
    readings = tree.numbers(_ZONE + "temp").items()
    return hottest((kinds.get(zone, ""), milli) for zone, milli in readings)


def zones(tree: Tree) -> dict[str, float]:
    """Degrees Celsius of each zone, by its kind and number."""
    kinds = dict(tree.find(_ZONE + "type"))
    readings = tree.numbers(_ZONE + "temp").items()
    return {f"{kinds.get(zone, 'zone')} {zone}": milli / 1000 for zone, milli in readings}


def limit_of(tree: Tree) -> float:
    """The temperature to start below: 10 degrees under the lowest trip point at which the kernel
    slows the processor down, else 65.
    """
    trips = [
        _trip(tree, zone, path)
        for zone, kind in tree.find(_ZONE + "type")
        if CPU_SENSOR.search(kind)
        for path, text in tree.files.items()
        if re.fullmatch(rf"class/thermal/thermal_zone{zone}/trip_point_\d+_type", path)
        and text == "passive"
    ]
    known = [celsius for celsius in trips if celsius is not None]
    return min(known) - _BELOW_TRIP_CELSIUS if known else _NO_TRIP_CELSIUS


def _trip(tree: Tree, zone: int, path: str) -> float | None:
    milli = tree.number(path.removesuffix("_type") + "_temp")
    return None if milli is None or milli <= 0 else milli / 1000


def wait_until_cool(
    device: Device, cores: Collection[int], limit_celsius: float, note: Callable[[str], None]
) -> tuple[Sample, str]:
    """Waits until the device is cooler than the limit; gives its state then, and what to say when
    it does not become so in `GATE_S`, "" when it is, or tells no temperature.
    """
    deadline = time.monotonic() + GATE_S
    is_told = False
    while True:
        now = sample(device, cores)
        if now.celsius is None or now.celsius <= limit_celsius:
            return now, ""
        if time.monotonic() >= deadline:
            return now, f"{now.celsius:.1f} °C, not {limit_celsius:g} after {GATE_S:g} s"
        if not is_told:
            note(f"{device.name} has {now.celsius:.1f} °C: waits until it is at {limit_celsius:g}")
            is_told = True
        time.sleep(_POLL_S)


def slowdowns(
    reference: Sample, before: Sample, after: Sample, *, governor: str | None, driver: str | None
) -> list[str]:
    """Why the samples of a launch between `before` and `after` count as throttled; none is good.

    `reference`: before the first launch. A clock below its limit counts with the governor
    "performance" alone, which holds it there.
    """
    reasons = [
        f"{name} is in state {state}"
        for name, state in (before.cooling | after.cooling).items()
        if state > 0
    ]
    reasons += [
        f"{name} slowed down {count - before.slowdowns[name]} times"
        for name, count in after.slowdowns.items()
        if count > before.slowdowns.get(name, count)
    ]
    for core, limit in after.limit_mhz.items():
        full = reference.limit_mhz.get(core, limit)
        if limit < _SLOW * full:
            reasons.append(f"core {core} may clock {limit:g} MHz instead of {full:g}")
    if governor == "performance" and driver not in _SELF_CLOCKING:
        for core, mhz in after.mhz.items():
            full = reference.limit_mhz.get(core, reference.mhz.get(core, mhz))
            if mhz < _SLOW * full:
                reasons.append(f"core {core} has {mhz:g} MHz instead of {full:g}")
    return reasons
