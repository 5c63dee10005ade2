"""Times the ways of a test bed on a device, by the protocol of every measurement (`bench`).

One binary runs one model for each number of threads; their launches alternate. Each inference
computes every way once, so that what disturbs the device meets all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from trimtab import paths
from trimtab.bench import protocol
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Job, ScheduledLaunch, Settings, Subject
from trimtab.build.derived_profile import profile_of
from trimtab.devices.control import Control
from trimtab.devices.protocol import Device, DeviceInfo
from trimtab.fitting.bed import Bed, Timed
from trimtab.pipeline import delivery
from trimtab.pipeline.recipe import Recipe
from trimtab.progress import SILENT, Progress
from trimtab.results import records
from trimtab.results.records import Record
from trimtab.target import Target

_LAUNCHES, _RUNS, _WARMUP = 4, 16, 1
# Other work of a machine only adds to a time: the lower quartile is nearer to it than the median.
_QUANTILE = 0.25


@dataclass(frozen=True)
class Time:
    """The time of one operator on a device: nanoseconds, or instructions under an emulator."""

    timed: Timed
    threads: int
    amount: float


@dataclass(frozen=True)
class Run:
    """The times of a test bed, and the records that they are from."""

    times: tuple[Time, ...]
    records: tuple[Record, ...]

    @property
    def unit(self) -> Literal["ns", "instructions"]:
        """The unit of the times."""
        return "instructions" if self.records[0].header.is_emulated else "ns"

    @property
    def machine(self) -> str:
        """The device in words."""
        device = self.records[0].header.device
        return f"{device.name}: {device.cpu or device.machine}, {device.kernel}"


def run(
    device: Device,
    info: DeviceInfo,
    bed: Bed,
    target: Target,
    recipe: Recipe,
    control: Control,
    threads: Sequence[int],
    results: Path,
    progress: Progress = SILENT,
) -> Run:
    """Builds the binary of a test bed and times it on a connected device with these numbers of
    threads. `recipe`: names the toolchain and the core. Errors of the build and of the run.
    """
    folder = paths.cache() / "fit" / f"{recipe.toolchain}-{target.core.name}"
    jobs = []
    for count in threads:
        program = bed.planned(replace(target, threads=count))
        profile = replace(profile_of(program), name="fit")
        model = folder / f"fit-{count}.ttm"
        built = delivery.deliver(recipe, profile, folder / "build", program, model, progress)
        subject = Subject(
            binary=built.runner,
            model=model,
            is_model_embedded=False,
            profile=profile.name,
            toolchain=recipe.toolchain,
            cpu=target.core.name,
            compiler=built.compiler,
            flags=built.flags,
            operators=[op.name for op in program.ops],
            size={},
        )
        expected = Golden(bed.inputs(), (), (), "none: only times matter")
        settings = Settings(
            threads=count,
            launches=_LAUNCHES,
            runs=_RUNS,
            warmup=_WARMUP,
            min_time_ms=0,
            per_op=True,
            control=control,
        )
        jobs.append(Job(subject, expected, settings.counted() if info.is_emulated else settings))
    rounds = 1 if info.is_emulated else _LAUNCHES
    schedule = [
        [ScheduledLaunch(job, tags={"block": launch})]
        for launch in range(rounds)
        for job in range(len(jobs))
    ]
    outcomes = protocol.measure_all(device, info, jobs, schedule, results, progress)
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    read = tuple(records.read(outcome.path) for outcome in outcomes)
    times = [
        time
        for record, count in zip(read, threads, strict=True)
        for time in _times(record, count, bed)
    ]
    return Run(tuple(times), read)


def _times(record: Record, threads: int, bed: Bed) -> list[Time]:
    key = "instructions" if record.header.is_emulated else "ns"
    samples: dict[str, list[int]] = {}
    for launch in record.launches():
        for event in launch:
            if event["event"] == "op" and event.get(key) is not None:
                samples.setdefault(event["name"], []).append(event[key])
    return [
        Time(timed, threads, float(np.quantile(samples[name], _QUANTILE)))
        for name, timed in bed.timed.items()
        if name in samples
    ]
