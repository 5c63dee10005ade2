"""Which method of calibration ranges are by, where none was asked for: the one that loses least.

No method is the best for all networks, so several are tried. What they cut off is seen on other
samples than those that ranges are of, but those held out shall tell the accuracy and nothing else:
so ranges are taken of either half of the samples, and tried on the other one. Half as many samples
reach less far, which is on the safe side where there are few.

What an output loses on a sample is the energy of its errors as a share of that of its deviations
from their mean: errors count where an output says something, the more the larger they are, and not
against a constant that all places have in common. Samples count alike, or the one with the largest
outputs would decide alone. Outputs have units of their own (scores, coordinates), so of several it
is the geometric mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import insert_qdq
from trimtab.quantization.accuracy import noise
from trimtab.quantization.observer import Array
from trimtab.quantization.ranges import Ranges
from trimtab.quantization.samples import Samples
from trimtab.session import Session

TRIED = ("activation_aware", "min_max", "endpoint", "norm", "mse", "percentile")
_LOOKED_AT = 16  # samples
_LEAST = 1e-12  # of a loss, where the geometric mean would forget all others

Outputs = Mapping[str, Array]


def best(
    program: Program,
    samples: Samples,
    ranges: Callable[[str, int], Ranges],
    progress: Progress = SILENT,
) -> str:
    """The first of the methods by which the simplified float32 `program` in int8, with weights
    rounded to the nearest, loses least. `ranges`: by a method, of one half of the samples.
    """
    if samples.count < 2:  # there is no other sample
        return TRIED[0]
    # Evenly from all, as neighbors are alike.
    count = min(samples.count, _LOOKED_AT)
    looked_at = [i * samples.count // count for i in range(count)]
    session = Session(program)
    wanted = [session.run(samples.feed(i)) for i in looked_at]
    losses: dict[str, float] = {}
    made: dict[str, list[Ranges]] = {}
    with progress.step("choosing the method", "methods") as step:
        for number, name in enumerate(TRIED):
            step.update(number + 1, len(TRIED), name)
            made[name] = [ranges(name, half) for half in (0, 1)]
            same = next(other for other in made if _alike(made[other], made[name]))
            if same in losses:
                losses[name] = losses[same]
                continue
            twins = [Session(insert_qdq.quantized(program, one)) for one in made[name]]
            found = [twins[1 - samples.half(i)].run(samples.feed(i)) for i in looked_at]
            losses[name] = loss(wanted, found)
    chosen = min(losses, key=losses.__getitem__)
    told = ", ".join(f"{name} {lost:.2e}" for name, lost in losses.items())
    progress.note(f"ranges by {chosen}, of what the outputs lose by each: {told}")
    return chosen


def loss(wanted: Sequence[Outputs], found: Sequence[Outputs]) -> float:
    """Of the outputs of a network on some samples, beside those that are wanted."""
    shares = [max(share, _LEAST) for share in noise(wanted, found).values()]
    return float(np.exp(np.mean(np.log(shares)))) if shares else 0.0


def _alike(a: Sequence[Ranges], b: Sequence[Ranges]) -> bool:
    return [one.ranges for one in a] == [one.ranges for one in b]
