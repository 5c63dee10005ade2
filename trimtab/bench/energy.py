"""Measures energy in a separate launch, while the device's energy sources are sampled.

The launch is not one of those that are timed, since sampling costs time. The device is sampled idle
before it: idle power times the launch's duration is the energy that the board needs anyway.
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
    """The record's event `energy`. Raises the DeviceError of a failed launch."""
    sleep = energy.sampling(["sleep", str(SPAN_S)], sysfs=device.sysfs, pause_s=_PAUSE_S)
    idle, _ = energy.parse(device.run(sleep, timeout_s=timeout_s).stderr)
    if not idle:
        return {"event": "energy", "inferences": 0, "idle": [], "busy": []}
    longer = dataclasses.replace(command, warmup=0, runs=1, min_time_ms=SPAN_S * 1000)
    argv = energy.sampling(longer.argv(), sysfs=device.sysfs, pause_s=_PAUSE_S)
    result = device.run(argv, timeout_s=timeout_s)
    busy, stderr = energy.parse(result.stderr)
    launch = runner.interpret(dataclasses.replace(result, stderr=stderr))
    if launch.error is not None:
        raise launch.error
    inferences = sum(event["event"] in ("first", "run") for event in launch.events)
    return {
        "event": "energy",
        "inferences": inferences,
        "idle": [dataclasses.astuple(sample) for sample in idle],
        "busy": [dataclasses.astuple(sample) for sample in busy],
    }
