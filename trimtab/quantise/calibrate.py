"""Runs a network on samples and notes the range of every tensor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trimtab.errors import CalibrationError
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantise.methods import DEFAULT, method
from trimtab.quantise.ranges import Ranges
from trimtab.quantise.samples import Samples
from trimtab.quantise.seen import Array, Seen
from trimtab.session import Session


def tensors(program: Program) -> list[str]:
    """The tensors that have a range: the float32 ones that are computed or given."""
    computed = [name for op in program.ops for name in op.outputs]
    return [name for name in (*program.inputs, *computed) if program.vars[name].dtype == "f32"]


def calibrate(
    program: Program, samples: Samples, name: str = DEFAULT, progress: Progress = SILENT
) -> Ranges:
    """The ranges of the tensors of a simplified float32 program, by the method of that name.

    CalibrationError where a tensor never had a finite value.
    """
    chosen = method(name)
    watched = program.copy()
    watched.outputs = list(dict.fromkeys([*program.outputs, *tensors(program)]))
    watched.outputs = [tensor for tensor in watched.outputs if tensor not in program.inputs]
    session = Session(watched)
    seen = {tensor: Seen() for tensor in tensors(program)}
    channels = _channels(program)
    looks: list[tuple[str, Callable[[Seen, Array], None]]] = [("ranges", Seen.look)]
    if chosen.NEEDS_HISTOGRAM:
        looks.append(("histograms", Seen.count))
    for what, note in looks:
        with progress.step(f"calibrating: {what}", "samples") as step:
            for number, feed in enumerate(samples):
                values = {**feed, **session.run(feed)}
                for tensor, place in seen.items():
                    note(place, values[tensor])
                    if note is Seen.look and tensor in channels:
                        place.add(values[tensor], channels[tensor])
                step.update(number + 1, samples.count)
        blank = [tensor for tensor, place in seen.items() if not place.extremes]
        if blank:
            raise CalibrationError(
                f"tensor '{blank[0]}' had no finite value in {samples.count} samples",
                where=program.name,
                hint="look at the samples: are mean and scale those of the training?",
            )
    ranges = {tensor: chosen.range_of(place) for tensor, place in seen.items()}
    means = {
        tensor: tuple((place.sums / samples.count).tolist())
        for tensor, place in seen.items()
        if place.sums is not None and np.isfinite(place.sums).all()
    }
    return Ranges(program.name, name, samples.count, ranges, means)


def _channels(program: Program) -> dict[str, int]:
    """The axis of the channels of each tensor that an operator with weights reads."""
    axes = {"conv": 1, "gemm": -1}
    return {op.inputs[0]: axes[op.type] for op in reversed(program.ops) if op.type in axes}
