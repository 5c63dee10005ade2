"""Calibration: runs a network on samples and determines the range of every tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trimtab.errors import CalibrationError
from trimtab.passes.fuse_qdq_conv import is_weighted
from trimtab.passes.fuse_qdq_table import computed
from trimtab.planner.plan_file import Plan
from trimtab.program import Program, states
from trimtab.progress import SILENT, Progress
from trimtab.quantization import equalization, insert_qdq
from trimtab.quantization.adaptive_rounding import (
    Moments,
    Rounding,
    empty_moments,
    sampled_operands,
)
from trimtab.quantization.equalization import ChannelStatistics, equalized
from trimtab.quantization.method_selection import select_method
from trimtab.quantization.methods import BEST, DEFAULT, method
from trimtab.quantization.observer import Array, Observer
from trimtab.quantization.ranges import Ranges
from trimtab.quantization.samples import Samples
from trimtab.session import Session

Values = Mapping[str, Array]


def calibrate(
    program: Program, samples: Samples, name: str = DEFAULT, progress: Progress = SILENT
) -> tuple[Ranges, Rounding]:
    """The ranges of the tensors of a simplified float32 program by the method `name`, and the
    rounding of its weights.

    CalibrationError if a tensor has no finite value in any sample.
    """
    needs_histograms = name == BEST or method(name).NEEDS_HISTOGRAM
    observed = observe(program, samples, histograms=needs_histograms, progress=progress)
    return observed.ranges(name, progress), observed.rounding


def tensors(program: Program) -> list[str]:
    """The tensors that have a range: all float32 inputs and results."""
    results = [name for op in program.ops for name in op.outputs]
    return [name for name in (*program.inputs, *results) if program.vars[name].dtype == "f32"]


@dataclass(frozen=True)
class Observed:
    """The observers of a program's tensors, one mapping for each half of the samples.

    They observe `twin`, the program equalized by `factors`, whose `outputs` are those of each
    sample. `rounding`: that of its weights, by the moments of their operands.
    """

    program: Program
    samples: Samples
    halves: Sequence[Mapping[str, Observer]]
    factors: Mapping[str, tuple[float, ...]]
    twin: Program
    outputs: Sequence[Values]
    rounding: Rounding

    def ranges(self, name: str, progress: Progress = SILENT) -> Ranges:
        """Ranges by the method of that name, or by the best one; a method that needs histograms
        must have them.
        """
        if name == BEST:
            name = select_method(
                self.twin, self.outputs, self.samples, self._ranges_of_half, progress
            )
        return self._ranges(name, self._all)

    def _ranges_of_half(self, name: str, half: int) -> Ranges:
        return self._ranges(name, self.halves[half])

    def _ranges(self, name: str, observers: Mapping[str, Observer]) -> Ranges:
        ranges = {tensor: method(name).range_of(one) for tensor, one in observers.items()}
        # A tensor that was always 0 has no scale; it stays in float32.
        ranges = {tensor: one for tensor, one in ranges.items() if one.has_scale}
        count = self.samples.count
        return Ranges(self.program.name, name, count, ranges, self._means, self.factors)

    @cached_property
    def _all(self) -> Mapping[str, Observer]:
        first, second = self.halves
        return {tensor: observer.merged(second[tensor]) for tensor, observer in first.items()}

    @cached_property
    def _means(self) -> Mapping[str, tuple[float, ...]]:
        return {
            tensor: tuple((observer.sums / self.samples.count).tolist())
            for tensor, observer in self._all.items()
            if observer.sums is not None and np.isfinite(observer.sums).all()
        }


def observe(
    program: Program, samples: Samples, *, histograms: bool = True, progress: Progress = SILENT
) -> Observed:
    """Observes the tensors of a simplified float32 program in two passes over the samples, or three
    with histograms.

    CalibrationError if a tensor has no finite value in any sample.
    """
    factors = _factors(program, samples, progress)
    twin = equalized(program, factors)
    functions = {tensor: _function(twin, tensor) for tensor in tensors(twin)}
    halves = [{t: Observer(function=f) for t, f in functions.items()} for _ in range(2)]
    axes = _channel_axes(twin)
    operands = _OperandObserver(twin, samples.count)
    outputs: list[Values] = []

    def add_extremes(number: int, values: Values) -> None:
        outputs.append({name: values[name] for name in twin.outputs})
        for tensor, observer in halves[samples.half(number)].items():
            observer.add_extremes(values[tensor])
            if tensor in axes:
                observer.add_means(values[tensor], axes[tensor])
        operands.add(number, values)

    run = runner_on_samples(twin, tensors(twin))
    run(samples, "calibrating: ranges", add_extremes, progress)
    blank = [tensor for tensor in functions if not any(half[tensor].extremes for half in halves)]
    if blank:
        raise CalibrationError(
            f"tensor '{blank[0]}' has no finite value in {samples.count} samples",
            where=program.name,
            hint="check the samples: are mean and scale those of the training?",
        )

    for tensor in functions:
        a, b = (half[tensor] for half in halves)
        a.histogram_range = b.histogram_range = a.whole.union(b.whole)

    rounded = set(halves[0]) - insert_qdq.never_rounded(twin)

    def add_counts(number: int, values: Values) -> None:
        for tensor in rounded:
            halves[samples.half(number)][tensor].add_counts(values[tensor])

    if histograms:
        run(samples, "calibrating: histograms", add_counts, progress)
    rounding = Rounding(operands.moments())
    return Observed(program, samples, halves, factors, twin, outputs, rounding)


def check(program: Program, ranges: Ranges) -> None:
    """CalibrationError if ranges, as read from a file, do not fit a simplified float32 program."""
    sections = {"ranges": ranges.ranges, "means": ranges.means, "factors": ranges.factors}
    for section, by_name in sections.items():
        if unknown := sorted(set(by_name) - set(program.vars)):
            raise ranges.misfit(f"[{section}] has '{unknown[0]}', a tensor the network lacks")
    axes = _channel_axes(program)
    for name, means in ranges.means.items():
        if name not in axes:
            raise ranges.misfit(f"[means] has '{name}', which no operator with weights reads")
        channels = program.vars[name].shape[axes[name]]
        if len(means) != channels:
            raise ranges.misfit(
                f"'{name}' has {len(means)} means, but {channels} channels in the network"
            )
    if wrong := equalization.misfit(program, ranges.factors):
        raise ranges.misfit(
            f"the factors of '{wrong}' do not fit the network, or differ from those of its "
            "neighbors; ranges may be edited, factors may not"
        )


def rounding_of(
    program: Program, ranges: Ranges, samples: Samples, progress: Progress = SILENT
) -> Rounding:
    """The weight rounding of a simplified float32 program whose ranges are known."""
    return Rounding(operand_moments(equalized(program, ranges.factors), samples, progress))


def operand_moments(
    program: Program, samples: Samples, progress: Progress = SILENT
) -> dict[str, Moments]:
    """The moments of the operands of a simplified program's operators with weights, by name."""
    operands = _OperandObserver(program, samples.count)
    title = "calibrating: weights"
    run_on_samples(program, operands.tensors, samples, title, operands.add, progress)
    return operands.moments()


def run_on_samples(
    program: Program,
    names: Iterable[str],
    samples: Samples,
    title: str,
    note: Callable[[int, Values], None],
    progress: Progress = SILENT,
    plan: Plan | None = None,
) -> None:
    """Calls `note` with the number and the values of the named tensors of each sample, as computed
    with `plan`.
    """
    runner_on_samples(program, names, plan)(samples, title, note, progress)


def runner_on_samples(
    program: Program, names: Iterable[str], plan: Plan | None = None
) -> Callable[[Samples, str, Callable[[int, Values], None], Progress], None]:
    """The function that does as `run_on_samples`, for several passes over samples."""
    twin = program.copy()
    twin.outputs = list(dict.fromkeys([*program.outputs, *names]))
    twin.outputs = [tensor for tensor in twin.outputs if tensor not in program.inputs]
    copies = states.copy_outputs(twin)
    session = Session(twin, plan=plan)

    def run(
        samples: Samples, title: str, note: Callable[[int, Values], None], progress: Progress
    ) -> None:
        with progress.step(title, "samples") as step:
            for number, feed in enumerate(samples):
                results = session.run(feed)
                note(number, {**feed, **{copies.get(n, n): x for n, x in results.items()}})
                step.update(number + 1, samples.count)

    return run


def _factors(
    program: Program, samples: Samples, progress: Progress
) -> Mapping[str, tuple[float, ...]]:
    """The equalization factors by tensor."""
    names = [tensor for group in equalization.groups(program) for tensor in group.tensors]
    if not names:
        return {}
    statistics: dict[str, ChannelStatistics] = {}

    def note(_: int, values: Values) -> None:
        for tensor in names:
            one = ChannelStatistics.of(values[tensor])
            statistics[tensor] = statistics[tensor].merged(one) if tensor in statistics else one

    run_on_samples(program, names, samples, "calibrating: channels", note, progress)
    return equalization.factors(program, statistics)


class _OperandObserver:
    """Collects the moments of the operands of operators with weights."""

    def __init__(self, program: Program, samples: int) -> None:
        self._program, self._samples = program, samples
        ops = [op for op in program.ops if is_weighted(op)]
        constant = [op for op in ops if program.vars[op.inputs[1]].data is not None]
        pairs = [(op, empty_moments(program, op)) for op in constant]
        self._moments = [(op, moments) for op, moments in pairs if moments is not None]

    @property
    def tensors(self) -> list[str]:
        """The observed tensors."""
        return [op.inputs[0] for op, _ in self._moments]

    def add(self, number: int, values: Values) -> None:
        """Adds sample `number`."""
        for op, moments in self._moments:
            x = values[op.inputs[0]]
            moments.add(sampled_operands(self._program, op, x, self._samples, number))

    def moments(self) -> dict[str, Moments]:
        """All moments that are finite, by operator."""
        return {op.name: moments for op, moments in self._moments if moments.is_finite}


def _channel_axes(program: Program) -> dict[str, int]:
    """The channel axis of each tensor that an operator with weights reads."""
    ops = [op for op in reversed(program.ops) if is_weighted(op)]
    return {op.inputs[0]: axis for op in ops if (axis := op.schema.channel_axis) is not None}


def _function(program: Program, tensor: str) -> Callable[[Array], Array] | None:
    """The function that a table will compute of the tensor, if nothing else reads it."""
    reader = program.sole_reader(tensor)
    if reader is None or not reader.schema.table:
        return None
    return lambda values: computed(reader, values.astype(np.float32)).astype(np.float64)
