"""Picks the calibration method with the smallest output error when the user names none.

No method is best for all networks, so several are tried. Errors are measured on samples that the
ranges do not come from, and the held-out samples only measure accuracy: therefore ranges of either
half of the calibration samples are tested on the other half. Half as many samples underestimate
ranges, which is the safe side.

The error of an output is its noise: the energy of the error divided by the energy of the output's
deviations from their mean, averaged over samples. A constant that all elements share does not
count, and every sample has the same weight. Outputs have different units (scores, coordinates), so
the errors of several outputs are combined by their geometric mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import insert_qdq
from trimtab.quantization.accuracy import noise
from trimtab.quantization.adaptive_rounding import Rounding
from trimtab.quantization.observer import Array
from trimtab.quantization.ranges import Ranges
from trimtab.quantization.samples import Samples
from trimtab.session import Session

CANDIDATES = ("activation_aware", "min_max", "endpoint", "norm", "mse", "percentile")
_MAX_SAMPLES = 16
_MIN_NOISE = 1e-12  # a zero would dominate the geometric mean

Outputs = Mapping[str, Array]


def select_method(
    program: Program,
    samples: Samples,
    ranges_of_half: Callable[[str, int], Ranges],
    progress: Progress = SILENT,
) -> str:
    """The first candidate with the smallest error of the simplified float32 `program` in int8, with
    weights rounded to nearest. `ranges_of_half(method, half)` calibrates on one half of the
    samples.
    """
    if samples.count < 2:  # there is no second half
        return CANDIDATES[0]
    # Evenly spread, because neighboring samples are similar.
    count = min(samples.count, _MAX_SAMPLES)
    indices = [i * samples.count // count for i in range(count)]
    session, nearest = Session(program), Rounding({})
    expected = [session.run(samples.feed(i)) for i in indices]
    errors: dict[str, float] = {}
    ranges: dict[str, list[Ranges]] = {}
    with progress.step("choosing the method", "methods") as step:
        for number, name in enumerate(CANDIDATES):
            step.update(number + 1, len(CANDIDATES), name)
            ranges[name] = [ranges_of_half(name, half) for half in (0, 1)]
            same = next(other for other in ranges if _are_equal(ranges[other], ranges[name]))
            if same in errors:
                errors[name] = errors[same]
                continue
            twins = [
                Session(insert_qdq.quantized(program, half, rounding=nearest))
                for half in ranges[name]
            ]
            results = [twins[1 - samples.half(i)].run(samples.feed(i)) for i in indices]
            errors[name] = mean_noise(expected, results)
    choice = min(errors, key=errors.__getitem__)
    listing = ", ".join(f"{name} {error:.2e}" for name, error in errors.items())
    progress.note(f"calibration method {choice}; noise of the outputs by method: {listing}")
    return choice


def mean_noise(expected: Sequence[Outputs], results: Sequence[Outputs]) -> float:
    """Geometric mean of the outputs' noise; `results` and `expected` have one entry per sample."""
    values = [max(value, _MIN_NOISE) for value in noise(expected, results).values()]
    return float(np.exp(np.mean(np.log(values)))) if values else 0.0


def _are_equal(a: Sequence[Ranges], b: Sequence[Ranges]) -> bool:
    return [one.ranges for one in a] == [one.ranges for one in b]
