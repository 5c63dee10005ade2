"""Runs a network on samples and notes the range of every tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trimtab.errors import CalibrationError
from trimtab.passes.fuse_qdq_conv import is_weighted
from trimtab.passes.fuse_qdq_table import computed
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import equalization
from trimtab.quantization.adaptive_rounding import Rounding, moments, operands
from trimtab.quantization.equalization import Channels, equalized
from trimtab.quantization.method_selection import best
from trimtab.quantization.methods import BEST, DEFAULT, method
from trimtab.quantization.observer import Array, Seen
from trimtab.quantization.ranges import Ranges
from trimtab.quantization.samples import Samples
from trimtab.session import Session


def calibrate(
    program: Program, samples: Samples, name: str = DEFAULT, progress: Progress = SILENT
) -> tuple[Ranges, Rounding]:
    """The ranges of the tensors of a simplified float32 program, by the method of that name, or
    the best one, and the rounding of its weights.

    CalibrationError where a tensor never had a finite value.
    """
    needs = name == BEST or method(name).NEEDS_HISTOGRAM
    watched = watch(program, samples, histograms=needs, progress=progress)
    return watched.ranges(name, progress), watched.rounding


def tensors(program: Program) -> list[str]:
    """The tensors that have a range: the float32 ones that are computed or given."""
    computed = [name for op in program.ops for name in op.outputs]
    return [name for name in (*program.inputs, *computed) if program.vars[name].dtype == "f32"]


@dataclass(frozen=True)
class Watched:
    """What was seen of a program's tensors on each half of the samples, their channels multiplied
    with `factors`; `rounding`: of its weights, by what was seen of their operands.
    """

    program: Program
    samples: Samples
    halves: Sequence[Mapping[str, Seen]]
    factors: Mapping[str, tuple[float, ...]]
    rounding: Rounding

    def ranges(self, name: str, progress: Progress = SILENT) -> Ranges:
        """By the method of that name, or the best one; they may need that histograms were taken."""
        if name == BEST:
            name = best(self.program, self.samples, self._of_half, progress)
        return self._ranges(name, self._seen)

    def _of_half(self, name: str, half: int) -> Ranges:
        return self._ranges(name, self.halves[half])

    def _ranges(self, name: str, seen: Mapping[str, Seen]) -> Ranges:
        found = {tensor: method(name).range_of(place) for tensor, place in seen.items()}
        # What held nothing but 0 tells no scale: it stays in floating point, which is right
        # whatever comes.
        found = {tensor: one for tensor, one in found.items() if one.has_steps}
        count = self.samples.count
        return Ranges(self.program.name, name, count, found, self._means, self.factors)

    @cached_property
    def _seen(self) -> Mapping[str, Seen]:
        first, second = self.halves
        return {tensor: place.joined(second[tensor]) for tensor, place in first.items()}

    @cached_property
    def _means(self) -> Mapping[str, tuple[float, ...]]:
        return {
            tensor: tuple((place.sums / self.samples.count).tolist())
            for tensor, place in self._seen.items()
            if place.sums is not None and np.isfinite(place.sums).all()
        }


def watch(
    program: Program, samples: Samples, *, histograms: bool = True, progress: Progress = SILENT
) -> Watched:
    """Runs a simplified float32 program on the samples, three times where histograms are taken,
    too.

    CalibrationError where a tensor never had a finite value.
    """
    factors = _factors(program, samples, progress)
    twin = equalized(program, factors)
    functions = {tensor: _function(twin, tensor) for tensor in tensors(twin)}
    halves = [{t: Seen(function=function) for t, function in functions.items()} for _ in range(2)]
    channels = _channels(twin)
    operands = _Operands(twin, samples.count)

    def look(number: int, values: Values) -> None:
        for tensor, place in halves[samples.half(number)].items():
            place.look(values[tensor])
            if tensor in channels:
                place.add(values[tensor], channels[tensor])
        operands.look(number, values)

    _go_over(twin, tensors(twin), samples, "calibrating: ranges", look, progress)
    blank = [tensor for tensor in functions if not any(seen[tensor].extremes for seen in halves)]
    if blank:
        raise CalibrationError(
            f"tensor '{blank[0]}' had no finite value in {samples.count} samples",
            where=program.name,
            hint="look at the samples: are mean and scale those of the training?",
        )

    for tensor in functions:
        a, b = (seen[tensor] for seen in halves)
        a.counted = b.counted = a.whole.joined(b.whole)

    def count(number: int, values: Values) -> None:
        for tensor, place in halves[samples.half(number)].items():
            place.count(values[tensor])

    if histograms:
        _go_over(twin, tensors(twin), samples, "calibrating: histograms", count, progress)
    return Watched(program, samples, halves, factors, operands.rounding())


def check(program: Program, ranges: Ranges) -> None:
    """CalibrationError where ranges, as a file has them, are not those of a simplified float32
    program.
    """
    kinds = {"ranges": ranges.ranges, "means": ranges.means, "factors": ranges.factors}
    for kind, by_name in kinds.items():
        if unknown := sorted(set(by_name) - set(program.vars)):
            raise ranges.misfit(f"{kind} of tensors that the network does not have: {unknown[0]}")
    axes = _channels(program)
    for name, means in ranges.means.items():
        if name not in axes:
            raise ranges.misfit(f"means of '{name}', which no operator with weights reads")
        channels = program.vars[name].shape[axes[name]]
        if len(means) != channels:
            raise ranges.misfit(
                f"'{name}' has {len(means)} means, and {channels} channels in the network"
            )
    if wrong := equalization.misfit(program, ranges.factors):
        raise ranges.misfit(
            f"the factors of '{wrong}' do not fit the network, or those of its neighbors; "
            "ranges may be edited, factors may not"
        )


def rounding_of(
    program: Program, ranges: Ranges, samples: Samples, progress: Progress = SILENT
) -> Rounding:
    """Of the weights of a simplified float32 program whose ranges are known."""
    twin = equalized(program, ranges.factors)
    operands = _Operands(twin, samples.count)
    _go_over(twin, operands.tensors, samples, "calibrating: weights", operands.look, progress)
    return operands.rounding()


Values = Mapping[str, Array]


def _go_over(
    program: Program,
    wanted: Iterable[str],
    samples: Samples,
    what: str,
    note: Callable[[int, Values], None],
    progress: Progress,
) -> None:
    """Notes the values of tensors for each sample."""
    watched = program.copy()
    watched.outputs = list(dict.fromkeys([*program.outputs, *wanted]))
    watched.outputs = [tensor for tensor in watched.outputs if tensor not in program.inputs]
    session = Session(watched)
    with progress.step(what, "samples") as step:
        for number, feed in enumerate(samples):
            note(number, {**feed, **session.run(feed)})
            step.update(number + 1, samples.count)


def _factors(
    program: Program, samples: Samples, progress: Progress
) -> Mapping[str, tuple[float, ...]]:
    """What the channels of tensors are multiplied with, so that their ranges are alike."""
    wanted = [tensor for group in equalization.groups(program) for tensor in group.tensors]
    if not wanted:
        return {}
    seen: dict[str, Channels] = {}

    def look(_: int, values: Values) -> None:
        for tensor in wanted:
            found = Channels.of(values[tensor])
            seen[tensor] = seen[tensor].joined(found) if tensor in seen else found

    _go_over(program, wanted, samples, "calibrating: channels", look, progress)
    return equalization.factors(program, seen)


class _Operands:
    """Looks at the operands of operators with weights."""

    def __init__(self, program: Program, samples: int) -> None:
        self._program, self._samples = program, samples
        ops = [op for op in program.ops if is_weighted(op)]
        known = [op for op in ops if program.vars[op.inputs[1]].data is not None]
        found = [(op, moments(program, op)) for op in known]
        self._seen = [(op, place) for op, place in found if place is not None]

    @property
    def tensors(self) -> list[str]:
        """What is looked at."""
        return [op.inputs[0] for op, _ in self._seen]

    def look(self, number: int, values: Values) -> None:
        """At the sample of that number."""
        for op, place in self._seen:
            x = values[op.inputs[0]]
            place.add(operands(self._program, op, x, self._samples, number))

    def rounding(self) -> Rounding:
        """By what was seen; where all of it was finite."""
        found = {op.name: place for op, place in self._seen}
        return Rounding({name: m for name, m in found.items() if np.isfinite(m.products).all()})


def _channels(program: Program) -> dict[str, int]:
    """The axis of the channels of each tensor that an operator with weights reads."""
    ops = [op for op in reversed(program.ops) if is_weighted(op)]
    return {op.inputs[0]: axis for op in ops if (axis := op.schema.channel_axis) is not None}


def _function(program: Program, tensor: str) -> Callable[[Array], Array] | None:
    """What a table will hold of the tensor, where nothing else reads it."""
    reader = program.sole_reader(tensor)
    if reader is None or not reader.schema.table:
        return None
    return lambda values: computed(reader, values.astype(np.float32)).astype(np.float64)
