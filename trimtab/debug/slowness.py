"""Operators that take longer on a device than the model of its core says."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from trimtab import kernels
from trimtab.bench import emulator_counts
from trimtab.bench.runner import Command, interpret
from trimtab.devices import Device
from trimtab.devices.protocol import InstructionCounter, Transcript
from trimtab.paths import PROGRAM
from trimtab.planner import algorithms, planner
from trimtab.program import Program, inspection
from trimtab.results.records import Event
from trimtab.target import Target

SLOW = 1.5  # times what the model says, beside the other operators
_SHARE = 0.02  # of an inference, from which on an operator is worth a look
_RUNS, _WARMUP = 10, 2
_TIMEOUT_S = 1800.0
_UNSTEADY = 3.0  # the longest of its times, divided by their median
_NEAR = 0.7  # of the memory's speed
_FEW = 8  # channels: no kernel for products has a smaller tile
_PAGE_FAULTS = "1:2"  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS of linux/perf_event.h


@dataclass(frozen=True)
class OperatorTime:
    """The cost of an operator on the device, `cost` in `unit` ("ns", or "instructions" where the
    device is emulated). `modeled`: cycles. `ratio`: the cost divided by that of the model, in which
    half of the network's cycles have at most 1. `macs`: multiply-accumulates; `bytes`: of its
    operands and results; `instructions`: of the main thread, None if the device counts none. `why`:
    what is known about a slow one.
    """

    index: int
    name: str
    kernel: str
    cost: float
    unit: str
    share: float
    modeled: float
    ratio: float
    macs: int
    bytes: int
    instructions: float | None = None
    why: str = ""

    @property
    def modeled_cost(self) -> float:
        """The cost by the model, in the same unit."""
        return self.cost / self.ratio if self.ratio else 0.0

    @property
    def is_slow(self) -> bool:
        """Whether it takes more than `SLOW` times what the model says, and matters."""
        return self.ratio > SLOW and self.share >= _SHARE


def measure(device: Device, command: Command) -> tuple[str, tuple[Event, ...]]:
    """The unit of costs, and the events of a launch that times each operator, or counts its
    instructions on an emulator; without events on an emulator that cannot. RunnerError if it fails.
    """
    command = replace(command, per_op=True, runs=_RUNS, warmup=_WARMUP, counters=_PAGE_FAULTS)
    if not device.describe().is_emulated:
        unit, launch = "ns", interpret(device.run(command.argv(), timeout_s=_TIMEOUT_S))
    elif isinstance(device, InstructionCounter) and device.can_count_instructions():
        command = replace(command, runs=1, warmup=0, counters="", markers=True)
        printed = Transcript()
        done, _ = device.count_instructions(
            command.argv(), timeout_s=_TIMEOUT_S, transcript=printed
        )
        unit, launch = "instructions", interpret(done)
        launch = replace(launch, events=emulator_counts.merge(launch.events, printed.marks))
    else:
        return "instructions", ()
    if launch.error:
        raise launch.error
    return unit, launch.events


def judge(
    program: Program,
    target: Target,
    unit: str,
    events: Sequence[Event],
    throttled: Sequence[str] = (),
) -> list[OperatorTime]:
    """The cost of each operator of a planned program beside the model's, in order; empty without
    events of operators. `throttled`: why the device counts as throttled meanwhile.
    """
    samples: dict[int, list[Event]] = {}
    for event in events:
        if event["event"] == "op":
            samples.setdefault(event["index"], []).append(event)
    if not samples:
        return []
    cycles = iter(planner.operator_cycles(program, target))
    modeled = {i: next(cycles) for i, op in enumerate(program.ops) if not op.schema.prepares}
    times = {i: [float(event[unit]) for event in some] for i, some in samples.items()}
    costs = {i: statistics.median(some) for i, some in times.items() if i in modeled}
    scale, total = _scale(costs, modeled), sum(costs.values())
    rows = []
    for i, cost in costs.items():
        op = program.ops[i]
        used = [program.vars[name] for name in (*op.inputs, *op.outputs) if name]
        row = OperatorTime(
            index=i,
            name=f"{op.type} {op.name}",
            kernel=inspection.kernel_of(op),
            cost=cost,
            unit=unit,
            share=cost / total if total else 0.0,
            modeled=modeled[i],
            ratio=cost / (scale * modeled[i]) if scale and modeled[i] else 0.0,
            macs=inspection.macs(program, op),
            bytes=sum(var.bytes for var in used),
            instructions=_median(event["instructions"] for event in samples[i]),
        )
        if row.is_slow:
            why = [f"the device throttled: {reason}" for reason in throttled]
            why += _reasons(row, program, target, samples[i])
            row = replace(
                row, why="; ".join(why) or f"unknown: {PROGRAM} tune measures other kernels for it"
            )
        rows.append(row)
    return rows


def _scale(costs: Mapping[int, float], modeled: Mapping[int, float]) -> float:
    """The cost of a modeled cycle: the median over the cycles of the network, so that no slow
    operator changes it.
    """
    ratios = sorted((cost / modeled[i], modeled[i]) for i, cost in costs.items() if modeled[i])
    half, cycles = sum(weight for _, weight in ratios) / 2, 0.0
    for ratio, weight in ratios:
        cycles += weight
        if cycles >= half:
            return ratio
    return 0.0


def _median(values: Iterable[float | None]) -> float | None:
    """The median of what was counted; None if nothing was."""
    counted = [value for value in values if value is not None]
    return statistics.median(counted) if counted else None


def _reasons(
    row: OperatorTime, program: Program, target: Target, samples: Sequence[Event]
) -> list[str]:
    """Known reasons for a slow operator, in words."""
    reasons, longest = [], max(float(event[row.unit]) for event in samples)
    if longest > _UNSTEADY * row.cost:
        reasons.append(
            f"its times are unsteady, up to {longest / row.cost:.1f} times their median: "
            "another program, throttling, or a thread that moved to another core"
        )
    readings = (reading for event in samples for reading in event.get("counters", ()))
    if faults := _median(reading and reading[0] for reading in readings):
        reasons.append(
            f"{faults:,.0f} page faults in a run: its memory was taken away, and is mapped again"
        )
    kernel = kernels.inventory().get(row.kernel)
    if kernel and kernel.isa == "portable":
        reasons.append("the portable kernel: none of this core's instruction sets has one for it")
    op, memory, speed = program.ops[row.index], target.core.memory, row.bytes / row.cost
    if memory and row.unit == "ns" and speed > _NEAR * memory.gb_per_s:
        reasons.append(f"it moves {speed:.1f} GB/s, which is near the memory's speed")
    elif algorithms.algorithm_of(op) is None:
        moved = f"; it moves {speed:.1f} GB/s" if row.unit == "ns" else ""
        reasons.append(f"the model of an operator with a single algorithm is coarse{moved}")
    shape = program.vars[op.outputs[0]].shape
    if row.macs and len(shape) == 4 and shape[1] < _FEW:
        reasons.append(f"{shape[1]} channels of its result fill a part of a tile")
    return reasons
