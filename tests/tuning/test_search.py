"""The search, with a clock whose times are known."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.planner.test_planner import A53
from tests.tuning.fake_clock import Cost, FakeClock
from tests.tuning.networks import algorithms_of, by_rule, convolutions
from trimtab.errors import WrongOutputError
from trimtab.planner import algorithms, planner
from trimtab.planner.alternatives import Alternative
from trimtab.planner.plan_file import Plan
from trimtab.program import Op, Program
from trimtab.tuning import confirmation, in_process
from trimtab.tuning.clock import WrongPlanError
from trimtab.tuning.confirmation import Change
from trimtab.tuning.contests import Contest
from trimtab.tuning.layers import Named
from trimtab.tuning.search import PlanSearch, SearchResult
from trimtab.tuning.timings import Timings

THREE = ((64, 64, 3), (64, 128, 1), (128, 64, 3))


def search(
    clock: FakeClock, path: Path | None = None, seconds: float = 60, **rule: object
) -> SearchResult:
    plan = by_rule(convolutions(*THREE), **rule)  # type: ignore[arg-type]
    return PlanSearch(plan, clock, Timings(path), seconds).run()


def algorithm(op: Op) -> str:
    own = algorithms.algorithm_of(op)
    return own.name if own else ""


def faster(name: str, factor: float = 0.7) -> Cost:
    """Every operator takes a millisecond, one with this algorithm or kernel less."""

    def cost(op: Op) -> float:
        names = (algorithm(op), op.attributes.get("kernel"))
        return 1e6 * (factor if name in names else 1.0)

    return cost


def test_the_fastest_algorithm_replaces_that_of_the_rule() -> None:
    rule = by_rule(convolutions(*THREE))
    assert "winograd_5" not in algorithms_of(rule)
    result = search(FakeClock(faster("winograd_5"), noise=0.01))
    assert algorithms_of(result.plan) == ["winograd_5", "direct", "winograd_5"]
    assert result.is_complete
    for change in result.changes:
        assert change.effect.value == pytest.approx(0.7, rel=0.05)
        assert change.effect.interval.high < 1
        assert change.is_kept


def test_a_better_block_size_is_found() -> None:
    rule = by_rule(convolutions(*THREE))
    tiles = [op.attributes.get("call_tiles") for op in rule.planned.steps]
    better = {size // 2 for size in tiles if size and size > 1}

    def cost(op: Op) -> float:
        return 1e6 * (0.8 if op.attributes.get("call_tiles") in better else 1.0)

    result = search(FakeClock(cost, noise=0.01))
    assert result.changes
    for change in result.changes:
        assert change.before != change.after


def test_the_plan_file_of_the_result_gives_the_measured_program() -> None:
    result = search(FakeClock(faster("winograd_5"), noise=0.01))
    again = planner.plan(result.rule.program, result.rule.target, result.plan.as_plan())
    assert [(op.type, op.attributes) for op in again.ops] == [
        (op.type, op.attributes) for op in result.plan.planned.ops
    ]


@pytest.mark.parametrize("seed", range(12))
def test_noise_alone_changes_nothing(seed: int) -> None:
    result = search(FakeClock(lambda op: 1e6, noise=0.03, seed=seed))
    assert result.plan.choices == result.rule.choices
    assert not result.changes
    assert result.measured > 20


def test_two_searches_of_a_noisy_device_find_plans_of_one_time() -> None:
    cost = faster("winograd_5", 0.9)
    totals = []
    for seed in (1, 2):
        result = search(FakeClock(cost, noise=0.02, seed=seed))
        totals.append(sum(map(cost, result.plan.planned.steps)))
    assert totals[0] == pytest.approx(totals[1])


def test_a_difference_that_is_not_confirmed_is_reverted() -> None:
    """The clock flatters an alternative until rule and result are compared alone."""
    clock = FakeClock(faster("winograd_5"), noise=0.005)

    class ThenHonest(PlanSearch):
        def _confirm(self) -> list[Change]:
            clock.cost = lambda op: 1e6
            return super()._confirm()

    result = ThenHonest(by_rule(convolutions(*THREE)), clock, Timings(), 60).run()
    assert result.alternatives[0].effect.value < 0.8
    assert not result.changes
    assert result.plan.choices == result.rule.choices


def test_a_kernel_that_saves_less_than_its_bytes_are_worth_is_not_carried() -> None:
    """Strassen's operator and kernels are five kilobytes: half a percent of the time is not worth
    them, a tenth is.
    """
    carried = {}
    for factor in (0.985, 0.7):
        result = search(FakeClock(faster("strassen", factor), noise=0.0005))
        assert result.alternatives[0].effect.interval.high < 1, "the difference is measurable"
        carried[factor] = algorithms_of(result.plan)[1]
    assert carried == {0.985: "direct", 0.7: "strassen"}


def test_bytes_count_more_when_the_plan_prefers_size() -> None:
    clock = FakeClock(faster("strassen", 0.8), noise=0.0005)
    assert algorithms_of(search(clock).plan)[1] == "strassen"
    plan = Plan(prefer="size", algorithms=("direct", "winograd_4"))
    assert "strassen" not in algorithms_of(search(clock, plan=plan).plan)


def test_a_fused_chain_is_tried_together() -> None:
    chain = convolutions((32, 96, 1), (96, 96, -3), (96, 32, 1), size=14)
    rule = by_rule(chain)
    assert len(rule.planned.steps) == 3

    def cost(op: Op) -> float:
        return 1.5e6 if op.type == "conv_separable" else 1e6

    result = PlanSearch(rule, FakeClock(cost, noise=0.01), Timings(), 60).run()
    assert algorithms_of(result.plan) == ["expand_depthwise_project"]
    (change,) = result.changes
    assert change.region == {"x1", "x2", "x3"}
    assert change.effect.value == pytest.approx(0.5, rel=0.05)


def test_a_chain_that_the_rule_fuses_is_taken_apart() -> None:
    chain = convolutions((32, 96, 1), (96, 96, -3), (96, 32, 1), size=56)
    fused = Plan(algorithms=("expand_depthwise_project", "direct"))
    rule = by_rule(chain, plan=fused)
    assert algorithms_of(rule) == ["expand_depthwise_project"]

    def cost(op: Op) -> float:
        return 9e6 if op.type == "conv_separable" else 1e6

    result = PlanSearch(rule, FakeClock(cost, noise=0.01), Timings(), 60).run()
    assert len(result.plan.planned.steps) == 3
    (change,) = result.changes
    assert change.effect.value == pytest.approx(1 / 3, rel=0.05)


def test_an_interrupted_search_continues_with_all_finished_timings(tmp_path: Path) -> None:
    path, cost = tmp_path / "timings.jsonl", faster("winograd_5")
    whole = FakeClock(cost, noise=0.01)
    expected = search(whole)
    first = FakeClock(cost, noise=0.01, fails_after=10)
    with pytest.raises(ConnectionError):
        search(first, path)
    stored = Timings(path)
    assert len(stored) > 10
    second = FakeClock(cost, noise=0.01, seed=1)
    result = search(second, path)
    assert result.plan.choices == expected.plan.choices
    assert result.measured + result.reused >= expected.measured
    assert second.launches < whole.launches


def test_the_same_layers_of_another_network_are_known(tmp_path: Path) -> None:
    path, cost = tmp_path / "timings.jsonl", faster("winograd_5")
    search(FakeClock(cost, noise=0.01), path)
    clock = FakeClock(cost, noise=0.01)
    result = search(clock, path)
    assert result.measured == 0
    assert algorithms_of(result.plan) == ["winograd_5", "direct", "winograd_5"]
    assert [len(programs) for programs in clock.measured] == [1, 2], "shares, and the confirmation"


def test_counts_are_exact_and_measured_once() -> None:
    clock = FakeClock(faster("winograd_5", 0.99), unit="instructions")
    result = search(clock)
    assert "winograd_5" in algorithms_of(result.plan)
    assert clock.blocks == len(clock.measured)
    for change in result.changes:
        assert change.effect.interval.low == change.effect.interval.high


def test_a_plan_with_wrong_outputs_is_left_out() -> None:
    class Wrong(FakeClock):
        def measure(self, programs, blocks, finished):  # type: ignore[no-untyped-def]
            for index, program in enumerate(programs):
                if any(algorithm(op) == "winograd_5" for op in program.steps):
                    raise WrongPlanError(index, WrongOutputError("element 3 is 7"))
            super().measure(programs, blocks, finished)

    cost = faster("winograd_5")
    result = search(Wrong(cost, noise=0.01))
    assert "winograd_5" not in algorithms_of(result.plan)
    assert result.alternatives


def test_of_the_plans_of_a_round_the_wrong_one_alone_is_left_out() -> None:
    """The others are measured: the best right algorithm is found beside a faster wrong one."""
    rounds: list[list[list[str]]] = []

    def algorithms_in(program: Program) -> list[str]:
        return [algorithm(op) for op in program.steps]

    class Wrong(FakeClock):
        def measure(self, programs, blocks, finished):  # type: ignore[no-untyped-def]
            rounds.append([algorithms_in(program) for program in programs])
            for index, names in enumerate(rounds[-1]):
                if "winograd_5" in names:
                    raise WrongPlanError(index, WrongOutputError("element 3 is 7"))
            super().measure(programs, blocks, finished)

    fast = {"winograd_5": 0.3, "winograd_3": 0.6}
    clock = Wrong(lambda op: 1e6 * fast.get(algorithm(op), 1.0), noise=0.01)
    result = search(clock)
    assert algorithms_of(result.plan) == ["winograd_3", "direct", "winograd_3"]
    refused = [i for i, plans in enumerate(rounds) if any("winograd_5" in one for one in plans)]
    assert refused
    for i in refused:
        at = next(k for k, one in enumerate(rounds[i]) if "winograd_5" in one)
        rest = [one for k, one in enumerate(rounds[i]) if k != at]
        assert rounds[i + 1] == rest or len(rest) == 1


class SlowToBuild(FakeClock):
    """A clock whose runner takes a tenth of a second to build."""

    def prepare(self) -> None:
        time.sleep(0.1)


@pytest.mark.parametrize(("kind", "seconds"), [(FakeClock, 0.0), (SlowToBuild, 0.05)])
def test_a_search_ends_in_time_with_its_builds_and_says_that_it_is_incomplete(
    kind: type[FakeClock], seconds: float
) -> None:
    result = search(kind(faster("winograd_5"), noise=0.01), seconds=seconds)
    assert not result.is_complete
    assert not result.changes


def test_counts_do_not_choose_among_schedules_of_one_kernel() -> None:
    """The kernels that are scheduled for in-order cores take as many instructions, or more."""
    plan = by_rule(convolutions(*THREE), A53)

    def cost(op: Op) -> float:
        return 1e6 - 1e5 * str(op.attributes.get("kernel", "")).endswith("_neon")

    rule = {str(op.attributes["kernel"]) for op in plan.planned.steps}
    assert rule == {"gemm_f32_4x16_neona53"}
    for unit, is_chosen in (("ns", True), ("instructions", False)):
        result = PlanSearch(plan, FakeClock(cost, 0.001, unit=unit), Timings(), 60).run()
        names = {str(op.attributes["kernel"]) for op in result.plan.planned.steps}
        assert ("gemm_f32_4x16_neon" in names) == is_chosen


def test_counts_that_cost_more_memory_traffic_than_they_save_are_not_chosen() -> None:
    contest = Contest(Named("", ""), "", [Alternative(frozenset(), {}, 1.2, False, (0.3, 0.6))], 1)
    assert contest.counted(0.9) == pytest.approx(0.7 * 0.9 + 0.6)


def test_alternatives_of_several_layers_are_measured_in_one_plan() -> None:
    """A round has one launch of the present plan, and plans with a change in each layer."""
    clock = FakeClock(faster("winograd_5"), noise=0.01)
    search(clock)
    rule = [algorithm(op) for op in by_rule(convolutions(*THREE)).planned.steps]
    rounds = [programs[1:] for programs in clock.measured if len(programs) > 1]
    assert max(map(len, rounds)) > 2
    changed = [
        sum(algorithm(op) != own for op, own in zip(program.steps, rule, strict=True))
        for program in rounds[0]
        if len(program.steps) == len(rule)
    ]
    assert max(changed) >= 2


def test_times_of_zero_confirm_nothing() -> None:
    """An operator that took no time has no ratio."""
    assert confirmation.effect_of([], is_exact=False) is None
    assert confirmation.effect_of([(5.0, 4.0), (0.0, 4.0)], is_exact=False) is None
    assert confirmation.effect_of([(5.0, 4.0), (5.0, 0.0)], is_exact=True) is None
    halved = confirmation.effect_of([(8.0, 4.0)] * 5, is_exact=False)
    assert halved is not None
    assert halved.value == pytest.approx(0.5)


def test_in_a_process_the_tuned_plan_is_proved_by_the_whole_network() -> None:
    """Two of three operators take seven tenths of their millisecond."""
    clock = FakeClock(faster("winograd_5"), noise=0.001)
    result = search(clock)
    assert result.changes
    proof = in_process.proof_of(clock, result)
    assert proof is not None
    assert proof.value == pytest.approx(2.4 / 3, rel=0.01)
    assert proof.blocks == in_process.PROOF_BLOCKS
    assert in_process.proof_of(clock, search(FakeClock(lambda _: 1e6))) is None
