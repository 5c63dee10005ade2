"""Joules per inference: a launch of its own, between samples of what the device tells of energy.

It is apart from the launches that are timed, because sampling takes time itself. Before it the
device is sampled while it does nothing: its power then, over the time of the launch, is what the
board takes anyway.
"""

from __future__ import annotations

import dataclasses

from trimtab.bench import runner
from trimtab.devices.control import energy
from trimtab.devices.protocol import Device
from trimtab.results.energy import SPAN_S
from trimtab.results.records import Event

_PAUSE_S = 0.2


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
