"""Hardware events of a run: counts per inference, and whether an operator is memory bound.

The kernel multiplexes groups of events (perf_event_open(2)), so counts are scaled by the time that
each event was counted. Scaling uses all samples together: one sample of an operator that is shorter
than a multiplexing interval may have counted nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.results.records import Event, Record

# Thresholds above or below which an operator is memory bound or compute bound.
MEMORY_SHARE, COMPUTE_SHARE = 0.6, 0.25  # of the bandwidth
MEMORY_STALLS, COMPUTE_STALLS = 0.5, 0.25  # of the cycles
MEMORY_MISSES = 0.01  # per instruction; a miss costs hundreds of issue cycles

NOTHING = (
    "The kernel counted no hardware events: the machine has none (a virtual machine, a container, "
    "an emulator), or /proc/sys/kernel/perf_event_paranoid is above 2."
)
RULE = (
    f"An operator is memory bound if its last-level cache misses take more than {MEMORY_SHARE:.0%} "
    f"of the core's memory bandwidth, and compute bound below {COMPUTE_SHARE:.0%}. With an unknown "
    f"bandwidth it is memory bound above {MEMORY_STALLS:.0%} stalled cycles and "
    f"{MEMORY_MISSES * 1000:g} such misses per 1000 instructions, and compute bound below "
    f"{COMPUTE_STALLS:.0%} stalled cycles. A prefetcher's reads may not count as misses, so "
    f"'compute' is the less certain result."
)


@dataclass(frozen=True)
class EventCounts:
    """Average counts of one inference or operator; an event that was not counted is missing.

    `counted_share` is the smallest share of the time that an event was counted, below 1 if the
    kernel multiplexed events.
    """

    counts: Mapping[str, float]
    counted_share: float

    def per(self, event: str, other: str) -> float | None:
        """The count of `event` per one of `other`."""
        a, b = self.counts.get(event), self.counts.get(other)
        return a / b if a is not None and b else None


def scaled(
    names: Sequence[str], samples: Sequence[Sequence[Any]], ignored: Collection[str] = ()
) -> EventCounts:
    """The average counts of one sample.

    `samples[i]` is the runner's output for sample i: `[count, enabled_ns, running_ns]` or None for
    each name. `ignored` names events without meaning.
    """
    counts, share = {}, 1.0
    for name, *readings in zip(names, *samples, strict=True):
        present = [reading for reading in readings if reading is not None]
        count, enabled, running = (sum(r[i] for r in present) for i in range(3))
        if running == 0 or name in ignored:
            continue
        counts[name] = count * enabled / running / len(present)
        share = min(share, running / enabled)
    if "last_level_read_misses" in counts:  # a core with more than two levels
        counts["last_level_misses"] = counts.pop("last_level_read_misses")
    return EventCounts(counts, share)


class HardwareEvents:
    """Interprets the hardware events of one record."""

    def __init__(self, request: Event, threads: int, inferences: Sequence[Event] = ()) -> None:
        """`request` is the record's `counters` event; `inferences` are its `run` events."""
        self._names: Sequence[str] = request["names"]
        # The kernel accepts raw events that the PMU lacks, and counts nothing for them.
        whole = scaled(self._names, _readings(inferences))
        is_silent = whole.counts.get("last_level_misses") == 0
        self._ignored = ("last_level_misses",) if is_silent else ()
        self._line_bytes: int | None = request["line_bytes"]
        self._gb_per_s: float | None = request["gb_per_s"]
        self._threads = threads

    def counted(self, events: Sequence[Event]) -> EventCounts | None:
        """The counts of events of one kind; None if nothing was counted."""
        counts = scaled(self._names, _readings(events), self._ignored)
        return counts if counts.counts else None

    def gb_per_s(self, counted: EventCounts, ns: float | None) -> float | None:
        """The memory bandwidth of last-level cache misses, if all threads miss alike."""
        misses = counted.counts.get("last_level_misses")
        if misses is None or not ns or self._line_bytes is None:
            return None
        return misses * self._line_bytes * self._threads / ns

    def bound(self, counted: EventCounts, ns: float | None) -> str:
        """`memory`, `compute`, `between`, or "" if the counters do not determine it; see `RULE`."""
        moved = self.gb_per_s(counted, ns)
        if moved is not None and self._gb_per_s is not None:
            share = moved / self._gb_per_s
            if share > MEMORY_SHARE:
                return "memory"
            return "compute" if share < COMPUTE_SHARE else "between"
        stalls = counted.per("stalled_cycles", "cycles")
        misses = counted.per("last_level_misses", "instructions")
        if stalls is None or misses is None:
            return ""
        if stalls > MEMORY_STALLS and misses > MEMORY_MISSES:
            return "memory"
        return "compute" if stalls < COMPUTE_STALLS else "between"


def _readings(events: Sequence[Event]) -> list[Sequence[Any]]:
    return [event["counters"] for event in events if "counters" in event]


@dataclass(frozen=True)
class OperatorCounters:
    """The hardware events of one inference, or of one operator in it.

    `counts` are per inference. `gb_per_s` and `bound` as in `HardwareEvents`; None and "" if the
    counters do not determine them.
    """

    label: str
    counts: Mapping[str, float]
    counted_share: float
    stalled_share: float | None
    instructions_per_cycle: float | None
    gb_per_s: float | None
    bound: str


def rows(
    record: Record, operators: Sequence[tuple[int, str, float | None]], latency_ns: float | None
) -> tuple[OperatorCounters, ...] | None:
    """One row for the inference, and one for each of `operators` (index, label, ns).

    None if no events were requested, empty if none were counted. Without times, as under an
    emulator, `bound` is "".
    """
    request = record.first("counters")
    if request is None:
        return None
    threads = int(record.header.protocol.get("threads", 1))
    hardware = HardwareEvents(request, threads, record.of("run"))
    by_index: dict[int, list[Event]] = {}
    for event in record.of("op"):
        by_index.setdefault(event["index"], []).append(event)
    groups = [("inference", record.of("run"), latency_ns)]
    groups += [(label, by_index.get(index, []), ns) for index, label, ns in operators]
    return tuple(
        OperatorCounters(
            label,
            counted.counts,
            counted.counted_share,
            counted.per("stalled_cycles", "cycles"),
            counted.per("instructions", "cycles"),
            hardware.gb_per_s(counted, ns),
            hardware.bound(counted, ns) if ns else "",
        )
        for label, events, ns in groups
        if (counted := hardware.counted(events)) is not None
    )
