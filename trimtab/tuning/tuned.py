"""Tunes a network on a device, and proves the result: the whole procedure of `./inv tune`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trimtab import paths
from trimtab.bench.jobs import Settings
from trimtab.compare import ab, noise_floor, paired
from trimtab.compare.ab import AbRequest, AbResult
from trimtab.compare.arms import Arm, PreparedArm
from trimtab.devices import Device, DeviceInfo, find_device
from trimtab.devices.control import sysfs, topology
from trimtab.errors import EmulatorError
from trimtab.pipeline import delivery
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import Loaded, load
from trimtab.pipeline.measured import archived, ready_device
from trimtab.pipeline.planned import Planned, plan
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.planner import planner, precision
from trimtab.planner.alternatives import DecidedPlan
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.results.records import Status
from trimtab.tuning import thread_choice
from trimtab.tuning.device_clock import DeviceClock
from trimtab.tuning.search import PlanSearch, SearchResult
from trimtab.tuning.thread_choice import PlacementTime, choose
from trimtab.tuning.timings import Timings

TIMINGS = "timings.jsonl"
SEARCH_SHARE = 0.6
"""The share of a tuning; the rest is for the binaries of both plans and their comparison."""


@dataclass(frozen=True)
class TuneRequest:
    """A request to tune a network.

    `recipe`: the network, its plan and its device; `minutes`: limit of the whole tuning, in which
    builds and launches that have begun are completed; `timings`: the file of timings; `launches`:
    per arm of the final comparison, fewer if the time is short; `settings`: control and time limit
    of launches; `find_threads`: measure which number of threads, on which cores, is the fastest,
    and tune for it.
    """

    recipe: Recipe
    device: str = "local"
    minutes: float = 5.0
    timings: Path = Path("results") / TIMINGS
    launches: int = ab.LAUNCHES
    settings: Settings = field(default_factory=Settings)
    trust_new: bool = False
    find_threads: bool = False


@dataclass(frozen=True)
class Tuned:
    """The result. `plan`: what to use, with all decisions: the tuned plan if `is_faster`, else the
    rule's; `proof`: the comparison of the binaries of both, None if they are the same, or if the
    time was over before, `is_cut`; `bytes`: of the binary and the model, by plan; `unit`:
    "instructions" if the device is emulated.
    """

    network: str
    device: str
    core: str
    threads: int
    unit: str
    plan: Plan
    is_faster: bool
    search: SearchResult
    proof: AbResult | None
    bytes: Mapping[str, tuple[int, int]]
    throttled: int
    is_cut: bool = False
    places: Sequence[PlacementTime] = ()

    @property
    def saved(self) -> float:
        """Share of the network's time that all confirmed changes save."""
        return sum(change.saved for change in self.search.changes)

    def sentence(self) -> str:
        """The outcome in words."""
        what = "counted instructions, which are not time" if self.unit == "instructions" else "time"
        if self.is_cut:
            return (
                f"the confirmed changes save {self.saved:.2%} together ({what}), and the time was "
                "over before binaries were compared: the rule's plan stays, and the same command "
                "continues"
            )
        if self.proof is None and self.search.changes:
            return (
                f"the confirmed changes save {self.saved:.2%} together ({what}), which no "
                "comparison of binaries would show: the rule's plan stays"
            )
        if self.proof is None:
            return f"no alternative is measurably faster than the rule's plan ({what})"
        verdict = self.proof.verdict
        ratio = f"{verdict.ratio:.4f} ({verdict.interval.low:.4f} .. {verdict.interval.high:.4f})"
        if self.is_faster:
            return f"the tuned plan takes {ratio} of the rule's plan: {what}"
        return f"the tuned plan is not measurably faster, {ratio} ({what}): the rule's plan stays"

    def title(self) -> str:
        """The comment at the top of the plan file."""
        on = f"{self.network}, {self.device} ({self.core}), {self.threads} threads"
        return f"Tuned by measurement: {on}\n{self.sentence()}"

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        verdict = self.proof.verdict if self.proof else None
        return {
            "network": self.network,
            "device": self.device,
            "core": self.core,
            "threads": self.threads,
            "unit": self.unit,
            "is_faster": self.is_faster,
            "ratio": verdict.ratio if verdict else 1.0,
            "interval": [verdict.interval.low, verdict.interval.high] if verdict else [1.0, 1.0],
            "bytes": {name: {"binary": b, "model": m} for name, (b, m) in self.bytes.items()},
            "measured": self.search.measured,
            "reused": self.search.reused,
            "is_complete": self.search.is_complete and not self.is_cut,
            "throttled_blocks": self.throttled,
            "places": [
                {
                    "threads": one.place.threads,
                    "cores": one.place.cores,
                    "ratio": one.effect.value,
                    "is_chosen": one.is_chosen,
                }
                for one in self.places
            ],
            "changes": [
                {
                    "layer": change.layer,
                    "before": change.before,
                    "after": change.after,
                    "share": change.share,
                    "ratio": change.effect.value,
                    "interval": [change.effect.interval.low, change.effect.interval.high],
                }
                for change in self.search.changes
            ],
        }


def tune(request: TuneRequest, folder: Path, progress: Progress = SILENT) -> Tuned:
    """Tunes a network on its device; the runs of the final comparison are recorded in `folder`.

    Every finished block of timings is in the file at once, so a repeated call continues after an
    error. EmulatorError if an emulator cannot count; errors of the build and of the device.
    """
    end = time.monotonic() + request.minutes * 60
    definition = find_device(request.device)
    measurement = MeasurementRequest(definition.name, request.settings, folder, request.trust_new)
    recipe = replace(request.recipe, measurement=measurement).on_device(definition)
    room = ready_device(
        definition,
        recipe.toolchain,
        trust_new=request.trust_new,
        wait_s=request.settings.control.wait_s,
    )
    loaded = load(recipe, progress)
    planned = plan(loaded, progress)
    room.check(planned.program.constant_bytes(), f"{loaded.stem}.ttm")
    with definition.open(trust_new=request.trust_new) as device:
        info = device.describe()
        if info.is_emulated and (recipe.threads > 1 or request.find_threads):
            raise EmulatorError(
                f"{device.name} is emulated, and instructions are counted for one thread only",
                where="--find-threads" if request.find_threads else f"{recipe.threads} threads",
                hint="tune with --threads 1, or on a device whose times are measurements",
            )
        places: Sequence[PlacementTime] = ()
        if request.find_threads:
            places = _times_of_placements(request, planned, device, info, progress)
            place = next(one.place for one in places if one.is_chosen)
            progress.note(f"{planned.loaded.stem} runs fastest with {place}")
            planned = plan(_on_threads(planned, place.threads), progress)
            control = request.settings.control
            control = replace(control, cores=place.cores or control.cores)
            request = replace(request, settings=replace(request.settings, control=control))
        result = _tune(request, planned, device, info, end, folder, progress)
        return replace(result, places=places)


def _on_threads(planned: Planned, threads: int) -> Loaded:
    """The loaded network, to be planned for this number of threads."""
    loaded = planned.loaded
    return replace(
        loaded,
        recipe=loaded.recipe.on_threads(threads),
        target=replace(loaded.target, threads=threads),
        network=replace(loaded.network, plan=replace(loaded.network.plan, threads=threads)),
    )


def _times_of_placements(
    request: TuneRequest, planned: Planned, device: Device, info: DeviceInfo, progress: Progress
) -> list[PlacementTime]:
    """The times of the rule's plan with every number of threads."""
    layout = topology.parse(sysfs.read(device, *sysfs.TOPOLOGY))
    control = request.settings.control
    everywhere = replace(control, cores=control.cores or "all")
    clock = _clock(
        replace(request, settings=replace(request.settings, control=everywhere)),
        planned,
        device,
        info,
        progress,
    )

    def plan_for(threads: int) -> Program:
        own = _on_threads(planned, threads)
        return planner.plan(planned.optimized, own.target, own.network.plan)

    with progress.step("find the number of threads"):
        return choose(clock.measure_placements, plan_for, thread_choice.placements(layout))


def min_provable(unit: str) -> float:
    """The smallest saving, as a share, that is worth a comparison of binaries: half of the noise
    floor that a device without calibration has; any saving of counts, which are exact.
    """
    return 0.0 if unit == "instructions" else noise_floor.UNCALIBRATED / 2


def decided(planned: Planned) -> DecidedPlan:
    """The plan of the rules, with all decisions."""
    target = planned.loaded.target
    program = precision.assign(
        planned.optimized, target, planned.plan.precision, planned.plan.precisions
    )
    return DecidedPlan(program, target, planned.plan, planned.program)


def _tune(
    request: TuneRequest,
    planned: Planned,
    device: Device,
    info: DeviceInfo,
    end: float,
    folder: Path,
    progress: Progress,
) -> Tuned:
    rule, recipe = decided(planned), planned.recipe
    clock = _clock(request, planned, device, info, progress)
    timings = Timings(request.timings)
    left = end - time.monotonic() - (1 - SEARCH_SHARE) * request.minutes * 60
    searcher = PlanSearch(rule, clock, timings, left, progress)
    with progress.step(f"tune {planned.loaded.stem} on {device.name}"):
        search = searcher.run()
    timings.compact()
    result = Tuned(
        network=planned.loaded.stem,
        device=device.name,
        core=clock.core,
        threads=recipe.threads,
        unit=clock.unit,
        plan=rule.as_plan(),
        is_faster=False,
        search=search,
        proof=None,
        bytes={},
        throttled=clock.throttled,
    )
    if not search.changes or result.saved < min_provable(clock.unit):
        return result
    arms = []
    for chosen in (planned.plan, search.plan.as_plan()):
        if time.monotonic() > end:
            return replace(result, is_cut=True)
        arms.append(_arm(planned, chosen, progress))
    launches = affordable_launches(
        request.launches, search.launch_s, end - time.monotonic(), is_emulated=info.is_emulated
    )
    if not launches:
        return replace(result, is_cut=True)
    proof = _prove(replace(request, launches=launches), device, arms, folder, progress)
    sizes = {
        name: (arm.subject.binary.stat().st_size, arm.subject.model.stat().st_size)
        for name, arm in zip(("rule", "tuned"), arms, strict=True)
    }
    is_right = proof.b.status in (Status.OK, proof.a.status)
    is_faster = is_right and proof.verdict.is_real and proof.verdict.ratio < 1
    return replace(
        result,
        plan=search.plan.as_plan() if is_faster else rule.as_plan(),
        is_faster=is_faster,
        proof=proof,
        bytes=sizes,
    )


def affordable_launches(launches: int, launch_s: float, left_s: float, *, is_emulated: bool) -> int:
    """The launches of each arm that fit the time that is left, at most `launches`; 0 if they are
    too few for a verdict.
    """
    if is_emulated:  # it launches each arm once
        return launches if left_s > 0 else 0
    count = int(left_s / (2 * max(launch_s, ab.LAUNCH_MS / 1000)))
    return min(launches, count) if count >= 2 * paired.LAUNCHES_PER_BLOCK else 0


def _clock(
    request: TuneRequest, planned: Planned, device: Device, info: DeviceInfo, progress: Progress
) -> DeviceClock:
    recipe, target = planned.recipe, planned.loaded.target
    core = (info.cpu if target.core.is_generic else None) or target.core.name
    assert planned.expected, "the recipe has a measurement"
    folder = paths.cache() / "tune" / f"{planned.loaded.stem}-{recipe.toolchain}-{target.core.name}"
    return DeviceClock(
        device, info, recipe, planned.expected, folder, request.settings, core, progress
    )


def _arm(planned: Planned, chosen: Plan, progress: Progress) -> PreparedArm:
    """The trimmed binary of a plan."""
    program = planner.plan(planned.optimized, planned.loaded.target, chosen)
    profile = delivery.profile_for(planned.recipe, chosen, program)
    own = replace(planned, plan=chosen, program=program, profile=profile)
    return PreparedArm(*archived(build(own, progress), progress), planned.recipe.threads)


def _prove(
    request: TuneRequest,
    device: Device,
    arms: list[PreparedArm],
    folder: Path,
    progress: Progress,
) -> AbResult:
    """The comparison of both binaries, as `bench.ab` makes it."""
    arm = Arm(request.recipe.model)
    comparison = AbRequest(
        arm, arm, device.name, launches=request.launches, settings=request.settings
    )
    floor = noise_floor.read(device.name, ab.floors_folder())
    return ab.measure(device, arms, comparison, folder, floor, progress)
