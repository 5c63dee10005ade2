"""Times kernels and operators in rounds together with the machine's limits.

A round times everything once: the loops of the limits, then every kernel on every layer. A
temporary disturbance of the machine then affects all of them, and their medians are comparable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from lab.experiment import FigureRow, computed, figure, figure_row, text
from lab.roofline.machine import Level, Machine, data_caches, working_sets
from trimtab import kernels
from trimtab.engine import engine
from trimtab.kernels import Kernel
from trimtab.planner.kernel_calls import KernelCall
from trimtab.program import Op, Program, inspection
from trimtab.program.block import NUMPY_DTYPES
from trimtab.progress import SILENT, Progress
from trimtab.session import Session
from trimtab.target import Target

Timer = Callable[[str, str, dict[str, int], float], float]  # the type of engine().time_kernel

_DTYPE = "f32"  # element type of the loops that measure the limits
_PEAK_MULTIPLY_ADDS = 12 << 14
_MIN_NS = 200_000.0


@dataclass(frozen=True)
class Timed:
    """A kernel on a layer: the median of its rounds, and the machine's limit."""

    kernel: Kernel
    layer: KernelCall
    ns: float
    limit_ns: float
    limit: str

    @property
    def rate(self) -> float:
        """GFLOP/s of kernels that multiply and add, GB/s of kernels that move data."""
        return self.layer.work / self.ns

    @property
    def unit(self) -> str:
        """The unit of `rate`."""
        return "GFLOP/s" if self.layer.operations else "GB/s"

    @property
    def share(self) -> float:
        """The share of the machine's limit, 1 at best."""
        return self.limit_ns / self.ns


@figure_row
class TimedOperator(FigureRow):
    """An operator of a network, timed in inferences. `share`: of the peak of its kernel's
    instruction set, None without multiply-accumulates.
    """

    operator: str = text("operator")
    kind: str = text("kind")
    kernel: str = text("kernel")
    output: tuple[int, ...] = figure()
    shape: str = computed("output", is_text=True, of=lambda op: "x".join(map(str, op.output)))
    macs: int = figure()
    ns: float = figure()
    ms: float = computed("ms", ".3f", of=lambda op: op.ns / 1e6)
    gflops: float | None = computed("GFLOP/s", ".1f", of=lambda op: 2 * op.macs / op.ns or None)
    share: float | None = figure("share of peak", ".0%")


def _loop(family: str, isa: str) -> str:
    """The kernel that measures a limit of an instruction set, such as `peak`: its own, or that of
    the next lower instruction set with one.
    """
    rows = [row for row in kernels.isas().values() if row.arch == kernels.isas()[isa].arch]
    lower = [row for row in rows if row.rank <= kernels.isas()[isa].rank] + [
        kernels.isas()[kernels.PORTABLE]
    ]
    lower.sort(key=lambda row: (row.name == isa, row.rank), reverse=True)
    names = (f"{family}_{dtype}_{row.name}" for row in lower for dtype in (_DTYPE, *row.vectors))
    return next(name for name in names if name in kernels.inventory())


class _Limits:
    """The loops that measure the machine; each round adds one sample per loop."""

    def __init__(self, isas: Iterable[str], timer: Timer) -> None:
        self._timer = timer
        self._isas = tuple(isa for isa in kernels.isas() if isa in {*isas})
        self._best = self._isas[-1]
        self._caches = data_caches(Target.host().core)
        self._sets = working_sets(self._caches)
        self._peaks: dict[str, list[float]] = {isa: [] for isa in self._isas}
        self._rates: dict[str, list[float]] = {name: [] for name in self._sets}

    def sample(self) -> None:
        """Times each loop once."""
        for isa, rates in self._peaks.items():
            n = _PEAK_MULTIPLY_ADDS
            rates.append(2 * n / self._time(_loop("peak", isa), n))
        for name, size in self._sets.items():
            n = size // 4 // 1024 * 1024  # a multiple of every vector
            read = 4 * n / self._time(_loop("read", self._best), n)
            copied = 4 * n / self._time(_loop("copy", self._best), n // 2)
            self._rates[name].append(max(read, copied))

    def _time(self, name: str, n: int) -> float:
        return self._timer(name, kernels.kernel(name).args, {"n": n}, _MIN_NS)

    def machine(self) -> Machine:
        """The medians of the samples."""
        return Machine(
            {isa: median(rates) for isa, rates in self._peaks.items()},
            tuple(
                Level(name, self._caches.get(name, float("inf")), median(rates))
                for name, rates in self._rates.items()
            ),
        )


def time_kernels(
    layers: Mapping[str, Sequence[KernelCall]],
    rounds: int,
    timer: Timer | None = None,
    progress: Progress = SILENT,
) -> tuple[Machine, list[Timed]]:
    """Times each kernel on each of its layers, in that order, and the machine."""
    timer = timer or engine().time_kernel
    cases = [(kernels.kernel(name), layer) for name, chosen in layers.items() for layer in chosen]
    limits = _Limits({kernel.isa: None for kernel, _ in cases}, timer)
    samples: list[list[float]] = [[] for _ in cases]
    with progress.step("time kernels on layers", "timings", still=True) as step:
        for turn in range(rounds):
            limits.sample()
            for i, ((kernel, layer), durations) in enumerate(zip(cases, samples, strict=True), 1):
                mr, nr = kernel.packing
                sizes = dict(layer.sizes) | {"mr": mr, "nr": nr}
                durations.append(timer(kernel.name, kernel.args, sizes, _MIN_NS))
                step.update(turn * len(cases) + i, rounds * len(cases), kernel.name)
    machine = limits.machine()
    return machine, [
        Timed(kernel, layer, median(durations), *machine.limit(layer, kernel.isa))
        for (kernel, layer), durations in zip(cases, samples, strict=True)
    ]


def time_operators(
    program: Program, rounds: int, progress: Progress = SILENT
) -> tuple[Machine, list[TimedOperator]]:
    """Times the operators of a planned program in inferences with one thread."""
    session = Session(program)
    rng = np.random.default_rng(1)
    inputs = {name: program.vars[name] for name in program.inputs}
    session.run(
        {
            name: rng.standard_normal(var.shape).astype(NUMPY_DTYPES[var.dtype])
            for name, var in inputs.items()
        }
    )
    facts = inspection.inspect(program).ops
    isas = {kernels.kernel(op.kernel).isa for op in facts if op.kernel}
    limits = _Limits(isas or {kernels.PORTABLE}, engine().time_kernel)
    samples = []
    with progress.step("time operators", "rounds", still=True) as step:
        for done in range(rounds):
            limits.sample()
            session.time_operators()  # the loops have evicted the caches
            samples.append(session.time_operators())
            step.update(done + 1, rounds)
    machine = limits.machine()
    return machine, [
        _timed_operator(op, op_facts, median(durations), machine)
        for op, op_facts, durations in zip(
            program.ops, facts, zip(*samples, strict=True), strict=True
        )
        if not op.schema.prepares
    ]


def _timed_operator(
    op: Op, facts: inspection.OpFacts, ns: float, machine: Machine
) -> TimedOperator:
    share = None
    if facts.macs and facts.kernel:
        share = 2 * facts.macs / ns / machine.peaks[kernels.kernel(facts.kernel).isa]
    kind = kind_of(op, facts)
    return TimedOperator(facts.name, kind, facts.kernel, facts.outputs[0], facts.macs, ns, share)


def kind_of(op: Op, facts: inspection.OpFacts) -> str:
    """The group of an operator: its type, the window of a convolution, and the family of the kernel
    if it is not the usual one.
    """
    if not (facts.macs and facts.kernel) or len(facts.inputs[1]) != 4:
        return op.type
    size = f"{facts.inputs[1][2]}x{facts.inputs[1][3]}"
    family = kernels.kernel(facts.kernel).family
    default = op.schema.attribute("kernel").families[0]
    return f"{op.type} {size}" + (f" {family}" if family != default else "")


def by_kind(operators: Iterable[TimedOperator]) -> dict[str, dict[str, Any]]:
    """Totals per kind: operators, milliseconds, GFLOP/s and share of the peak."""
    groups: dict[str, list[TimedOperator]] = {}
    for op in operators:
        groups.setdefault(op.kind, []).append(op)
    sums = {}
    for kind, ops in sorted(groups.items(), key=lambda item: -sum(op.ns for op in item[1])):
        ns = sum(op.ns for op in ops)
        # The time of all operators at the peak.
        ideal = sum(op.share * op.ns for op in ops if op.share is not None)
        sums[kind] = {
            "operators": len(ops),
            "ms": ns / 1e6,
            "gflops": 2 * sum(op.macs for op in ops) / ns,
            "share": ideal / ns if ideal else None,
        }
    return sums
