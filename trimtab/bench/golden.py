"""The golden output: what a configuration must compute before it may have a latency.

The expected values come from an independent implementation that runs the source model; they never
come from trimtab.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import files
from trimtab.errors import WrongOutputError

Array = NDArray[Any]

TOLERANCE = 1e-4

# Of a network that computes in f16, or stores weights in it: a rounding is 2^-11 = 0.0005 of a
# value, and those of layers do not depend on each other. 50 layers with three roundings each that
# count (input, sum, output) give sqrt(150) * 0.0005 = 0.006 of the values' size; the cosine then is
# 1 - 0.006^2 / 2 = 0.99998. Roundings of what is a small difference of large numbers are relative
# to those.
HALF_TOLERANCE, HALF_COSINE = 1e-2, 0.9999

# An element that is small beside others of its output is the difference of large sums and has the
# rounding error of those: they count with this share.
SHARE_OF_LARGEST = 0.01

# Of quantized networks: how far an element may be off, and how many may be.
MOST_STEPS = 2
SHARE_OFF = 0.01


@dataclass(frozen=True)
class Golden:
    """Inputs of a network and the outputs that they must give, both in model order.

    `inputs`, `outputs`: arrays in the source model's layout (NCHW) and dtype. `oracle`: what made
    the outputs, with its version: "onnxruntime 1.31.1 (optimizations off)". `tolerance`:
    |actual - expected| <= tolerance * (1 + |expected| + max|expected| / 100), element by element;
    the maximum is over the output's finite elements. In `precision` f16 it is |actual - expected|
    <= tolerance * max|expected|, and the cosine of both is at least HALF_COSINE.

    `steps`: of each output of a quantized network, what one step of the integers is worth that it
    was made of last; 0 of others, or empty. Where sums of real numbers are rounded to integers,
    engines that add in another order differ by a step at times: one element of a hundred may, by
    `MOST_STEPS` at most.

    `others`: outputs of a quantized network by the other way to compute its definition, or empty:
    layers make more of one rounding, so that both ways may differ in more elements than that. An
    element is compared with the nearer of both.
    """

    inputs: Sequence[Array]
    outputs: Sequence[Array]
    output_names: Sequence[str]
    oracle: str
    tolerance: float = TOLERANCE
    precision: str = "f32"
    steps: Sequence[float] = ()
    others: Sequence[Array] = ()

    def within(self, precision: str) -> Golden:
        """The same for a program that computes, or stores weights, in `precision`."""
        tolerance = HALF_TOLERANCE if precision == "f16" else TOLERANCE
        return replace(self, precision=precision, tolerance=tolerance)

    def write_inputs(self, directory: Path) -> list[Path]:
        """Write the inputs as the runner reads them: raw, little-endian, one file each."""
        paths = []
        for index, array in enumerate(self.inputs):
            path = directory / f"in{index}.bin"
            files.write_bytes(path, _little_endian(array))
            paths.append(path)
        return paths


@dataclass(frozen=True)
class Agreement:
    """How far one output is from the expected one.

    `max_error` is the largest |actual - expected| / (1 + |expected| + max|expected| / 100), or of
    f16 / max|expected|, at flat index `at`; infinite where one side is not finite. `cosine`: of the
    angle between them.
    """

    name: str
    max_error: float
    at: int
    actual: float
    expected: float
    cosine: float = 1.0


def check(golden: Golden, index: int, raw: bytes) -> Agreement:
    """Compare output `index` as the runner wrote it; raises WrongOutputError."""
    expected = golden.outputs[index]
    name = golden.output_names[index]
    little = expected.dtype.newbyteorder("<")
    if len(raw) != expected.size * little.itemsize:
        raise WrongOutputError(
            f"{len(raw)} bytes were computed, {expected.size * little.itemsize} are expected "
            f"({expected.dtype}{list(expected.shape)})",
            where=f"output {name}",
            hint="the binary computes another network: build it again from this model",
        )
    half = golden.precision == "f16"
    actual = np.frombuffer(raw, little)
    expected = expected.reshape(-1)
    if golden.others:
        expected = _nearer(actual, expected, golden.others[index].reshape(-1))
    agreement = _compare(name, actual, expected, half)
    if half and agreement.cosine < HALF_COSINE:
        raise WrongOutputError(
            f"its cosine with what {golden.oracle} says is {agreement.cosine:.6f}, at least "
            f"{HALF_COSINE} is asked of f16",
            where=f"output {name}",
            hint="compute this network in f32: leave out --precision",
        )
    if not agreement.max_error <= golden.tolerance and not _within_steps(
        golden.steps[index] if golden.steps else 0.0, golden.tolerance, actual, expected
    ):
        raise WrongOutputError(
            f"element {agreement.at} is {agreement.actual:.8g}, {golden.oracle} says "
            f"{agreement.expected:.8g}; the largest error is {agreement.max_error:.3g}, "
            f"{golden.tolerance:g} is allowed",
            where=f"output {name}",
            hint="no latency is reported for a wrong result; find the operator with "
            "`./inv test --device`, or force TRIMTAB_ISA=portable to tell kernels from the rest",
        )
    return agreement


def _nearer(actual: Array, one: Array, other: Array) -> Array:
    """Of each element the value that `actual` is nearer to; `one` where it is as near."""
    a, b, c = (array.astype(np.float64) for array in (actual, one, other))
    with np.errstate(invalid="ignore"):
        return np.where((a == c) | (np.abs(a - c) < np.abs(a - b)), other, one)


def _compare(name: str, actual: Array, expected: Array, half: bool = False) -> Agreement:
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        largest = np.max(np.abs(e), where=np.isfinite(e), initial=0.0)
        scale = (largest or 1.0) if half else 1 + np.abs(e) + SHARE_OF_LARGEST * largest
        error = np.abs(a - e) / scale
        lengths = np.linalg.norm(a) * np.linalg.norm(e)
        cosine = float(a @ e / lengths) if np.isfinite(lengths) and lengths else 1.0
    same = (a == e) | (
        np.isnan(a) & np.isnan(e)
    )  # equal infinities are right, their difference is nan
    error = np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))
    at = int(np.argmax(error)) if error.size else 0
    if not error.size:
        return Agreement(name, 0.0, 0, 0.0, 0.0)
    return Agreement(name, float(error[at]), at, float(a[at]), float(e[at]), cosine)


def _within_steps(step: float, tolerance: float, actual: Array, expected: Array) -> bool:
    """Whether few elements are off, by few steps; never of an output that is not quantized."""
    if not step:
        return False
    off = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    rounding = tolerance * (1 + np.abs(expected.astype(np.float64)))
    count = int(np.count_nonzero(~(off <= rounding)))
    few = count <= max(1, int(SHARE_OFF * expected.size))
    return few and bool(np.all(off <= MOST_STEPS * step + rounding))


def last_steps(
    outputs: Iterable[str], operators: Iterable[tuple[Iterable[str], Iterable[str], float]]
) -> list[float]:
    """`steps` of a network: for each output the largest of what `operators` say that it is made of,
    looking back from it no further than to the first that says something.

    `operators`: operands, results, and what a step of the integers is worth that it reads as real
    numbers; 0 of one that does no such thing.
    """
    makers = {name: (xs, step) for xs, ys, step in operators for name in ys}
    return [_last_step(name, makers) for name in outputs]


def _last_step(output: str, makers: Mapping[str, tuple[Iterable[str], float]]) -> float:
    found, names, seen = 0.0, [output], {output}
    while names:
        operands, step = makers.get(names.pop(), ((), 0.0))
        found = max(found, step)
        new = [] if step else [name for name in operands if name not in seen]
        names += new
        seen |= set(new)
    return found


def _little_endian(array: Array) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
