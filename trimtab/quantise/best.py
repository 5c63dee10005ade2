"""Which method of calibration ranges are by, where none was asked for: the one that loses least.

No method is the best for all networks, so several are tried. They are compared on samples that
ranges are of, as those held out shall tell the accuracy and nothing else. What an output loses is
the energy of its errors as a share of that of its deviations from their mean: errors count where an
output says something, the more the larger they are, and not against a constant that all places have
in common. Outputs have units of their own (scores, coordinates), so of several it is the geometric
mean. Samples that ranges are of hide what cutting off costs on others, so that a method which cuts
more has to be better by more than chance is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantise import rewrite
from trimtab.quantise.ranges import Ranges
from trimtab.quantise.samples import Samples
from trimtab.quantise.seen import Array
from trimtab.session import Session

TRIED = ("reach", "min_max", "norm", "mse", "percentile")  # those that cut off least first
_LOOKED_AT = 16  # samples
_ALIKE = 0.9  # a loss that is no smaller than that share of another is not less
_LEAST = 1e-12  # of a loss, where the geometric mean would forget all others

Outputs = Mapping[str, Array]


def best(
    program: Program, samples: Samples, candidates: Sequence[Ranges], progress: Progress = SILENT
) -> Ranges:
    """The first of the candidates by which the simplified float32 `program` in int8, with weights
    rounded to the nearest, loses hardly more than by any other.
    """
    feeds = [*_some(samples)]
    session = Session(program)
    wanted = [session.run(feed) for feed in feeds]
    losses: list[float] = []
    with progress.step("choosing the method", "methods") as step:
        for number, ranges in enumerate(candidates):
            step.update(number + 1, len(candidates), ranges.method)
            same = next((i for i, c in enumerate(candidates[:number]) if _alike(c, ranges)), None)
            if same is None:
                twin = Session(rewrite.quantised(program, ranges))
                losses.append(loss(wanted, [twin.run(feed) for feed in feeds]))
            else:
                losses.append(losses[same])
    told = ", ".join(f"{c.method} {x:.2e}" for c, x in zip(candidates, losses, strict=True))
    limit = min(losses) / _ALIKE
    chosen = next(c for c, x in zip(candidates, losses, strict=True) if x <= limit)
    progress.note(f"ranges by {chosen.method}, of what the outputs lose by each: {told}")
    return chosen


def loss(wanted: Sequence[Outputs], found: Sequence[Outputs]) -> float:
    """Of the outputs of a network on some samples, beside those that are wanted."""
    shares = []
    for name in wanted[0]:
        a, b = (np.stack([one[name].astype(np.float64) for one in all]) for all in (wanted, found))
        varied = float(np.square(a - a.mean()).sum())
        if varied > 0:
            shares.append(max(float(np.square(a - b).sum()) / varied, _LEAST))
    return float(np.exp(np.mean(np.log(shares)))) if shares else 0.0


def _some(samples: Samples) -> Samples:
    """Evenly from all, as neighbours are alike."""
    count = min(samples.count, _LOOKED_AT)
    return Samples(count, lambda i: samples.feed(i * samples.count // count))


def _alike(a: Ranges, b: Ranges) -> bool:
    return a.ranges == b.ranges
