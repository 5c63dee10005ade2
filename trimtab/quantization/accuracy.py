"""Compares the results of a program with those of the float32 program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.accuracy import Accuracy
from trimtab.heads import HeadRequest
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import boxes
from trimtab.quantization.samples import Samples
from trimtab.session import Session

Array = NDArray[Any]


def _renamed(
    results: Mapping[str, Array], names: Sequence[str], to: Sequence[str]
) -> Mapping[str, Array]:
    """The results of some names, by other names."""
    return {new: results[name] for name, new in zip(names, to, strict=True)}


class Reference:
    """The outputs of the float32 program for some samples; with a `head`, also its boxes."""

    def __init__(self, program: Program, samples: Samples, head: HeadRequest | None = None) -> None:
        self._program, self._samples, self._head = program, samples, head
        whole, names = boxes.with_boxes(program, head)
        session = Session(whole)
        results = [session.run(feed) for feed in samples]
        self._outputs = [_renamed(one, names, program.outputs) for one in results]
        self._boxes = [boxes.rows(one) for one in results]

    @property
    def outputs(self) -> Sequence[Mapping[str, Array]]:
        """The outputs of each sample by name."""
        return self._outputs

    @property
    def detected(self) -> Sequence[Array | None]:
        """The boxes of each sample, None without a head."""
        return self._boxes

    def compare(
        self, program: Program, progress: Progress = SILENT, plan: Plan | None = None
    ) -> Accuracy:
        """The accuracy of `program`, which has the same inputs and outputs, run by `plan`."""
        whole, names = boxes.with_boxes(program, self._head)
        session = Session(whole, plan=plan)
        deviations: list[Deviation] = []
        same_top1: list[bool] = []
        results: list[Mapping[str, Array]] = []
        detected: list[tuple[Array, Array]] = []
        first = self._program.outputs[0]
        with progress.step("comparing with float32", "samples") as step:
            for number, feed in enumerate(self._samples):
                expected, computed = self._outputs[number], session.run(feed)
                pair = self._boxes[number], boxes.rows(computed)
                if pair[0] is not None and pair[1] is not None:
                    detected.append((pair[0], pair[1]))
                actual = _renamed(computed, names, self._program.outputs)
                results.append(actual)
                deviations += [Deviation.of(expected[n], actual[n]) for n in self._program.outputs]
                if is_row(self._program.vars[first].shape):
                    same_top1.append(int(expected[first].argmax()) == int(actual[first].argmax()))
                step.update(number + 1, self._samples.count)
        not_finite = sum(one.not_finite for one in deviations)
        noises = noise(self._outputs, results).values()
        return Accuracy(
            self._samples.count,
            max(one.max_error for one in deviations),
            float(np.mean([one.mean_error for one in deviations])),
            float(np.mean([one.cosine for one in deviations])) if not not_finite else 0.0,
            float(np.mean(same_top1)) if same_top1 else None,
            max(noises, default=0.0) if not not_finite else math.inf,
            self._samples.is_seeded,
            not_finite,
            sum(one.elements for one in deviations),
            boxes.kept([a for a, _ in detected], [b for _, b in detected]),
            box_count=sum(len(a) for a, _ in detected),
        )


@dataclass(frozen=True)
class Deviation:
    """How an output differs from its reference: errors relative to the largest finite magnitude of
    the reference, and the cosine similarity, over the elements that are finite in the reference.
    `not_finite`: the elements, out of `elements`, of which one value is not finite and the other
    differs; any of them makes the errors infinite and the cosine 0.
    """

    max_error: float
    mean_error: float
    cosine: float
    not_finite: int
    elements: int

    @staticmethod
    def of(expected: Array, actual: Array) -> Deviation:
        """Compares two arrays of one shape."""
        a, b = (array.astype(np.float64).reshape(-1) for array in (expected, actual))
        finite = np.isfinite(a) & np.isfinite(b)
        same = finite | (a == b) | (np.isnan(a) & np.isnan(b))
        if not_finite := int(np.count_nonzero(~same)):
            return Deviation(math.inf, math.inf, 0.0, not_finite, a.size)
        a, b = a[finite], b[finite]
        error = np.abs(a - b) / (float(np.abs(a).max(initial=0.0)) or 1.0)
        mean = float(error.mean()) if error.size else 0.0
        return Deviation(float(error.max(initial=0.0)), mean, cosine(a, b), 0, same.size)


def compare(
    reference: Program,
    program: Program,
    samples: Samples,
    progress: Progress = SILENT,
    plan: Plan | None = None,
    head: HeadRequest | None = None,
) -> Accuracy:
    """The accuracy of `program` relative to `reference` on these samples."""
    return Reference(reference, samples, head).compare(program, progress, plan)


def noise(
    expected: Sequence[Mapping[str, Array]], results: Sequence[Mapping[str, Array]]
) -> dict[str, float]:
    """The noise of each output: the energy of its errors divided by the energy of its deviations
    from their mean, averaged over samples. Omits outputs that are constant on all samples, and
    elements that are not finite in both.
    """
    by_name = {}
    for name in expected[0]:
        rows = [(a[name].ravel(), b[name].ravel()) for a, b in zip(expected, results, strict=True)]
        if rows[0][0].size == 1:  # a scalar deviates only from the other samples
            rows = [(np.concatenate([a for a, _ in rows]), np.concatenate([b for _, b in rows]))]
        ratios = [ratio for a, b in rows if (ratio := _noise(a, b)) is not None]
        if ratios:
            by_name[name] = float(np.mean(ratios))
    return by_name


def _noise(expected: Array, actual: Array) -> float | None:
    """The noise of one sample; None if the expected values do not vary."""
    finite = np.isfinite(expected) & np.isfinite(actual)
    if not finite.all():
        expected, actual = expected[finite], actual[finite]
    if not expected.size:
        return None
    a = expected.astype(np.float64)
    error = float(np.square(a - actual).sum())
    a -= a.mean()
    variation = float(np.square(a).sum())
    return error / variation if variation > 0 else None


def cosine(a: Array, b: Array) -> float:
    """Cosine similarity of two vectors: 1 if they are equal, 0 if only one is zero."""
    if np.array_equal(a, b):
        return 1.0
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norms if norms else 0.0


def is_row(shape: tuple[int, ...]) -> bool:
    """True if a shape holds the scores of one image: only one dimension is longer than 1."""
    return sum(size > 1 for size in shape) == 1
