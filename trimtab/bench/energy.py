"""Measures energy in a separate launch, while the device's energy sources are sampled.

The launch is not one of those that are timed, since sampling costs time. The device is sampled idle
before it: idle power times the launch's duration is the energy that the board needs anyway.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from trimtab.bench import runner
from trimtab.devices.control import energy
from trimtab.devices.protocol import Device
from trimtab.results.energy import SPAN_S
from trimtab.results.records import Event

_PAUSE_S = 0.2

Samples = Sequence[energy.EnergySample]


def measure(device: Device, command: runner.Command, timeout_s: float) -> Event:
    """The record's event `energy`. Raises the DeviceError of a failed launch."""
    idle = sample_idle(device, timeout_s)
    if not idle:
        return event(0, (), ())
    longer = dataclasses.replace(command, warmup=0, runs=1, min_time_ms=SPAN_S * 1000)
    argv = energy.sampling(longer.argv(), sysfs=device.sysfs, pause_s=_PAUSE_S)
    result = device.run(argv, timeout_s=timeout_s)
    busy, stderr = energy.parse(result.stderr)
    launch = runner.interpret(dataclasses.replace(result, stderr=stderr))
    if launch.error is not None:
        raise launch.error
    inferences = sum(event["event"] in ("first", "run") for event in launch.events)
    return event(inferences, idle, busy)


def sample_idle(device: Device, timeout_s: float) -> Samples:
    """Samples of the idle device; empty, and at once, if it reports no energy."""
    probe, sleep = (
        energy.sampling(argv, sysfs=device.sysfs, pause_s=_PAUSE_S)
        for argv in (["true"], ["sleep", str(SPAN_S)])
    )
    if not energy.parse(device.run(probe, timeout_s=timeout_s).stderr)[0]:
        return ()
    return energy.parse(device.run(sleep, timeout_s=timeout_s).stderr)[0]


def event(inferences: int, idle: Samples, busy: Samples) -> Event:
    """The record's event `energy`: samples of the idle device, and of a launch."""
    return {
        "event": "energy",
        "inferences": inferences,
        "idle": [dataclasses.astuple(sample) for sample in idle],
        "busy": [dataclasses.astuple(sample) for sample in busy],
    }
