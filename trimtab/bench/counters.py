"""Hardware events: what the runner is asked to count, and what the counts say.

A PMU counts few events at a time, so the kernel lets groups of them take turns, and says for how
long each was counted (perf_event_open(2), `time_enabled` and `time_running`). The runner prints
that as it is; here it is scaled, over all samples together: of an operator that is shorter than a
turn, one sample alone may have counted nothing.
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
# and PERF_TYPE_RAW. Groups are made in this order; what is set in proportion stands together.
_GENERIC = {
    "cycles": "0:0",
    "instructions": "0:1",
    "stalled_cycles": "0:8",  # PERF_COUNT_HW_STALLED_CYCLES_BACKEND
}
_REST = {
    "branch_misses": "0:5",
    "tlb_misses": "3:10003",  # of reads of data
    "l1d_misses": "3:10000",
}
# On Arm the generic event of cache misses counts those of the first level (arm_pmuv3.c), and the
# last level's own event is new; the second level's is L2D_CACHE_REFILL of the Arm Architecture
# Reference Manual, D11.11 (in many of these chips there is no third level).
_LAST_LEVEL = {"last_level_misses": "0:3"}
_ARM = {"last_level_misses": "4:17", "last_level_read_misses": "3:10002"}


@dataclass(frozen=True)
class Wanted:
    """What a launch counts. `events`: `TYPE:CONFIG` for the runner, by name. `line_bytes` of the
    last level of cache, and the bandwidth that the runner's threads share: of the device's core,
    None where no file knows it.
    """

    events: Mapping[str, str]
    line_bytes: int | None
    gb_per_s: float | None

    @property
    def argument(self) -> str:
        """The runner's `--counters`."""
        return ",".join(self.events.values())

    def event(self) -> Event:
        """The record's line that gives the runner's lists their names."""
        return {
            "event": "counters",
            "names": list(self.events),
            "codes": list(self.events.values()),
            "line_bytes": self.line_bytes,
            "gb_per_s": self.gb_per_s,
        }


def wanted(info: DeviceInfo, threads: int) -> Wanted:
    """What to count on a device."""
    is_arm = info.machine.startswith(("aarch64", "arm"))
    events = {**_GENERIC, **(_ARM if is_arm else _LAST_LEVEL), **_REST}
    core = _core(info)
    if core is None:
        return Wanted(events, None, None)
    bandwidth = None
    if core.memory is not None:
        own = core.memory.core_gb_per_s if threads == 1 else None
        bandwidth = own or core.memory.gb_per_s
    return Wanted(events, (core.l3 or core.l2).line_bytes, bandwidth)


def _core(info: DeviceInfo) -> Core | None:
    try:
        if facts.is_this_machine(info) and not info.is_emulated:
            return cores.this_machine(info.machine)
        return cores.find(info.cpu) if info.cpu else None
    except UsageError:
        return None
