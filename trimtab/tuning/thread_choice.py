"""The number of threads and the cores that run a network fastest, by measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trimtab.compare import paired
from trimtab.compare.paired import Effect
from trimtab.devices.control import sysfs
from trimtab.devices.control.topology import Topology
from trimtab.program import Program
from trimtab.tuning.clock import TimedBlock

MIN_GAIN = 0.02  # of the whole network; less is not worth another thread
BLOCKS = 9

MeasurePlacements = Callable[
    [Sequence[Program], Sequence[str], int, Callable[[TimedBlock], None]], None
]


@dataclass(frozen=True)
class Placement:
    """A number of threads, and the cores that they run on: "4-7"; "": those of the device's
    control.
    """

    threads: int
    cores: str = ""

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        return threads + (f" on cores {self.cores}" if self.cores else "")


@dataclass(frozen=True)
class PlacementTime:
    """The time of the rule's plan at a place, relative to the first one."""

    place: Placement
    effect: Effect
    is_chosen: bool


def placements(layout: Topology) -> list[Placement]:
    """The places to try, fewest threads first: powers of two up to the number of cores, of each
    cluster and of all together.
    """
    clusters = [cluster.cores for cluster in layout.clusters]
    groups = [(cores, sysfs.list_of(cores)) for cores in clusters]
    if len(groups) == 1:
        groups = [(clusters[0], "")]
    elif groups:
        groups.append((layout.cores, sysfs.list_of(layout.cores)))
    candidates = [
        Placement(count, name)
        for cores, name in groups
        for count in (1, 2, 4, 8, 16, 32, 64, len(cores))
        if count <= min(len(cores), 64)
    ]
    distinct = dict.fromkeys(candidates)
    return sorted(distinct, key=lambda place: place.threads) or [Placement(1)]


def choose(
    measure: MeasurePlacements, plan_for: Callable[[int], Program], candidates: Sequence[Placement]
) -> list[PlacementTime]:
    """Measures the rule's plan at every place, and chooses the one with the fewest threads that no
    other is measurably faster than by `MIN_GAIN`.
    """
    by_threads = {place.threads: plan_for(place.threads) for place in candidates}
    blocks: list[TimedBlock] = []
    measure(
        [by_threads[place.threads] for place in candidates],
        [place.cores for place in candidates],
        BLOCKS,
        blocks.append,
    )
    totals = [[[sum(block.times[i].values())] for block in blocks] for i in range(len(candidates))]
    best = 0
    for other in range(1, len(candidates)):
        effect = paired.effect(totals[best], totals[other])
        if effect.value < 1 and effect.exceeds(MIN_GAIN):
            best = other
    return [
        PlacementTime(place, paired.effect(totals[0], own), index == best)
        for index, (place, own) in enumerate(zip(candidates, totals, strict=True))
    ]
