"""Picks the calibration method with the smallest output error when the user names none.

No method is best for all networks, so several are tried. Errors are measured on samples that the
ranges do not come from, and the held-out samples only measure accuracy: therefore ranges of one
half of the calibration samples are tested on the other half, and for the two best methods also the
other way round. Half as many samples underestimate ranges, which is the safe side.

The error of an output is its noise: the energy of the error divided by the energy of the output's
deviations from their mean, averaged over samples. A constant that all elements share does not
count, and every sample has the same weight. Outputs have different units (scores, coordinates), so
the errors of several outputs are combined by their geometric mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

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
_FINALISTS = 2
_MAX_SAMPLES = 16
_MIN_NOISE = 1e-12  # a zero would dominate the geometric mean

Outputs = Mapping[str, Array]


def select_method(
    program: Program,
    expected: Sequence[Outputs],
    samples: Samples,
    ranges_of_half: Callable[[str, int], Ranges],
    progress: Progress = SILENT,
) -> str:
    """The first candidate with the smallest error of the equalized float32 `program` in int8, with
    weights rounded to nearest. `expected`: its outputs for each sample. `ranges_of_half(method,
    half)` calibrates on one half of the samples.
    """
    if samples.count < 2:  # there is no second half
        return CANDIDATES[0]
    # Evenly spread, because neighboring samples are similar.
    count = min(samples.count, _MAX_SAMPLES)
    indices = [i * samples.count // count for i in range(count)]
    nearest = Rounding({})
    results: dict[str, dict[int, Outputs]] = {}

    def error(name: str, half: int, ranges: Ranges) -> float:
        """The error of a method on all samples that it ran on, with those beyond a half."""
        plain = replace(ranges, factors={})
        twin = Session(insert_qdq.quantized(program, plain, rounding=nearest))
        others = [i for i in indices if samples.half(i) != half]
        results.setdefault(name, {}).update({i: twin.run(samples.feed(i)) for i in others})
        return mean_noise([expected[i] for i in results[name]], [*results[name].values()])

    with progress.step("choosing the method", "methods") as step:
        distinct: dict[str, Ranges] = {}
        for name in CANDIDATES:
            ranges = ranges_of_half(name, 0)
            if all(ranges.ranges != other.ranges for other in distinct.values()):
                distinct[name] = ranges
        first: dict[str, float] = {}
        for name, ranges in distinct.items():
            step.update(len(first) + 1, len(distinct) + _FINALISTS, name)
            first[name] = error(name, 0, ranges)
        finalists = sorted(first, key=first.__getitem__)[:_FINALISTS]
        errors: dict[str, float] = {}
        for name in finalists:
            step.update(len(first) + len(errors) + 1, len(distinct) + _FINALISTS, name)
            errors[name] = error(name, 1, ranges_of_half(name, 1))
    choice = min(errors, key=errors.__getitem__)
    progress.note(
        f"calibration method {choice}; noise of the outputs by method: {_listing(errors)}; on one "
        f"half of the samples: {_listing(first)}"
    )
    return choice


def mean_noise(expected: Sequence[Outputs], results: Sequence[Outputs]) -> float:
    """Geometric mean of the outputs' noise; `results` and `expected` have one entry per sample."""
    values = [max(value, _MIN_NOISE) for value in noise(expected, results).values()]
    return float(np.exp(np.mean(np.log(values)))) if values else 0.0


def _listing(errors: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {error:.2e}" for name, error in errors.items())
