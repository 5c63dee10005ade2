"""Interleaved launches: their order, and what comparisons of known answers find."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.compare.launch_noise import Machine
from trimtab.compare import paired
from trimtab.compare.paired import Effect
from trimtab.results import statistics, variation

FLOOR = 0.004


def effect(machine: Machine, count: int, factor: float, seed: int) -> Effect:
    a, b = machine.sides(paired.order(count, seed), factor)
    return paired.effect(
        [[variation.typical(launch) for launch in block] for block in a],
        [[variation.typical(launch) for launch in block] for block in b],
    )


# Published: Fisher and Yates, Statistical Tables, table III (two-sided, P = 0.01).
@pytest.mark.parametrize(
    ("degrees", "t"),
    [(1, 63.657), (2, 9.925), (3, 5.841), (4, 4.604), (5, 4.032), (10, 3.169), (29, 2.756)],
)
def test_student_s_t_is_that_of_the_tables(degrees: int, t: float) -> None:
    assert paired.student_t(0.99, degrees) == pytest.approx(t, abs=6e-4)


def test_a_block_is_abba_or_baab_by_the_coin_and_the_seed_gives_the_order_again() -> None:
    order = paired.order(40, seed=3)
    blocks = [order[i : i + 4] for i in range(0, len(order), 4)]
    assert len(blocks) == 20
    assert {tuple(side for side, _ in block) for block in blocks} == {(0, 1, 1, 0), (1, 0, 0, 1)}
    assert all({block for _, block in turns} == {i} for i, turns in enumerate(blocks))
    assert order == paired.order(40, seed=3) != paired.order(40, seed=4)
    assert len(paired.order(9, seed=1)) == 20, "an odd number is one more"


def test_a_block_of_more_arms_is_a_random_order_and_its_reverse() -> None:
    order = paired.order(60, seed=3, arms=3)
    blocks = [[side for side, _ in order[i : i + 6]] for i in range(0, len(order), 6)]
    assert len(blocks) == 30
    assert all(block == block[::-1] and {*block} == {0, 1, 2} for block in blocks)
    assert {block[0] for block in blocks} == {0, 1, 2}


def test_a_duet_swaps_its_cores_within_each_block() -> None:
    pairs = paired.duets(20, seed=1)
    assert len(pairs) == 20
    for (first, block), (second, same) in zip(pairs[::2], pairs[1::2], strict=True):
        assert (first, block) == (1 - second, same)


def test_the_ratio_is_that_of_the_blocks_and_a_steady_drift_moves_it_little() -> None:
    a: list[list[float]] = [[] for _ in range(20)]
    b: list[list[float]] = [[] for _ in range(20)]
    for turn, (side, block) in enumerate(paired.order(40, seed=5)):
        (b if side else a)[block].append((1.07 if side else 1.0) * 1.002**turn)
    assert b[-1][0] / a[0][0] > 1.2, "B's last launch is far from A's first"
    estimate = paired.effect(a, b)
    assert estimate.value == pytest.approx(1.07, abs=0.002)
    assert estimate.interval.high - estimate.interval.low < 0.01


def test_simultaneous_interference_cancels_in_a_duet() -> None:
    rng = np.random.default_rng(1)
    hits = rng.uniform(1, 3, (10, 2))
    a = [list(100 * hit) for hit in hits]
    b = [list(104 * hit) for hit in hits]
    estimate = paired.effect(a, b, is_duet=True)
    assert estimate.value == pytest.approx(1.04)
    assert estimate.interval.high - estimate.interval.low < 1e-9


def test_one_wild_block_of_ten_does_not_decide() -> None:
    a = [[100.0, 100.2], [100.3, 99.9]] * 5
    b = [[x * 1.05 for x in block] for block in a]
    b[3] = [900.0, 900.0]
    estimate = paired.effect(a, b)
    assert estimate.value == pytest.approx(1.05, abs=0.002)
    assert estimate.interval.high < 1.1


def test_the_interval_is_that_of_tukey_and_mclaughlin() -> None:
    """Ten blocks whose logarithms are 0, 1, ... 9 hundredths: two are trimmed at each end.

    Their winsorized values are 2, 2, 2, 3, 4, 5, 6, 7, 7, 7, whose squared distances from 4.5 are
    42.5; divided by h (h - 1) for the h = 6 values that remain, that is the squared error. The t of
    5 degrees is 4.0321 (Fisher and Yates, table III).
    """
    blocks = [8, 3, 0, 9, 5, 1, 7, 2, 6, 4]
    estimate = paired.effect([[2.0, 3.0]] * 10, [[9.0, 2 * math.exp(n / 100)] for n in blocks])
    error = math.sqrt(42.5 / (6 * 5)) / 100
    assert estimate.value == pytest.approx(math.exp(0.045))
    assert estimate.error == pytest.approx(error)
    assert estimate.interval.low == pytest.approx(math.exp(0.045 - 4.0321 * error), rel=1e-6)
    assert estimate.interval.high == pytest.approx(math.exp(0.045 + 4.0321 * error), rel=1e-6)


def test_the_interval_of_four_blocks_is_students() -> None:
    """None is trimmed: mean and standard error of 0, 2, 4, 6 hundredths, t of 3 degrees."""
    estimate = paired.effect([[1.0]] * 4, [[math.exp(n / 100)] for n in (0, 2, 4, 6)])
    error = math.sqrt(20 / 3 / 4) / 100
    assert estimate.error == pytest.approx(error)
    assert estimate.interval.high == pytest.approx(math.exp(0.03 + 5.8409 * error), rel=1e-6)


@pytest.mark.parametrize("load", [0.0, 1.0])
def test_equal_binaries_are_called_different_in_fewer_than_5_of_200_comparisons(
    load: float,
) -> None:
    alarms = sum(
        effect(Machine(seed, load=load), 10, 1.0, seed).exceeds(FLOOR) for seed in range(200)
    )
    assert alarms < 5


def test_pooled_runs_are_misled_by_the_noise_of_these_trials() -> None:
    alarms = 0
    for seed in range(60):
        machine = Machine(seed, load=1.0)
        a, b = ([machine.launch() for _ in range(10)] for _ in "AB")
        pooled = [[ns for launch in side for ns in launch] for side in (a, b)]
        ratio = statistics.compare([pooled[0]], [pooled[1]], are_counts=True)
        alarms += bool(ratio.is_real)
    assert alarms > 20


@pytest.mark.parametrize(("slower", "load"), [(0.03, 0.0), (0.10, 1.0)])
def test_planted_differences_are_detected_in_9_of_10_comparisons_of_30_launches(
    slower: float, load: float
) -> None:
    estimate = [effect(Machine(seed, load=load), 30, 1 + slower, seed) for seed in range(100)]
    assert sum(one.exceeds(FLOOR) and one.value > 1 for one in estimate) >= 90
    assert np.median([one.value for one in estimate]) == pytest.approx(1 + slower, abs=0.01)


def test_a_smaller_difference_needs_more_launches() -> None:
    estimate = effect(Machine(1), 10, 1.0, 1)
    needed = [estimate.launches_to_detect(share) for share in (0.5, 0.05, 0.01, 0.002)]
    assert needed == sorted(needed)
    assert needed[0] == 0 < needed[-1]
    assert all(count % 2 == 0 for count in needed)


def test_the_recommended_launches_detect_the_difference() -> None:
    detected = []
    for seed in range(60):
        estimate = effect(Machine(seed), 10, 1.0, seed)
        count = 10 + estimate.launches_to_detect(0.02)
        again = effect(Machine(1000 + seed), count, 1.0, seed)
        detected.append(again.interval.high / again.value - 1 < 0.02)
    assert sum(detected) > 30, "about so many: more often than not they do"
