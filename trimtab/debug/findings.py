"""Findings: what an operator computed on a device beside what it should have, and their bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.bench import golden
from trimtab.bench.golden import Agreement, Golden, RoundingLoss
from trimtab.debug.regions import EXACT, Region, same_algorithms
from trimtab.errors import PlanError, ProfileError, TrimtabError
from trimtab.passes.fuse_qdq_conv import is_weighted
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.quantization.accuracy import Deviation
from trimtab.target import Target

Array = NDArray[Any]
_ORACLE = "this machine"
_LOSSLESS = RoundingLoss(0.0, 1.0)
_HALF_STEP = 2.0**-12  # by which a rounded result in f16 is off, of its magnitude
# The largest error of a sum of n rounded terms is about so many times sqrt(n) steps (Higham and
# Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019, theorem 2.4).
_SUM_STEPS = 5
_PARTS = 4  # of a sum, after which its partial sums are compared


@dataclass(frozen=True)
class Figures:
    """A tensor in figures, of its finite elements; `not_finite` counts the others."""

    min: float
    max: float
    mean: float
    rms: float
    not_finite: int

    @staticmethod
    def of(values: Array) -> Figures:
        """The figures of a tensor."""
        every = values.astype(np.float64).ravel()
        some = every[np.isfinite(every)]
        if not some.size:
            return Figures(0.0, 0.0, 0.0, 0.0, every.size)
        low, high, rms = some.min(), some.max(), np.sqrt(np.mean(np.square(some)))
        return Figures(
            float(low), float(high), float(some.mean()), float(rms), every.size - some.size
        )


@dataclass(frozen=True)
class OperatorFinding:
    """An operator of the plan. `index`: in the model; `layers`: those of the user's file that it
    computes; `kernels`: the planned ones. `wrong`: why a result is beyond its bound, "" if none is.
    `error` and `bound`: of the result that is furthest, `at` its worst element, of which `expected`
    and `actual` are the values. `unknown`: why there is nothing to compare with, "" if there is.
    `accumulated`: the error of the first result beside the float32 network, as a share of its
    values; None if that has no such tensor.
    """

    index: int
    type: str
    name: str
    layers: tuple[str, ...]
    kernels: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    wrong: str = ""
    error: float = 0.0
    bound: float = 0.0
    at: tuple[int, ...] = ()
    expected: float = 0.0
    actual: float = 0.0
    figures_expected: Figures | None = None
    figures_actual: Figures | None = None
    unknown: str = ""
    accumulated: float | None = None

    def __str__(self) -> str:
        layers = ", ".join(self.layers[:3]) + ", ..." * (len(self.layers) > 3)
        computes = f", layer {layers}" if self.layers and (self.name,) != self.layers else ""
        kernels = f", kernel {' and '.join(self.kernels)}" if self.kernels else ""
        return f"operator {self.index}, {self.type} {self.name}{computes}{kernels}"


def describe(program: Program, index: int, layers: Sequence[str]) -> OperatorFinding:
    """An operator of a planned program, not compared yet."""
    op = program.ops[index]
    kernels = [str(op.attributes[a.name]) for a in op.schema.attributes if a.type == "kernel"]

    def text(name: str) -> str:
        var = program.vars[name]
        return f"{var.dtype}{list(var.shape)}"

    return OperatorFinding(
        index,
        op.type,
        op.name,
        tuple(layers),
        tuple(filter(None, kernels)),
        tuple(text(name) for name in op.inputs if name),
        tuple(map(text, op.outputs)),
    )


def compare(
    finding: OperatorFinding,
    part: Region,
    values: Mapping[str, Array],
    target: Target,
    plan: Plan = EXACT,
) -> OperatorFinding:
    """The finding with the comparison of an operator's results, which are among `values` like its
    operands. `plan`: that of the network, whose algorithms have roundings of their own.
    """
    try:
        results = [*_alike(part, part.compute(values, target), values)]
        agreed = [agreement(*one, None) for one in results]
        if any(one.wrong for one in agreed):
            rounding = simulated_rounding(part, values, target, plan)
            if rounding:
                agreed = [agreement(*one, rounding.get(one[0])) for one in results]
    except TrimtabError as error:
        return replace(finding, unknown=f"this machine cannot compute it: {error.what}")
    worst = finding
    for one, (_, right, actual) in zip(agreed, results, strict=True):
        limit = one.bound.max_error if one.bound else 0.0
        if worst.figures_actual is not None and not (one.wrong and not worst.wrong):
            continue
        place = tuple(int(i) for i in np.unravel_index(one.at, right.shape)) if right.size else ()
        worst = replace(
            finding,
            wrong=one.wrong,
            error=one.max_error,
            bound=limit,
            at=place,
            expected=one.expected,
            actual=one.actual,
            figures_expected=Figures.of(right),
            figures_actual=Figures.of(actual),
        )
    return worst


def _alike(
    part: Region, expected: Sequence[Array], values: Mapping[str, Array]
) -> Iterator[tuple[str, Array, Array]]:
    """Name, expected and actual value of each result."""
    for name, right in zip(part.outputs, expected, strict=True):
        yield name, right, values[name].reshape(right.shape)


def agreement(name: str, right: Array, actual: Array, rounding: RoundingLoss | None) -> Agreement:
    """Compares one result with its bound: that of a golden output, relative to the largest value
    where all are smaller than 1. Integers may differ by one step in one of a hundred elements.
    """
    is_float = right.dtype.kind == "f"
    finite = right[np.isfinite(right)] if is_float else right
    largest = float(np.abs(finite.astype(np.float64)).max(initial=0.0))
    if is_float and 0 < largest < 1 and right.dtype != np.float16:
        scale = 2.0 ** -np.floor(np.log2(largest))
        right, actual = right * right.dtype.type(scale), actual * actual.dtype.type(scale)
    one = Golden(
        (),
        [right],
        [name],
        _ORACLE,
        scales=() if is_float else [1.0],
        rounding=[rounding] if rounding else (),
    )
    if right.dtype == np.float16:
        one = one.within("f16")
    order = right.dtype.newbyteorder("<")
    return golden.compare(one, 0, np.ascontiguousarray(actual, order).tobytes())


def simulated_rounding(
    part: Region, values: Mapping[str, Array], target: Target, plan: Plan
) -> dict[str, RoundingLoss]:
    """The loss of a region's results by f16, beside the same operators in float32: with the
    algorithms of the network's `plan`, or the direct ones where this machine has no others.
    """
    program = part.program
    halves = [name for name in program.outputs if program.vars[name].dtype == "f16"]
    if not halves:
        return {}
    wide = _in_f32(program)
    if wide is None:
        return {}
    feeds = {
        name: value.astype(np.float32) if value.dtype == np.float16 else value
        for name, value in values.items()
    }
    exact = Region(wide, part.inputs, part.outputs).compute(feeds, target)
    direct = [Deviation.of(*one) for one in zip(exact, part.compute(values, target), strict=True)]
    planned = direct
    if (algorithms := same_algorithms(program, plan)).operators:
        with suppress(PlanError, ProfileError):
            half = part.compute(values, target, algorithms)
            planned = [Deviation.of(*one) for one in zip(exact, half, strict=True)]
    # An algorithm that magnifies the rounding of operands magnifies that of sums, too.
    magnified = max(
        one.max_error / max(other.max_error, _HALF_STEP)
        for one, other in zip(planned, direct, strict=True)
    )
    sums = _of_sums(replace(part, program=wide), feeds, target, exact, max(magnified, 1.0))
    return {
        name: RoundingLoss(max(one.max_error, sums.max_error), min(one.cosine, sums.cosine))
        for name, one in zip(part.outputs, planned, strict=True)
        if not one.not_finite
    }


def _of_sums(
    part: Region,
    values: Mapping[str, Array],
    target: Target,
    exact: Sequence[Array],
    magnified: float,
) -> RoundingLoss:
    """The loss of a result by what f16 may cost a sum, times what the algorithm makes of it.
    Devices that add in f16 round partial sums: they may be larger than the sum, and this one larger
    than what a fused activation makes of it. None where no rounding is larger than the result's.
    """
    if len(exact) != 1:
        return _LOSSLESS
    fused = [i for i, op in enumerate(part.program.ops) if op.attributes.get("activation")]
    bare, moved = part.program.copy(), part.program.copy()
    for i in fused:
        bare.ops[i].attributes["activation"] = ""
    largest = max(_largest(replace(part, program=one), values, target) for one in _partial(bare))
    share = max(golden.HALF_TOLERANCE, _SUM_STEPS * sqrt(_terms(bare)) * _HALF_STEP)
    cost = share / golden.HALF_FACTOR * largest * magnified
    if not fused:
        result = float(np.abs(exact[0]).max(initial=0.0))
        if cost <= golden.HALF_TOLERANCE / golden.HALF_FACTOR * result or not result:
            return _LOSSLESS
        rms = float(np.sqrt(np.square(exact[0], dtype=np.float64).mean()))
        return RoundingLoss(cost / result, 1 - (cost / rms) ** 2 / 2)
    op = moved.ops[fused[0]]
    named = dict(zip((port.name for port in op.schema.inputs), op.inputs, strict=False))
    bias = moved.vars[named["bias"]] if named.get("bias") else None
    if len(fused) != 1 or bias is None or bias.data is None:
        return _LOSSLESS
    moved.vars[bias.name] = replace(bias, data=bias.data + np.float32(cost))
    (results,) = replace(part, program=moved).compute(values, target)
    return RoundingLoss(Deviation.of(exact[0], results).max_error, 1.0)


def _partial(program: Program) -> Iterator[Program]:
    """The program, and those in which the sums over a weighted operator's operands end early: with
    zeros in the last parts of each axis of the weights. Kernels add in one order of the axes.
    """
    yield program
    for name, data in _weights(program):
        for axis, size in enumerate(data.shape):
            for end in sorted({size * part // _PARTS for part in range(1, _PARTS)} - {0}):
                twin, cut = program.copy(), data.copy()
                np.moveaxis(cut, axis, 0)[end:] = 0
                twin.vars[name] = replace(twin.vars[name], data=cut)
                yield twin


def _terms(program: Program) -> int:
    """The products in the longest sum of the program's weighted operators."""
    return max((data[0].size for _, data in _weights(program)), default=0)


def _weights(program: Program) -> Iterator[tuple[str, Array]]:
    """Names and values of weights, [outputs, ...]."""
    for op in program.ops:
        if is_weighted(op) and (data := program.vars[op.inputs[1]].data) is not None:
            yield op.inputs[1], data


def _largest(part: Region, values: Mapping[str, Array], target: Target) -> float:
    return max(float(np.abs(one).max(initial=0.0)) for one in part.compute(values, target))


def _in_f32(program: Program) -> Program | None:
    """A program that computes in f16, in float32; None if an operator is of f16 alone."""
    twin = program.copy()
    for name, var in twin.vars.items():
        if var.dtype == "f16":
            data = None if var.data is None else var.data.astype(np.float32)
            twin.vars[name] = replace(var, dtype="f32", data=data)
    casts = [op for op in twin.ops if op.type == "cast"]
    if casts:
        return None
    return twin
