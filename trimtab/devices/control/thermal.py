"""The thermal gate before a launch, and the signs of throttling during it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Any

from trimtab.devices.control import sysfs
from trimtab.devices.control.sysfs import SysfsTree
from trimtab.devices.facts import CPU_SENSOR, hottest
from trimtab.devices.protocol import Device

GATE_S = 120.0  # a board with a heat sink needs less to cool from its trip point
_POLL_S = 1.0
_BELOW_TRIP_CELSIUS = 10.0
_NO_TRIP_CELSIUS = 65.0  # without a trip point; boards throttle at 70 to 85

_CPU = "devices/system/cpu/cpu#/"
_ZONE = "class/thermal/thermal_zone#/"
_COOLER = "class/thermal/cooling_device#/"
_SELF_CLOCKING = ("intel_pstate", "amd-pstate", "amd-pstate-epp")  # their clock is an average
_SLOW = 0.9


@dataclass(frozen=True)
class ThermalState:
    """The state of a device between two launches; empty if it reports none.

    `mhz`: current clocks of the measured cores; `limit_mhz`: their limits now. `cooling`: states of
    cooling devices that slow the processor down, above 0 while they do. `slowdowns`: the number
    of state changes so far, and the processor's own count.
    """

    celsius: float | None
    mhz: dict[int, float]
    limit_mhz: dict[int, float]
    cooling: dict[str, int]
    slowdowns: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """The state for a run record."""
        return asdict(self)


def sample(device: Device, cores: Collection[int]) -> ThermalState:
    """Asks the device for its state."""
    tree = sysfs.read(device, *sysfs.CLOCKS, *sysfs.TEMPERATURES, *sysfs.COOLING)
    return parse(tree, cores)


def parse(tree: SysfsTree, cores: Collection[int]) -> ThermalState:
    """The state of `cores` according to the files."""

    def mhz(name: str) -> dict[int, float]:
        clocks = tree.numbers(f"{_CPU}cpufreq/{name}")
        return {core: khz / 1000 for core, khz in clocks.items() if core in cores}

    coolers = {n: kind for n, kind in tree.find(_COOLER + "type") if CPU_SENSOR.search(kind)}
    states, changes = (
        tree.numbers(_COOLER + "cur_state"),
        tree.numbers(_COOLER + "stats/total_trans"),
    )
    slowdowns = {f"{coolers[n]} {n}": count for n, count in changes.items() if n in coolers}
    own = tree.numbers(f"{_CPU}thermal_throttle/core_throttle_count")
    slowdowns |= {f"core {core}": count for core, count in own.items() if core in cores}
    return ThermalState(
        celsius=temperature(tree),
        mhz=mhz("scaling_cur_freq"),
        limit_mhz=mhz("scaling_max_freq"),
        cooling={f"{coolers[n]} {n}": state for n, state in states.items() if n in coolers},
        slowdowns=slowdowns,
    )


def temperature(tree: SysfsTree) -> float | None:
    """The temperature of the processor, in degrees Celsius; None if unknown."""
    kinds = dict(tree.find(_ZONE + "type"))
    readings = tree.numbers(_ZONE + "temp").items()
    return hottest((kinds.get(zone, ""), milli) for zone, milli in readings)


def zones(tree: SysfsTree) -> dict[str, float]:
    """The temperature of each zone in degrees Celsius, by kind and number."""
    kinds = dict(tree.find(_ZONE + "type"))
    readings = tree.numbers(_ZONE + "temp").items()
    return {f"{kinds.get(zone, 'zone')} {zone}": milli / 1000 for zone, milli in readings}


def limit_of(tree: SysfsTree) -> float:
    """The highest temperature at which a launch may begin.

    10 degrees below the lowest passive trip point of the processor, where the kernel slows it down;
    65 degrees if there is none.
    """
    trips = [
        _trip(tree, zone, path)
        for zone, kind in tree.find(_ZONE + "type")
        if CPU_SENSOR.search(kind)
        for path, text in tree.files.items()
        if re.fullmatch(rf"class/thermal/thermal_zone{zone}/trip_point_\d+_type", path)
        and text == "passive"
    ]
    valid = [celsius for celsius in trips if celsius is not None]
    return min(valid) - _BELOW_TRIP_CELSIUS if valid else _NO_TRIP_CELSIUS


def _trip(tree: SysfsTree, zone: int, path: str) -> float | None:
    milli = tree.number(path.removesuffix("_type") + "_temp")
    return None if milli is None or milli <= 0 else milli / 1000


def wait_until_cool(
    device: Device, cores: Collection[int], limit_celsius: float, note: Callable[[str], None]
) -> tuple[ThermalState, str]:
    """The thermal gate: waits until the device is below the limit, for at most `GATE_S`.

    Returns its state, and a complaint if it is still too hot. An unknown temperature passes.
    """
    deadline = time.monotonic() + GATE_S
    is_noted = False
    while True:
        now = sample(device, cores)
        if now.celsius is None or now.celsius <= limit_celsius:
            return now, ""
        if time.monotonic() >= deadline:
            return now, f"{now.celsius:.1f} °C, not {limit_celsius:g} after {GATE_S:g} s"
        if not is_noted:
            note(f"{device.name} has {now.celsius:.1f} °C: waiting for {limit_celsius:g} °C")
            is_noted = True
        time.sleep(_POLL_S)


def slowdowns(
    reference: ThermalState,
    before: ThermalState,
    after: ThermalState,
    *,
    governor: str | None,
    driver: str | None,
) -> list[str]:
    """The reasons why a launch between `before` and `after` counts as throttled.

    `reference`: the state before the first launch. A clock below its limit counts only with the
    governor "performance", which keeps it at the limit.
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
