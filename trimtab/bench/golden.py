"""The golden output: the values that a binary must compute before its latency counts.

They come from an independent implementation that runs the source model, never from trimtab.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import files
from trimtab.errors import WrongOutputError

Array = NDArray[Any]

TOLERANCE = 1e-4

# What f16 may cost every network: one rounding error is 2^-11 = 0.0005 of a value, and those of
# different layers are independent. 50 layers with three relevant roundings each (input, sum,
# output) accumulate sqrt(150) * 0.0005 = 0.006 of the values' size, which gives a cosine of
# 1 - 0.006^2 / 2 = 0.99998.
HALF_TOLERANCE, HALF_COSINE = 1e-2, 0.9999

# Where values cancel, errors are relative to the operands, and a network may amplify them further.
# What rounding to f16 costs such a network is simulated (`RoundingLoss`). The simulation rounds
# what is stored; the kernels of a device also round sums, 64 products one after the other and then
# those n / 64 sums, which grows as sqrt(64 + n / 64): 12 for 3x3 windows of 512 channels. Their
# errors may be this many times as large, and 1 - cosine, which grows with the square of an error,
# the square of that.
HALF_FACTOR = 12

# Where a quantized network computes in float32 between int8 values, another order of its sums
# rounds some of these to a neighbor, and later layers may amplify that. Two right programs of this
# machine are compared (`RoundingLoss`). If these differ by one rounding, others differ by less
# than 12 on average (99.99 %, Poisson), whose errors add up to sqrt(12) times that of one.
FLIP_FACTOR = 4

# No bound is weaker: beyond these an output has nothing in common with its reference.
WEAKEST_TOLERANCE, WEAKEST_COSINE = 0.5, 0.9

# A small element of an output with large ones is the difference of large sums, and has their
# rounding error. The largest element therefore enters the tolerance with this share.
SHARE_OF_LARGEST = 0.01

# For quantized networks: the largest error of an element, in quantization steps, and the largest
# share of elements that may have an error.
MAX_STEPS = 2
MAX_SHARE = 0.01


@dataclass(frozen=True)
class RoundingLoss:
    """Loss of an output by rounding alone, as simulated on this machine: the largest error relative
    to the largest magnitude, and the cosine similarity, of the network with and without f16, or of
    a quantized one by two orders of its float32 sums.
    """

    max_error: float
    cosine: float


@dataclass(frozen=True)
class Bound:
    """Limits of a right output: an upper bound of `Agreement.max_error`, and in f16 a lower bound
    of the cosine similarity; `rule` says where both are from.
    """

    max_error: float
    cosine: float
    rule: str


@dataclass(frozen=True)
class Golden:
    """Inputs of a network and the outputs that they must produce, both in model order.

    `inputs` and `outputs` are in the source model's layout (NCHW) and dtype. `oracle` names the
    engine that computed the outputs, such as "onnxruntime 1.31.1 (optimizations off)". The
    `tolerance` is element-wise:
    |actual - expected| <= tolerance * (1 + |expected| + max|expected| / 100), where the maximum is
    over the output's finite elements. In `precision` f16 it is
    |actual - expected| <= tolerance * max|expected|, the cosine similarity must reach HALF_COSINE,
    and both are weakened by the `rounding` of each output, if that is known (`bound`).

    `scales` hold, for each output of a quantized network, the scale of the last quantized values
    that it depends on; 0 for other outputs, or empty. Engines that add float32 values in another
    order round to a neighboring int8 value at times, so one element of a hundred may be off by up
    to `MAX_STEPS` steps. If the `rounding` of such an output is known, it may have `FLIP_FACTOR`
    times that error instead.

    `others` are the outputs of a quantized network in its other form (int8 or QDQ), or empty. Later
    layers amplify a single rounding difference, so the two forms may differ in more elements than
    allowed. Each element is compared with the nearer of both values.
    """

    inputs: Sequence[Array]
    outputs: Sequence[Array]
    output_names: Sequence[str]
    oracle: str
    tolerance: float = TOLERANCE
    precision: str = "f32"
    scales: Sequence[float] = ()
    others: Sequence[Array] = ()
    rounding: Sequence[RoundingLoss] = ()

    @property
    def is_exact(self) -> bool:
        """Whether outputs are those of float32: one that is wrong is then a defect, not a loss."""
        return self.precision == "f32" and not any(self.scales) and not self.others

    def bound(self, index: int) -> Bound:
        """The limits of output `index`."""
        if self.precision != "f16":
            has_steps = bool(self.scales and self.scales[index])
            rule = "rounding of float32 sums"
            if has_steps:
                rule += f", or {MAX_STEPS} steps of its last scale in {MAX_SHARE:.0%}"
            if has_steps and self.rounding and (loss := self.rounding[index].max_error):
                rule += f", or {FLIP_FACTOR} times the {loss:.2g} of two right programs here"
            return Bound(self.tolerance, -1.0, rule)
        if not self.rounding:
            return Bound(self.tolerance, HALF_COSINE, "f16, 50 layers with independent roundings")
        one = self.rounding[index]
        error = max(self.tolerance, HALF_FACTOR * one.max_error)
        loss = max(1 - HALF_COSINE, HALF_FACTOR**2 * (1 - one.cosine))
        return Bound(
            min(error, WEAKEST_TOLERANCE),
            max(1 - loss, WEAKEST_COSINE),
            f"f16, {HALF_FACTOR} times the simulated rounding (largest error {one.max_error:.2g}, "
            f"cosine {one.cosine:.6f}), and at least that of 50 layers",
        )

    def within(self, precision: str) -> Golden:
        """The golden output with the tolerance of `precision`, for compute or for weights."""
        tolerance = HALF_TOLERANCE if precision == "f16" else TOLERANCE
        return replace(self, precision=precision, tolerance=tolerance)

    def without(self, names: Collection[str]) -> Golden:
        """The golden output without the outputs of these names, unless there are no others."""
        left = [i for i, name in enumerate(self.output_names) if name not in names]
        if not names or not left:
            return self

        def those(values: Sequence[Any]) -> list[Any]:
            return [values[i] for i in left] if values else []

        return replace(
            self,
            outputs=those(self.outputs),
            output_names=those(self.output_names),
            scales=those(self.scales),
            others=those(self.others),
            rounding=those(self.rounding),
        )

    def write_inputs(self, directory: Path) -> list[Path]:
        """Writes each input as the runner reads it: one raw little-endian file."""
        paths = []
        for index, array in enumerate(self.inputs):
            path = directory / f"in{index}.bin"
            files.write_bytes(path, _little_endian(array))
            paths.append(path)
        return paths


@dataclass(frozen=True)
class Agreement:
    """The difference between one output and its expected values.

    `max_error` is the largest |actual - expected| / (1 + |expected| + max|expected| / 100), in f16
    the largest |actual - expected| / max|expected|, at flat index `at`; infinite if only one value
    is finite. `cosine` is the cosine similarity. `bound`: what both were compared with; `wrong`:
    the reason why the output is not right, "" if it is.
    """

    name: str
    max_error: float
    at: int
    actual: float
    expected: float
    cosine: float = 1.0
    bound: Bound | None = None
    wrong: str = ""


def check(golden: Golden, index: int, raw: bytes) -> Agreement:
    """Compares output `index` as the runner wrote it; WrongOutputError if it is not right."""
    agreement = compare(golden, index, raw)
    if agreement.wrong:
        raise wrong_output(agreement)
    return agreement


def wrong_output(agreement: Agreement) -> WrongOutputError:
    """The error of an output that is not right."""
    return WrongOutputError(
        agreement.wrong,
        where=f"output {agreement.name}",
        hint="find the operator with `./inv test --device`, or set TRIMTAB_ISA=portable to see "
        "whether a kernel is the cause; --accept-wrong measures it all the same, and marks it",
    )


def compare(golden: Golden, index: int, raw: bytes) -> Agreement:
    """Compares output `index` as the runner wrote it, with its bound. Raises WrongOutputError if it
    has another size.
    """
    expected = golden.outputs[index]
    name = golden.output_names[index]
    little = expected.dtype.newbyteorder("<")
    if len(raw) != expected.size * little.itemsize:
        raise WrongOutputError(
            f"the output has {len(raw)} bytes instead of {expected.size * little.itemsize} "
            f"({expected.dtype}{list(expected.shape)})",
            where=f"output {name}",
            hint="the binary computes another network: build it again from this model",
        )
    half = golden.precision == "f16"
    actual = np.frombuffer(raw, little)
    expected = expected.reshape(-1)
    if golden.others:
        expected = _nearer(actual, expected, golden.others[index].reshape(-1))
    bound = golden.bound(index)
    agreement = replace(_compare(name, actual, expected, half), bound=bound)
    if half and agreement.cosine < bound.cosine:
        wrong = (
            f"the cosine similarity to {golden.oracle} is {agreement.cosine:.6f}, the bound "
            f"{bound.cosine:.6f} ({bound.rule})"
        )
        return replace(agreement, wrong=wrong)
    scale = golden.scales[index] if golden.scales else 0.0
    losses = golden.rounding[index : index + 1] if scale else ()
    if not (
        agreement.max_error <= bound.max_error
        or _within_steps(scale, golden.tolerance, actual, expected)
        or any(_within_flips(loss, actual, expected) for loss in losses)
    ):
        wrong = (
            f"element {agreement.at} is {agreement.actual:.8g}, {golden.oracle} computes "
            f"{agreement.expected:.8g}; the largest error is {agreement.max_error:.3g}, "
            f"the tolerance {bound.max_error:g} ({bound.rule})"
        )
        return replace(agreement, wrong=wrong)
    return agreement


def _nearer(actual: Array, first: Array, second: Array) -> Array:
    """Element-wise the expected value nearer to `actual`; `first` in a tie."""
    a, b, c = (array.astype(np.float64) for array in (actual, first, second))
    with np.errstate(invalid="ignore"):
        return np.where((a == c) | (np.abs(a - c) < np.abs(a - b)), second, first)


def _compare(name: str, actual: Array, expected: Array, half: bool = False) -> Agreement:
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        largest = np.max(np.abs(e), where=np.isfinite(e), initial=0.0)
        scale = (largest or 1.0) if half else 1 + np.abs(e) + SHARE_OF_LARGEST * largest
        error = np.abs(a - e) / scale
    same = (a == e) | (
        np.isnan(a) & np.isnan(e)
    )  # equal infinities agree, although their difference is nan
    error = np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))
    at = int(np.argmax(error)) if error.size else 0
    if not error.size:
        return Agreement(name, 0.0, 0, 0.0, 0.0)
    cosine = _cosine(a, e, same)
    return Agreement(name, float(error[at]), at, float(a[at]), float(e[at]), cosine)


def _cosine(a: Array, e: Array, same: NDArray[np.bool_]) -> float:
    """The cosine similarity of the elements that are finite in both; 0 if any is finite in only
    one, or infinite with different signs.
    """
    finite = np.isfinite(a) & np.isfinite(e)
    if not (finite | same).all():
        return 0.0
    a, e = a[finite], e[finite]
    lengths = np.linalg.norm(a) * np.linalg.norm(e)
    return float(a @ e / lengths) if lengths else 1.0


def _within_steps(scale: float, tolerance: float, actual: Array, expected: Array) -> bool:
    """Whether few elements are off, by few steps of `scale`; False without a scale."""
    if not scale:
        return False
    error = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    rounding = tolerance * (1 + np.abs(expected.astype(np.float64)))
    count = int(np.count_nonzero(~(error <= rounding)))
    few = count <= max(1, int(MAX_SHARE * expected.size))
    return few and bool(np.all(error <= MAX_STEPS * scale + rounding))


def _within_flips(loss: RoundingLoss, actual: Array, expected: Array) -> bool:
    """Whether an output of a quantized network is off by what other roundings cost it."""
    one = _compare("", actual, expected, half=True)
    error = min(FLIP_FACTOR * loss.max_error, WEAKEST_TOLERANCE)
    cosine = max(1 - FLIP_FACTOR**2 * (1 - loss.cosine), WEAKEST_COSINE)
    return loss.max_error > 0 and one.max_error <= error and one.cosine >= cosine


def output_scales(
    outputs: Iterable[str], operators: Iterable[tuple[Iterable[str], Iterable[str], float]]
) -> list[float]:
    """`Golden.scales` of a network.

    `operators` are (inputs, outputs, scale) with the scale of the int8 values that an operator
    dequantizes, 0 if it dequantizes none. The search goes back from each output to the nearest
    dequantizations, and takes their largest scale.
    """
    producers = {name: (xs, scale) for xs, ys, scale in operators for name in ys}
    return [_output_scale(name, producers) for name in outputs]


def _output_scale(output: str, producers: Mapping[str, tuple[Iterable[str], float]]) -> float:
    largest, pending, visited = 0.0, [output], {output}
    while pending:
        inputs, scale = producers.get(pending.pop(), ((), 0.0))
        largest = max(largest, scale)
        new = [] if scale else [name for name in inputs if name not in visited]
        pending += new
        visited |= set(new)
    return largest


def _little_endian(array: Array) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
