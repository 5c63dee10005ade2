"""Compares the results of a program with those of the float32 program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.accuracy import Accuracy
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization.samples import Samples
from trimtab.session import Session

Array = NDArray[Any]


class Reference:
    """The outputs of the float32 program for some samples."""

    def __init__(self, program: Program, samples: Samples) -> None:
        self._program, self._samples = program, samples
        session = Session(program)
        self._outputs = [session.run(feed) for feed in samples]

    def compare(
        self, program: Program, progress: Progress = SILENT, plan: Plan | None = None
    ) -> Accuracy:
        """The accuracy of `program`, which has the same inputs and outputs, run by `plan`."""
        session = Session(program, plan=plan)
        errors: list[tuple[float, float]] = []
        cosines: list[float] = []
        same_top1: list[bool] = []
        results: list[Mapping[str, Array]] = []
        first = self._program.outputs[0]
        with progress.step("comparing with float32", "samples") as step:
            for number, feed in enumerate(self._samples):
                expected, actual = self._outputs[number], session.run(feed)
                results.append(actual)
                for name in self._program.outputs:
                    a = expected[name].astype(np.float64).reshape(-1)
                    b = actual[name].astype(np.float64).reshape(-1)
                    largest = float(np.abs(a).max(initial=0.0)) or 1.0
                    error = np.abs(a - b) / largest
                    mean = float(error.mean()) if error.size else 0.0
                    errors.append((float(error.max(initial=0.0)), mean))
                    cosines.append(cosine(a, b))
                if _is_row(self._program.vars[first].shape):
                    same_top1.append(int(expected[first].argmax()) == int(actual[first].argmax()))
                step.update(number + 1, self._samples.count)
        return Accuracy(
            self._samples.count,
            max(e for e, _ in errors),
            float(np.mean([e for _, e in errors])),
            float(np.mean(cosines)),
            float(np.mean(same_top1)) if same_top1 else None,
            max(noise(self._outputs, results).values(), default=0.0),
            self._samples.is_seeded,
        )


def compare(
    reference: Program,
    program: Program,
    samples: Samples,
    progress: Progress = SILENT,
    plan: Plan | None = None,
) -> Accuracy:
    """The accuracy of `program` relative to `reference` on these samples."""
    return Reference(reference, samples).compare(program, progress, plan)


def noise(
    expected: Sequence[Mapping[str, Array]], results: Sequence[Mapping[str, Array]]
) -> dict[str, float]:
    """The noise of each output: the energy of its errors divided by the energy of its deviations
    from their mean, averaged over samples. Omits outputs that are constant on all samples.
    """
    by_name = {}
    for name in expected[0]:
        a, b = (
            np.stack([sample[name].astype(np.float64).ravel() for sample in samples])
            for samples in (expected, results)
        )
        if a.shape[1] == 1:  # a scalar deviates only from the other samples
            a, b = a.T, b.T
        variation = np.square(a - a.mean(axis=1, keepdims=True)).sum(axis=1)
        varies = variation > 0
        if varies.any():
            relative = np.square(a - b).sum(axis=1)[varies] / variation[varies]
            by_name[name] = float(relative.mean())
    return by_name


def cosine(a: Array, b: Array) -> float:
    """Cosine similarity of two vectors: 1 if they are equal, 0 if only one is zero."""
    if np.array_equal(a, b):
        return 1.0
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norms if norms else 0.0


def _is_row(shape: tuple[int, ...]) -> bool:
    """True if a shape holds the scores of one image: only one dimension is longer than 1."""
    return sum(size > 1 for size in shape) == 1
