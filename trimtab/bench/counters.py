"""The hardware events that the runner counts on a device.

A PMU counts only a few events at a time, so the kernel multiplexes groups of them
(perf_event_open(2), `time_enabled` and `time_running`). The runner prints raw counts;
`trimtab.results.counters` scales them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab import cores
from trimtab.cores import Core
from trimtab.devices import facts
from trimtab.devices.protocol import DeviceInfo
from trimtab.errors import UsageError
from trimtab.results.records import Event

# linux/perf_event.h: PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE (cache | operation << 8 | result << 16)
# and PERF_TYPE_RAW. Groups form in this order, so events of one ratio stand together.
_GENERIC = {
    "cycles": "0:0",
    "instructions": "0:1",
    "stalled_cycles": "0:8",  # PERF_COUNT_HW_STALLED_CYCLES_BACKEND
}
_SECONDARY = {
    "branch_misses": "0:5",
    "tlb_misses": "3:10003",  # data reads
    "l1d_misses": "3:10000",
}
# On Arm the generic event of cache misses counts those of the first level (arm_pmuv3.c), and only
# recent cores have an event for the last level. L2D_CACHE_REFILL counts those of the second level
# (Arm Architecture Reference Manual, D11.11); many of these chips have no third level.
_LAST_LEVEL = {"last_level_misses": "0:3"}
_ARM = {"last_level_misses": "4:17", "last_level_read_misses": "3:10002"}


@dataclass(frozen=True)
class CounterRequest:
    """The events to count in a launch: `TYPE:CONFIG` for the runner, by name.

    `line_bytes` of the last-level cache and the memory bandwidth for the runner's threads come from
    the device's core; None if no core file has them.
    """

    events: Mapping[str, str]
    line_bytes: int | None
    gb_per_s: float | None

    @property
    def argument(self) -> str:
        """The value of the runner's `--counters`."""
        return ",".join(self.events.values())

    def event(self) -> Event:
        """The record's event that names the entries of the runner's lists."""
        return {
            "event": "counters",
            "names": list(self.events),
            "codes": list(self.events.values()),
            "line_bytes": self.line_bytes,
            "gb_per_s": self.gb_per_s,
        }


def request(info: DeviceInfo, threads: int) -> CounterRequest:
    """The events to count on a device."""
    is_arm = info.machine.startswith(("aarch64", "arm"))
    events = {**_GENERIC, **(_ARM if is_arm else _LAST_LEVEL), **_SECONDARY}
    core = _core(info)
    if core is None:
        return CounterRequest(events, None, None)
    bandwidth = None
    if core.memory is not None:
        single = core.memory.core_gb_per_s if threads == 1 else None
        bandwidth = single or core.memory.gb_per_s
    return CounterRequest(events, (core.l3 or core.l2).line_bytes, bandwidth)


def _core(info: DeviceInfo) -> Core | None:
    try:
        if facts.is_this_machine(info) and not info.is_emulated:
            return cores.this_machine(info.machine)
        return cores.find(info.cpu) if info.cpu else None
    except UsageError:
        return None
