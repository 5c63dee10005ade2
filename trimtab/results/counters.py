"""Hardware events of a run, scaled over its samples, and whether an operator is memory bound."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.results.records import Event, Record

# When an operator is said to be bound by memory, or not.
MEMORY_SHARE, COMPUTE_SHARE = 0.6, 0.25  # of the bandwidth
MEMORY_STALLS, COMPUTE_STALLS = 0.5, 0.25  # of the cycles
MEMORY_MISSES = 0.01  # per instruction: each costs hundreds of cycles that a core can issue in

NOTHING = (
    "The kernel gave no hardware events: none are there (a virtual machine, a container, an "
    "emulator), or /proc/sys/kernel/perf_event_paranoid is above 2."
)
RULE = (
    f"By these counters an operator is bound by memory where the lines that miss the last level of "
    f"cache take more than {MEMORY_SHARE:.0%} of the bandwidth in the core's row, and by compute "
    f"below {COMPUTE_SHARE:.0%}; where no bandwidth is known, by memory with more than "
    f"{MEMORY_STALLS:.0%} of cycles stalled and {MEMORY_MISSES * 1000:g} such misses per 1000 "
    f"instructions, by compute with less than {COMPUTE_STALLS:.0%} stalled. A prefetcher's reads "
    f"may not be counted as misses, so 'compute' is the weaker of the two."
)


@dataclass(frozen=True)
class Counted:
    """What one inference, or one operator of it, counts on average; an event that was not counted
    is missing. `counted_share`: the least part of the time that an event was counted for; less than
    1 where they took turns.
    """

    counts: Mapping[str, float]
    counted_share: float

    def per(self, event: str, other: str) -> float | None:
        """How many of `event` there are for one of `other`."""
        a, b = self.counts.get(event), self.counts.get(other)
        return a / b if a is not None and b else None


def scaled(
    names: Sequence[str], samples: Sequence[Sequence[Any]], never: Collection[str] = ()
) -> Counted:
    """The counts of one sample on average. `samples[i]`: what the runner printed for sample i, one
    `[count, enabled_ns, running_ns]` or None for each name. `never`: names that mean nothing.
    """
    counts, share = {}, 1.0
    for name, *readings in zip(names, *samples, strict=True):
        known = [reading for reading in readings if reading is not None]
        count, enabled, running = (sum(r[i] for r in known) for i in range(3))
        if running == 0 or name in never:
            continue
        counts[name] = count * enabled / running / len(known)
        share = min(share, running / enabled)
    if "last_level_read_misses" in counts:  # the one of a core with more levels than two
        counts["last_level_misses"] = counts.pop("last_level_read_misses")
    return Counted(counts, share)


class Hardware:
    """The hardware events of one record."""

    def __init__(self, asked: Event, threads: int, inferences: Sequence[Event] = ()) -> None:
        """`asked`: what `Wanted.event` put into the record; `inferences`: the lines of all runs."""
        self._names: Sequence[str] = asked["names"]
        # A kernel takes raw events without asking the PMU: one that it lacks counts nothing, ever.
        whole = scaled(self._names, _readings(inferences))
        is_silent = whole.counts.get("last_level_misses") == 0
        self._never = ("last_level_misses",) if is_silent else ()
        self._line_bytes: int | None = asked["line_bytes"]
        self._gb_per_s: float | None = asked["gb_per_s"]
        self._threads = threads

    def counted(self, events: Sequence[Event]) -> Counted | None:
        """Of the runner's lines of one kind; None when nothing was counted."""
        found = scaled(self._names, _readings(events), self._never)
        return found if found.counts else None

    def gb_per_s(self, counted: Counted, ns: float | None) -> float | None:
        """What the lines that miss the last level take of the memory, all threads alike."""
        misses = counted.counts.get("last_level_misses")
        if misses is None or not ns or self._line_bytes is None:
            return None
        return misses * self._line_bytes * self._threads / ns

    def bound(self, counted: Counted, ns: float | None) -> str:
        """`memory`, `compute`, `between`, or "" when these counters do not tell: see `RULE`."""
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
class Row:
    """What is known of one inference, or of one operator in it, by its hardware events.

    `counts`: per inference. `gb_per_s` and `bound`: see `Hardware`; None and "" where these
    counters do not tell.
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
) -> tuple[Row, ...] | None:
    """The inference first, then `operators` (index, label, ns); None when no events were asked for,
    empty when none were counted. Without a time, as under an emulator, nothing is said to be bound.
    """
    asked = record.first("counters")
    if asked is None:
        return None
    threads = int(record.header.protocol.get("threads", 1))
    hardware = Hardware(asked, threads, record.of("run"))
    by_index: dict[int, list[Event]] = {}
    for event in record.of("op"):
        by_index.setdefault(event["index"], []).append(event)
    found = [("inference", record.of("run"), latency_ns)]
    found += [(label, by_index.get(index, []), ns) for index, label, ns in operators]
    return tuple(
        Row(
            label,
            counted.counts,
            counted.counted_share,
            counted.per("stalled_cycles", "cycles"),
            counted.per("instructions", "cycles"),
            hardware.gb_per_s(counted, ns),
            hardware.bound(counted, ns) if ns else "",
        )
        for label, events, ns in found
        if (counted := hardware.counted(events)) is not None
    )
