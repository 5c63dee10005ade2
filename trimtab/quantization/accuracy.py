"""Compares a program's results with those of the float32 program."""

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
    """What the float32 program makes of samples."""

    def __init__(self, program: Program, samples: Samples) -> None:
        self._program, self._samples = program, samples
        session = Session(program)
        self._outputs = [session.run(feed) for feed in samples]

    def compare(
        self, program: Program, progress: Progress = SILENT, plan: Plan | None = None
    ) -> Accuracy:
        """`program`, which has the same inputs and outputs, beside it. `plan`: what is decided for
        that, such as the type that it computes in.
        """
        session = Session(program, plan=plan)
        errors: list[tuple[float, float]] = []
        cosines: list[float] = []
        same: list[bool] = []
        results: list[Mapping[str, Array]] = []
        first = self._program.outputs[0]
        with progress.step("comparing with float32", "samples") as step:
            for number, feed in enumerate(self._samples):
                wanted, found = self._outputs[number], session.run(feed)
                results.append(found)
                for name in self._program.outputs:
                    a = wanted[name].astype(np.float64).reshape(-1)
                    b = found[name].astype(np.float64).reshape(-1)
                    largest = float(np.abs(a).max(initial=0.0)) or 1.0
                    gap = np.abs(a - b) / largest
                    mean = float(gap.mean()) if gap.size else 0.0
                    errors.append((float(gap.max(initial=0.0)), mean))
                    cosines.append(cosine(a, b))
                if _is_row(self._program.vars[first].shape):
                    same.append(int(wanted[first].argmax()) == int(found[first].argmax()))
                step.update(number + 1, self._samples.count)
        return Accuracy(
            self._samples.count,
            max(e for e, _ in errors),
            float(np.mean([e for _, e in errors])),
            float(np.mean(cosines)),
            float(np.mean(same)) if same else None,
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
    """`program` beside `reference` on these samples, as `Reference.compare`."""
    return Reference(reference, samples).compare(program, progress, plan)


def noise(
    wanted: Sequence[Mapping[str, Array]], found: Sequence[Mapping[str, Array]]
) -> dict[str, float]:
    """Of each output that says something on some samples: the energy of its errors as a share of
    that of its deviations from their mean, the mean of samples.
    """
    shares = {}
    for name in wanted[0]:
        a, b = (
            np.stack([one[name].astype(np.float64).ravel() for one in all_])
            for all_ in (wanted, found)
        )
        if a.shape[1] == 1:  # it deviates from other samples' alone
            a, b = a.T, b.T
        varied = np.square(a - a.mean(axis=1, keepdims=True)).sum(axis=1)
        says = varied > 0
        if says.any():
            lost = np.square(a - b).sum(axis=1)[says] / varied[says]
            shares[name] = float(lost.mean())
    return shares


def cosine(a: Array, b: Array) -> float:
    """Of the angle between two vectors; 1 where both are the same, 0 where one alone is 0."""
    if np.array_equal(a, b):
        return 1.0
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norms if norms else 0.0


def _is_row(shape: tuple[int, ...]) -> bool:
    """Whether a shape is one image's scores: one dimension alone is longer than 1."""
    return sum(size > 1 for size in shape) == 1
