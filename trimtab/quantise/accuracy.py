"""How far a program's results are from those of the float32 program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantise.samples import Samples
from trimtab.session import Session


@dataclass(frozen=True)
class Accuracy:
    """Over all outputs of `samples` samples: `max_error` and `mean_error`, absolute, as shares of
    the largest magnitude of that output in float32; `cosine` of the angle between outputs, the
    mean; `top1`: in how many samples the largest element of the first output is the same, None
    where that output is no row of scores.
    """

    samples: int
    max_error: float
    mean_error: float
    cosine: float
    top1: float | None


def compare(
    reference: Program, program: Program, samples: Samples, progress: Progress = SILENT
) -> Accuracy:
    """`program` beside `reference`, which have the same inputs and outputs."""
    sessions = Session(reference), Session(program)
    errors: list[tuple[float, float]] = []
    cosines: list[float] = []
    same: list[bool] = []
    with progress.step("comparing with float32", "samples") as step:
        for number, feed in enumerate(samples):
            wanted, found = (session.run(feed) for session in sessions)
            for name in reference.outputs:
                a = wanted[name].astype(np.float64).reshape(-1)
                b = found[name].astype(np.float64).reshape(-1)
                largest = float(np.abs(a).max(initial=0.0)) or 1.0
                gap = np.abs(a - b) / largest
                errors.append((float(gap.max(initial=0.0)), float(gap.mean()) if gap.size else 0.0))
                cosines.append(_cosine(a, b))
            first = reference.outputs[0]
            if _is_row(reference.vars[first].shape):
                same.append(int(wanted[first].argmax()) == int(found[first].argmax()))
            step.update(number + 1, samples.count)
    return Accuracy(
        samples.count,
        max(e for e, _ in errors),
        float(np.mean([e for _, e in errors])),
        float(np.mean(cosines)),
        float(np.mean(same)) if same else None,
    )


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    if norms == 0:
        return 1.0 if np.array_equal(a, b) else 0.0
    return float(a @ b) / norms


def _is_row(shape: tuple[int, ...]) -> bool:
    """Whether a shape is one image's scores: one dimension alone is longer than 1."""
    return sum(size > 1 for size in shape) == 1
