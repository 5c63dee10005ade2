"""Runs a network on samples and notes the range of every tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.errors import CalibrationError
from trimtab.passes.tabulate_bytes import computed
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantise import rewrite
from trimtab.quantise.methods import DEFAULT, method
from trimtab.quantise.ranges import Ranges
from trimtab.quantise.samples import Samples
from trimtab.quantise.seen import Array, Seen
from trimtab.session import Session


def tensors(program: Program) -> list[str]:
    """The tensors that have a range: the float32 ones that are computed or given."""
    computed = [name for op in program.ops for name in op.outputs]
    return [name for name in (*program.inputs, *computed) if program.vars[name].dtype == "f32"]


@dataclass(frozen=True)
class Watched:
    """What was seen of a program's tensors on so many samples."""

    network: str
    samples: int
    seen: Mapping[str, Seen]

    def ranges(self, name: str) -> Ranges:
        """By the method of that name, which may need that histograms were taken."""
        chosen = method(name)
        means = {
            tensor: tuple((place.sums / self.samples).tolist())
            for tensor, place in self.seen.items()
            if place.sums is not None and np.isfinite(place.sums).all()
        }
        found = {tensor: chosen.range_of(place) for tensor, place in self.seen.items()}
        return Ranges(self.network, name, self.samples, found, means)


def calibrate(
    program: Program, samples: Samples, name: str = DEFAULT, progress: Progress = SILENT
) -> Ranges:
    """The ranges of the tensors of a simplified float32 program, by the method of that name.

    CalibrationError where a tensor never had a finite value.
    """
    needs = method(name).NEEDS_HISTOGRAM
    return watch(program, samples, histograms=needs, progress=progress).ranges(name)


def watch(
    program: Program, samples: Samples, *, histograms: bool = True, progress: Progress = SILENT
) -> Watched:
    """Runs a simplified float32 program on the samples, twice where histograms are taken, too.

    CalibrationError where a tensor never had a finite value.
    """
    watched = program.copy()
    watched.outputs = list(dict.fromkeys([*program.outputs, *tensors(program)]))
    watched.outputs = [tensor for tensor in watched.outputs if tensor not in program.inputs]
    session = Session(watched)
    seen = {tensor: Seen(function=_function(program, tensor)) for tensor in tensors(program)}
    channels = _channels(program)
    looks: list[tuple[str, Callable[[Seen, Array], None]]] = [("ranges", Seen.look)]
    if histograms:
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
    return Watched(program.name, samples.count, seen)


def _channels(program: Program) -> dict[str, int]:
    """The axis of the channels of each tensor that an operator with weights reads."""
    axes = {"conv": 1, "gemm": -1}
    return {op.inputs[0]: axes[op.type] for op in reversed(program.ops) if op.type in axes}


def _function(program: Program, tensor: str) -> Callable[[Array], Array] | None:
    """What a table will hold of the tensor, where nothing else reads it."""
    readers = program.block.consumers(tensor)
    if len(readers) != 1 or program.is_output(tensor) or readers[0].type not in rewrite.TABLED:
        return None
    return lambda values: computed(readers[0], values.astype(np.float32)).astype(np.float64)
