"""The choice of threads and cores."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from tests.tuning.networks import by_rule, convolutions
from trimtab.devices.control.topology import CoreCluster, Topology
from trimtab.program import Program
from trimtab.tuning.clock import TimedBlock
from trimtab.tuning.thread_choice import Placement, choose, placements

BIG_LITTLE = Topology((CoreCluster("little", (0, 1, 2, 3), 400), CoreCluster("big", (4, 5), 1024)))


def test_equal_cores_differ_in_their_number_only() -> None:
    layout = Topology((CoreCluster("all", (0, 1, 2, 3, 4, 5), None),))
    assert placements(layout) == [Placement(1), Placement(2), Placement(4), Placement(6)]


def test_every_cluster_and_all_cores_are_tried() -> None:
    result = placements(BIG_LITTLE)
    assert Placement(2, "4-5") in result
    assert Placement(4, "0-3") in result
    assert Placement(6, "0-5") in result
    assert Placement(4, "4-5") not in result


def test_a_device_that_lists_no_cores_runs_one_thread() -> None:
    assert placements(Topology(())) == [Placement(1)]


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        ({Placement(1): 100.0, Placement(2): 60.0, Placement(4): 40.0}, Placement(4)),
        ({Placement(1): 100.0, Placement(2): 99.5, Placement(4): 99.0}, Placement(1)),
        ({Placement(1): 100.0, Placement(2): 60.0, Placement(4): 90.0}, Placement(2)),
        (
            {Placement(1, "0-3"): 300.0, Placement(1, "4-5"): 100.0, Placement(4, "0-3"): 110.0},
            Placement(1, "4-5"),
        ),
    ],
)
def test_the_fewest_threads_that_nothing_beats_are_chosen(
    times: dict[Placement, float], chosen: Placement
) -> None:
    coin = random.Random(1)
    candidates = [*times]

    def measure(
        programs: Sequence[Program],
        cores: Sequence[str],
        blocks: int,
        finished: Callable[[TimedBlock], None],
    ) -> None:
        assert cores == [place.cores for place in candidates]
        for _ in range(blocks):
            level = coin.lognormvariate(0, 0.1)
            values = (times[p] * level * coin.lognormvariate(0, 0.01) for p in candidates)
            finished(TimedBlock.of([{0: value} for value in values]))

    plan = by_rule(convolutions((8, 8, 1))).planned
    result = choose(measure, lambda threads: plan, candidates)
    assert [one.place for one in result if one.is_chosen] == [chosen]
    assert result[0].effect.value == 1
