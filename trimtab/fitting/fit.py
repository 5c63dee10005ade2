"""The whole fit: draws layers, times them on a device, fits the core, and judges the fit."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from trimtab import cores
from trimtab.bench.jobs import Settings
from trimtab.cores import Core, Fit, Memory
from trimtab.devices import find_device
from trimtab.devices.control import Control
from trimtab.devices.protocol import Device, InstructionCounter
from trimtab.errors import EmulatorError
from trimtab.fitting import bed, measure, memory, pricing, regret, row, shapes
from trimtab.fitting.bed import Way
from trimtab.fitting.measure import Run
from trimtab.fitting.memory import MemoryFacts
from trimtab.fitting.pricing import TimedWay
from trimtab.fitting.regret import Regret
from trimtab.pipeline import measured
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.resolve import find_target
from trimtab.planner.cost import bytes_per_cycle
from trimtab.progress import SILENT, Progress
from trimtab.target import Target

_EMULATED_SHARE = 0.4  # of the layers: counts have no noise, and QEMU takes its time


@dataclass(frozen=True)
class FitRequest:
    """The core to fit. `threads`: besides one; 0 for all cores of the device. `share`: of the
    layers. `cpu`: the core, "" for the device's own.
    """

    device: str
    cpu: str = ""
    toolchain: str = ""
    threads: int = 0
    share: float = 1.0
    control: Control = Settings().control
    trust_new: bool = False
    results: Path = Path("results")


@dataclass(frozen=True)
class Fitted:
    """A fitted core, and how good it is on layers that it was not fitted to: `regret` by the fit,
    `before` by the row that the planner would use, and `unknown` by the generic row.
    """

    core: Core
    unit: str
    machine: str
    facts: MemoryFacts
    layers: int
    held_out: int
    seconds: float
    regret: Regret
    before: Regret
    unknown: Regret

    @property
    def title(self) -> str:
        """The comment of the row."""
        is_time = self.unit == "ns"
        fit = self.core.fit
        assert fit
        lines = [
            f"Written by core.fit on {fit.date}: {self.machine}.",
            f"Fitted to {self.layers} layers; on {self.held_out} others the planner's choice takes",
            f"{self.regret.mean:.3f} times the fastest way (geometric mean), at worst "
            f"{self.regret.worst:.2f} times.",
        ]
        if not is_time:
            lines.append("These are counted instructions, scaled to cycles: they are not time.")
        return "\n".join(lines)


def fit(request: FitRequest, progress: Progress = SILENT) -> Fitted:
    """Fits the core of a device. Errors of the build and of the measurement; EmulatorError if an
    emulator counts no instructions.
    """
    started = time.monotonic()
    definition = find_device(request.device)
    recipe = Recipe(toolchain=request.toolchain, cpu=request.cpu).on_device(definition)
    measured.ready_device(
        definition,
        recipe.toolchain,
        trust_new=request.trust_new,
        wait_s=request.control.wait_s,
    )
    target = find_target(recipe.toolchain, recipe.cpu)
    target = replace(target, core=replace(target.core, fit=None))
    with definition.open(trust_new=request.trust_new) as device:
        info = device.describe()
        share = request.share * (_EMULATED_SHARE if info.is_emulated else 1.0)
        to_fit, held_out = shapes.draw(target, share)
        with progress.step("draw layers and every way to compute them"):
            sizes = () if info.is_emulated else shapes.copies(target)
            ways = bed.make(target, (*to_fit, *held_out), sizes)
        most = request.threads or info.cpu_count or 1
        threads = (1,) if info.is_emulated else tuple(sorted({1, most}))
        run = measure.run(
            device,
            info,
            ways,
            target,
            recipe,
            request.control,
            threads,
            request.results,
            progress,
        )
        core = row.identified(target.core, _cpuinfo(device))
    if not run.times:
        raise EmulatorError(
            "this emulator counts no instructions",
            where=request.device,
            hint="use Debian's qemu-user, or a device that measures time",
        )
    with progress.step("fit the times, and judge the fit"):
        return _fitted(run, target, core, to_fit, held_out, started)


def _fitted(
    run: Run,
    target: Target,
    identified: Core,
    to_fit: Sequence[shapes.DrawnLayer],
    held_out: Sequence[shapes.DrawnLayer],
    started: float,
) -> Fitted:
    facts = memory.facts(run.times) if run.unit == "ns" else MemoryFacts({}, 0, 0.0)
    core = _with_memory(identified, target, facts)
    machine = replace(target, core=core)
    clock = target.bandwidth_core.memory
    assert clock, "the generic core has [memory]"
    ways = _in_cycles(run, machine, clock.clock_ghz)
    hand_over = float(f"{facts.hand_over_ns * clock.clock_ghz:.3g}")
    day = datetime.now(UTC).date().isoformat()
    empty = Fit(day, run.machine, run.unit, 1.0, hand_over, facts.cache_bytes)
    used, judged = _of(ways, to_fit), _of(ways, held_out)
    fitted = pricing.fit(used, machine, empty)
    generic = cores.find(None, target.arch)
    l3 = core.l3 and cores.likely(core.l3)
    unknown = replace(generic, l1d=core.l1d, l2=core.l2, l3=l3)
    return Fitted(
        core=fitted,
        unit=run.unit,
        machine=run.machine,
        facts=facts,
        layers=len(to_fit),
        held_out=len(held_out),
        seconds=time.monotonic() - started,
        regret=regret.of(judged, replace(target, core=fitted)),
        before=regret.of(judged, target),
        unknown=regret.of(judged, replace(target, core=unknown)),
    )


def _in_cycles(run: Run, target: Target, clock_ghz: float) -> list[TimedWay]:
    """The ways of a run, in cycles. Instructions become cycles by the ratio at which they agree
    with the cost model where nothing comes from memory, and get its time of the traffic.
    """
    ways = [
        TimedWay(one.timed, one.threads, one.amount * clock_ghz)
        for one in run.times
        if isinstance(one.timed, Way)
    ]
    if run.unit == "ns":
        return ways
    traffic = [pricing.parts(one.way, target).bytes for one in ways]
    logs = [
        math.log(one.cycles / pricing.modeled(one.way, target))
        for one, size in zip(ways, traffic, strict=True)
        if not size
    ]
    scale = math.exp(sum(logs) / len(logs)) if logs else 1.0
    bandwidth = bytes_per_cycle(target)
    return [
        replace(one, cycles=one.cycles / scale + size / bandwidth)
        for one, size in zip(ways, traffic, strict=True)
    ]


def _with_memory(core: Core, target: Target, facts: MemoryFacts) -> Core:
    """The core with the bandwidth that was measured, if it was."""
    typical = target.bandwidth_core.memory
    if not facts.gb_per_s or typical is None:
        return core
    alone, together = facts.gb_per_s[1], max(facts.gb_per_s.values())
    measured_memory = Memory(typical.clock_ghz, round(together, 1), round(min(alone, together), 1))
    return replace(core, memory=measured_memory)


def _of(ways: Iterable[TimedWay], layers: Iterable[shapes.DrawnLayer]) -> list[TimedWay]:
    among = {*layers}
    return [one for one in ways if one.way.layer in among]


def _cpuinfo(device: Device) -> str:
    if isinstance(device, InstructionCounter):  # an emulator shows that of this machine
        return ""
    return device.shell("cat /proc/cpuinfo", "read /proc/cpuinfo")
