"""Joules per inference: a launch of its own, between samples of what the device tells of energy.

It is apart from the launches that are timed, because sampling takes time itself. Before it the
device is sampled while it does nothing: its power then, over the time of the launch, is what the
board takes anyway.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.bench import runner
from trimtab.bench.results import Event, Record
from trimtab.devices.control import energy
from trimtab.devices.control.energy import MIN_UPDATES, Sample
from trimtab.devices.protocol import Device

SPAN_S = 10  # of the launch, at least, and of the rest before it
_PAUSE_S = 0.2

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


def measure(device: Device, command: runner.Command, timeout_s: float) -> Event:
    """The record's event `energy`; raises the DeviceError of a launch that fails."""
    rest = energy.sampling(["sleep", str(SPAN_S)], sysfs=device.sysfs, pause_s=_PAUSE_S)
    idle, _ = energy.parse(device.run(rest, timeout_s=timeout_s).stderr)
    if not idle:
        return {"event": "energy", "inferences": 0, "idle": [], "busy": []}
    longer = dataclasses.replace(command, warmup=0, runs=1, min_time_ms=SPAN_S * 1000)
    argv = energy.sampling(longer.argv(), sysfs=device.sysfs, pause_s=_PAUSE_S)
    result = device.run(argv, timeout_s=timeout_s)
    busy, said = energy.parse(result.stderr)
    launch = runner.interpret(dataclasses.replace(result, stderr=said))
    if launch.error is not None:
        raise launch.error
    inferences = sum(event["event"] in ("first", "run") for event in launch.events)
    return {
        "event": "energy",
        "inferences": inferences,
        "idle": [dataclasses.astuple(sample) for sample in idle],
        "busy": [dataclasses.astuple(sample) for sample in busy],
    }


def rows(record: Record) -> tuple[Row, ...] | None:
    """A row per source; None when energy was not asked for, empty when no source told of it."""
    event = record.first("energy")
    if event is None:
        return None
    before = {found.source: found for found in energy.spent(_samples(event["idle"]))}
    found = []
    for busy in energy.spent(_samples(event["busy"])):
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


def _samples(values: Sequence[Sequence[Any]]) -> list[Sample]:
    return [Sample(at, energy.Kind(kind), *rest) for at, kind, *rest in values]
