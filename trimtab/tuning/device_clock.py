"""The clock of a device: one runner that carries the code of all plans, and a model file for each.

The runner's profiling launches time every operator inside of the network: weights as cold, and
neighbors as hot as they really are.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import numpy as np

from trimtab.bench import protocol
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Job, ScheduledLaunch, Settings, Subject
from trimtab.build import builder, compiler
from trimtab.build.builder import Build, BuildRequest
from trimtab.build.derived_profile import profile_of
from trimtab.build.toolchain import find_toolchain
from trimtab.compare import ab
from trimtab.devices import Device, DeviceInfo
from trimtab.errors import WrongOutputError
from trimtab.pipeline.recipe import Recipe
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.progress import SILENT, Progress, Silent
from trimtab.results.records import Event
from trimtab.tuning.clock import TimedBlock, WrongPlanError

LAUNCH_NS = 60e6  # duration of the timed runs of one launch
MIN_RUNS, MAX_RUNS = 5, 100


class DeviceClock:
    """Times plans on a connected device. `throttled`: the number of discarded blocks."""

    def __init__(
        self,
        device: Device,
        info: DeviceInfo,
        recipe: Recipe,
        expected: Golden,
        folder: Path,
        settings: Settings,
        core: str,
        progress: Progress = SILENT,
    ) -> None:
        """`recipe`: toolchain and core of the runner, with a measurement; `folder`: where runners
        are built; `settings`: control and time limit of the launches.
        """
        self.core, self.unit = core, "instructions" if info.is_emulated else "ns"
        self.throttled = 0
        self._device, self._info, self._recipe = device, info, recipe
        self._expected, self._folder, self._progress = expected, folder, progress
        self._settings = settings
        self._runs = MIN_RUNS
        self._profile: Profile | None = None
        self._built: Profile | None = None
        self._build: Build | None = None

    @cached_property
    def compiler(self) -> str:
        """See `Clock`."""
        recipe = self._recipe
        chosen = find_toolchain(recipe.toolchain or "host")
        levels = builder.optimization_levels(chosen, small=recipe.plan.prefer == "size")
        return repr((compiler.facts(chosen, recipe.cpu), levels))

    def carry(self, program: Program) -> None:
        """See `Clock`."""
        own = dataclasses.replace(profile_of(program), name="tune", doc="")
        profile = self._profile.union(own) if self._profile else own
        small = self._recipe.plan.prefer == "size"
        self._profile = dataclasses.replace(profile, name="tune", doc="", small=small)

    def prepare(self) -> None:
        """See `Clock`."""
        self._runner()

    def measure(
        self, programs: Sequence[Program], blocks: int, finished: Callable[[TimedBlock], None]
    ) -> None:
        """See `Clock`."""
        self.measure_placements(programs, [""] * len(programs), blocks, finished)

    def measure_placements(
        self,
        programs: Sequence[Program],
        cores: Sequence[str],
        blocks: int,
        finished: Callable[[TimedBlock], None],
    ) -> None:
        """Does what `measure` does, each program on its own cores ("": the device's control)."""
        for program in programs:
            self.carry(program)
        build = self._runner()
        with tempfile.TemporaryDirectory(prefix="trimtab-") as name:
            scratch = Path(name)
            jobs = []
            for index, program in enumerate(programs):
                model = scratch / f"plan{index}.ttm"
                program.save(model)
                jobs.append(
                    Job(self._subject(build, model, program), self._expected, self._timed(program))
                )
            schedule = [
                [dataclasses.replace(one, cpus=cores[one.job]) for one in launches]
                for launches in ab.interleaved(2 * blocks, uuid4().int % 2**32, len(jobs))
            ]
            if self._info.is_emulated:
                schedule = [[ScheduledLaunch(i, tags={"block": 0})] for i in range(len(jobs))]
            steps = [
                {i for i, op in enumerate(program.ops) if not op.schema.prepares}
                for program in programs
            ]

            def observe(launches: Sequence[Sequence[Sequence[Event]]], is_throttled: bool) -> None:
                self.throttled += is_throttled
                if is_throttled:
                    return
                times = [
                    _typical(own, self.unit, of) for own, of in zip(launches, steps, strict=True)
                ]
                finished(TimedBlock.of(times))
                total = sum(times[0].values())
                if self.unit == "ns" and total:
                    self._runs = round(min(max(LAUNCH_NS / total, MIN_RUNS), MAX_RUNS))

            plans = f"{len(jobs)} plan{'s' * (len(jobs) > 1)}"
            with self._progress.step(f"time {plans} on {self._device.name}"):
                quiet = _NotesOnly(self._progress)
                outcomes = protocol.measure_all(
                    self._device, self._info, jobs, schedule, scratch, quiet, observe
                )
        for index, outcome in enumerate(outcomes):
            if isinstance(outcome.error, WrongOutputError):
                raise WrongPlanError(index, outcome.error)
            if outcome.error is not None:
                raise outcome.error

    def _timed(self, program: Program) -> Settings:
        """The settings of one launch."""
        settings = dataclasses.replace(
            self._settings, threads=program.threads, per_op=True, launches=1, min_time_ms=0
        )
        if self._info.is_emulated:
            return dataclasses.replace(settings, runs=1, warmup=0)
        return dataclasses.replace(settings, runs=self._runs, warmup=1)

    def _runner(self) -> Build:
        """The runner with the code of all programs so far."""
        profile = self._profile
        assert profile, "a program was announced"
        if self._build is None or profile != self._built:
            request = BuildRequest(
                profile=profile,
                output_dir=self._folder / "runner",
                toolchain=self._recipe.toolchain or "host",
                cpu=self._recipe.cpu or None,
                kernels=profile.kernels,
            )
            self._build, self._built = builder.build(request, self._progress), profile
        return self._build

    def _subject(self, build: Build, model: Path, program: Program) -> Subject:
        return Subject(
            binary=build.runner,
            model=model,
            is_model_embedded=False,
            profile="tune",
            toolchain=self._recipe.toolchain,
            cpu=self.core,
            compiler=build.compiler,
            flags=build.flags,
            operators=[f"{op.type} {op.name}" for op in program.ops],
            size={},
        )


class _NotesOnly(Silent):
    """Passes on the notes of a measurement, such as that of a lost device, and no steps."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def note(self, text: str) -> None:
        """See `Progress`."""
        self._progress.note(text)


def _typical(
    launches: Sequence[Sequence[Event]], unit: str, steps: set[int]
) -> Mapping[int, float]:
    """The time of each operator: the lower quartile of its runs, of the faster launch."""
    best: dict[int, float] = {}
    for launch in launches:
        samples: dict[int, list[float]] = {}
        for event in launch:
            if event["event"] == "op" and event.get(unit) is not None:
                samples.setdefault(event["index"], []).append(event[unit])
        for index in samples.keys() & steps:
            value = float(np.quantile(samples[index], 0.25))
            best[index] = min(value, best.get(index, math.inf))
    return best
