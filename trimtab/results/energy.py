"""Joules per inference, by source, from the samples of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.devices.control import energy
from trimtab.devices.control.energy import MIN_UPDATES, EnergySample
from trimtab.results.records import Record

SPAN_S = 10  # of the launch that is sampled, at least, and of the idle time before it

NOTHING = (
    "The device tells of no energy: nothing that can be read in powercap, hwmon or power_supply "
    "(RAPL is for root alone, an emulator has none)."
)
RULE = (
    f"Energy is of all that a source feeds, in a launch of at least {SPAN_S} s, loading included; "
    f"'above idle' is less the power of the {SPAN_S} s before it. Sources overlap, so they are not "
    f"to be added. One that changed less than {MIN_UPDATES} times in the launch is coarse."
)


@dataclass(frozen=True)
class Row:
    """What one source says of an inference; None where it says nothing, and `note` tells why.

    `joules` and `joules_above_idle`: per inference. `watts`: of the launch; `idle_watts`: before.
    """

    source: str
    joules: float | None
    joules_above_idle: float | None
    watts: float | None
    idle_watts: float | None
    note: str


def rows(record: Record) -> tuple[Row, ...] | None:
    """A row per source; None when energy was not asked for, empty when no source told of it."""
    event = record.first("energy")
    if event is None:
        return None
    before = {found.source: found for found in energy.integrate(_samples(event["idle"]))}
    found = []
    for busy in energy.integrate(_samples(event["busy"])):
        idle = before.get(busy.source)
        idle_watts = idle.watts if idle else None
        joules = above = None
        if busy.joules is not None:
            joules = busy.joules / event["inferences"]
            if idle_watts is not None:
                rest = idle_watts * busy.seconds / event["inferences"]
                above = round(joules - rest, 12)  # no source tells picojoules
        coarse = f"coarse: {busy.updates} changes in {busy.seconds:.0f} s" * busy.is_coarse
        note = busy.why or coarse
        found.append(Row(busy.source, joules, above, busy.watts, idle_watts, note))
    return tuple(found)


def _samples(values: Sequence[Sequence[Any]]) -> list[EnergySample]:
    return [EnergySample(at, energy.SourceKind(kind), *rest) for at, kind, *rest in values]
