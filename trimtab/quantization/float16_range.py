"""Operators that compute values beyond the range of f16, found by running a network in float32.

f16 ends at 65504; what is larger becomes infinity, and soon NaN. A value counts before activations
and bounds are applied to it, because that is what a sum in f16 has to hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.planner.plan_file import Plan
from trimtab.program import Op, Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization.calibration import run_on_samples, tensors
from trimtab.quantization.observer import Array
from trimtab.quantization.samples import Samples

LIMIT = 65504.0


@dataclass(frozen=True)
class Overflow:
    """An operator that computes a value which f16 cannot hold. `largest`: its magnitude in float32;
    `involved`: the names of the operators that cannot compute in f16 for it: this one, those that
    read the value, and those that may be fused with it.
    """

    operator: str
    type: str
    largest: float
    involved: frozenset[str]

    def __str__(self) -> str:
        return f"the values of {self.type} {self.operator!r} reach {self.largest:,.0f}"


def overflows(simple: Program, samples: Samples, progress: Progress = SILENT) -> list[Overflow]:
    """The operators of a simplified float32 program that overflow on any sample, in execution
    order. Values that are not finite in float32 do not count.
    """
    peaks = dict.fromkeys(tensors(simple), 0.0)

    def note(_: int, values: Mapping[str, Array]) -> None:
        for tensor in peaks:
            value = np.abs(values[tensor])
            finite = np.isfinite(value)
            peaks[tensor] = max(peaks[tensor], float(value.max(where=finite, initial=0.0)))

    run_on_samples(simple, peaks, samples, "looking for values beyond f16", note, progress)
    makers = {name: op for op in simple.ops for name in op.outputs}
    beyond = []
    for op in simple.ops:
        largest = max((peaks.get(name, 0.0) for name in op.outputs), default=0.0)
        if largest > LIMIT:
            beyond.append(Overflow(op.name, op.type, largest, _involved(simple, op, makers)))
    for name in simple.inputs:
        if peaks.get(name, 0.0) > LIMIT:
            readers = frozenset(op.name for op in simple.block.consumers(name))
            beyond.insert(0, Overflow(name, "input", peaks[name], readers))
    return beyond


def _involved(simple: Program, op: Op, makers: dict[str, Op]) -> frozenset[str]:
    fused = [makers[name] for name in op.inputs if name in makers]
    readers = [reader for name in op.outputs for reader in simple.block.consumers(name)]
    return frozenset(one.name for one in (op, *fused, *readers))


def first_not_finite(simple: Program, samples: Samples, plan: Plan) -> str:
    """The first operator whose results are not finite with `plan`, although its operands are; ""
    if there is none.
    """
    names = [name for op in simple.ops for name in op.outputs]
    broken: set[str] = set()

    def note(_: int, values: Mapping[str, Array]) -> None:
        floats = (name for name in names if values[name].dtype.kind == "f")
        broken.update(name for name in floats if not np.isfinite(values[name]).all())

    run_on_samples(simple, names, samples, "looking for values beyond f16", note, SILENT, plan)
    return next((f"{op.type} {op.name!r}" for op in simple.ops if broken & {*op.outputs}), "")


def involved(beyond: Iterable[Overflow]) -> frozenset[str]:
    """The operators that cannot compute in f16 for any of these."""
    return frozenset(name for one in beyond for name in one.involved)
