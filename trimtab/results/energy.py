"""Energy per inference, by source, from the samples of a run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.devices.control import energy
from trimtab.devices.control.energy import MIN_UPDATES, PARTS, EnergySample
from trimtab.results.records import Record

SPAN_S = 10  # minimum duration of the sampled launch, and of the idle time before it
_T = 2.262  # Student's t of 95 % for the mean of PARTS parts

NOTHING = (
    "The device reports no energy: powercap, hwmon and power_supply have nothing readable "
    "(RAPL is for root only, an emulator has none)."
)
ABOVE_IDLE = (
    f"'Above idle' subtracts the power of the {SPAN_S} s before the launch. Sources overlap, so "
    f"do not add them. Intervals of 95 % are those of {PARTS} parts of the launch; its two halves "
    f"are the same work. A source with fewer than {MIN_UPDATES} updates in the launch is coarse."
)
RULE = (
    f"Energy is that of everything a source feeds, in a launch of at least {SPAN_S} s, including "
    f"loading. {ABOVE_IDLE}"
)


@dataclass(frozen=True)
class SourceEnergy:
    """The energy of an inference from one source; None if unknown, and `note` says why.

    `joules` and `joules_above_idle` are per inference, `watts` is the power of the launch, and
    `idle_watts` that before it. `error` and `error_above_idle`: half of the 95 % intervals of the
    joules; `halves`: how much more power the second half of the launch takes than the first, as a
    share: two equal measurements differ by as much. None for a coarse source.
    """

    source: str
    joules: float | None
    joules_above_idle: float | None
    watts: float | None
    idle_watts: float | None
    note: str
    error: float | None = None
    error_above_idle: float | None = None
    halves: float | None = None


def rows(record: Record) -> tuple[SourceEnergy, ...] | None:
    """One row per source; None if energy was not requested, empty without a source."""
    event = record.first("energy")
    if event is None:
        return None
    idle_by_source = {use.source: use for use in energy.integrate(_samples(event["idle"]))}
    result = []
    for busy in energy.integrate(_samples(event["busy"])):
        idle = idle_by_source.get(busy.source)
        idle_watts = idle.watts if idle else None
        joules = above = None
        if busy.joules is not None:
            joules = busy.joules / event["inferences"]
            if idle_watts is not None:
                idle_joules = idle_watts * busy.seconds / event["inferences"]
                above = round(joules - idle_joules, 12)  # no source resolves picojoules
        coarse = f"coarse: {busy.updates} changes in {busy.seconds:.0f} s" * busy.is_coarse
        if not busy.updates:
            coarse = (
                f"its reading stood still for {busy.seconds:.0f} s, so it may be no measurement"
            )
        note = busy.why or coarse
        error = above_error = halves = None
        if busy.parts:
            per_watt = busy.seconds / event["inferences"]
            error = _error(busy.parts) * per_watt
            if above is not None and idle and idle.parts:
                above_error = math.hypot(error, _error(idle.parts) * per_watt)
            first, second = (sum(busy.parts[i : i + PARTS // 2]) for i in (0, PARTS // 2))
            halves = second / first - 1 if first else None
        result.append(
            SourceEnergy(
                *(busy.source, joules, above, busy.watts, idle_watts, note),
                *(error, above_error, halves),
            )
        )
    return tuple(result)


def _error(parts: Sequence[float]) -> float:
    """Half of the 95 % interval of the average power of a span."""
    return _T * statistics.stdev(parts) / math.sqrt(len(parts))


def _samples(values: Sequence[Sequence[Any]]) -> list[EnergySample]:
    return [EnergySample(at, energy.SourceKind(kind), *rest) for at, kind, *rest in values]
