"""The golden output: the values that a binary must compute before its latency counts.

They come from an independent implementation that runs the source model, never from trimtab.
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

# For networks that compute in f16, or store weights in it. One rounding error is 2^-11 = 0.0005 of
# a value, and those of different layers are independent. 50 layers with three relevant roundings
# each (input, sum, output) accumulate sqrt(150) * 0.0005 = 0.006 of the values' size, which gives a
# cosine of 1 - 0.006^2 / 2 = 0.99998. Where values cancel, errors are relative to the operands.
HALF_TOLERANCE, HALF_COSINE = 1e-2, 0.9999

# A small element of an output with large ones is the difference of large sums, and has their
# rounding error. The largest element therefore enters the tolerance with this share.
SHARE_OF_LARGEST = 0.01

# For quantized networks: the largest error of an element, in quantization steps, and the largest
# share of elements that may have an error.
MAX_STEPS = 2
MAX_SHARE = 0.01


@dataclass(frozen=True)
class Golden:
    """Inputs of a network and the outputs that they must produce, both in model order.

    `inputs` and `outputs` are in the source model's layout (NCHW) and dtype. `oracle` names the
    engine that computed the outputs, such as "onnxruntime 1.31.1 (optimizations off)". The
    `tolerance` is element-wise:
    |actual - expected| <= tolerance * (1 + |expected| + max|expected| / 100), where the maximum is
    over the output's finite elements. In `precision` f16 it is
    |actual - expected| <= tolerance * max|expected|, and the cosine similarity must reach
    HALF_COSINE.

    `scales` hold, for each output of a quantized network, the scale of the last quantized values
    that it depends on; 0 for other outputs, or empty. Engines that add float32 values in another
    order round to a neighboring int8 value at times, so one element of a hundred may be off by up
    to `MAX_STEPS` steps.

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

    def within(self, precision: str) -> Golden:
        """The golden output with the tolerance of `precision`, for compute or for weights."""
        tolerance = HALF_TOLERANCE if precision == "f16" else TOLERANCE
        return replace(self, precision=precision, tolerance=tolerance)

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
    is finite. `cosine` is the cosine similarity.
    """

    name: str
    max_error: float
    at: int
    actual: float
    expected: float
    cosine: float = 1.0


def check(golden: Golden, index: int, raw: bytes) -> Agreement:
    """Compares output `index` as the runner wrote it. Raises WrongOutputError."""
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
    agreement = _compare(name, actual, expected, half)
    if half and agreement.cosine < HALF_COSINE:
        raise WrongOutputError(
            f"the cosine similarity to {golden.oracle} is {agreement.cosine:.6f}, f16 must reach "
            f"{HALF_COSINE}",
            where=f"output {name}",
            hint="compute this network in f32: leave out --precision",
        )
    if not agreement.max_error <= golden.tolerance and not _within_steps(
        golden.scales[index] if golden.scales else 0.0, golden.tolerance, actual, expected
    ):
        raise WrongOutputError(
            f"element {agreement.at} is {agreement.actual:.8g}, {golden.oracle} computes "
            f"{agreement.expected:.8g}; the largest error is {agreement.max_error:.3g}, "
            f"the tolerance {golden.tolerance:g}",
            where=f"output {name}",
            hint="a wrong result gets no latency; find the operator with `./inv test --device`, or "
            "set TRIMTAB_ISA=portable to see whether a kernel is the cause",
        )
    return agreement


def _nearer(actual: Array, one: Array, other: Array) -> Array:
    """Element-wise the expected value nearer to `actual`; `one` in a tie."""
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
    )  # equal infinities agree, although their difference is nan
    error = np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))
    at = int(np.argmax(error)) if error.size else 0
    if not error.size:
        return Agreement(name, 0.0, 0, 0.0, 0.0)
    return Agreement(name, float(error[at]), at, float(a[at]), float(e[at]), cosine)


def _within_steps(scale: float, tolerance: float, actual: Array, expected: Array) -> bool:
    """Whether few elements are off, by few steps of `scale`; False without a scale."""
    if not scale:
        return False
    error = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    rounding = tolerance * (1 + np.abs(expected.astype(np.float64)))
    count = int(np.count_nonzero(~(error <= rounding)))
    few = count <= max(1, int(MAX_SHARE * expected.size))
    return few and bool(np.all(error <= MAX_STEPS * scale + rounding))


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
