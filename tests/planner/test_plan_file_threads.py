"""Plans for several threads and several preferences."""

from __future__ import annotations

from pathlib import Path

import pytest

import trimtab
from tests.some import some
from trimtab import modelfile, passes
from trimtab.errors import PlanError
from trimtab.pipeline.resolve import load_program
from trimtab.planner import planner
from trimtab.planner.plan_file import PREFERENCES, Plan, plan_of
from trimtab.program import Program
from trimtab.target import Target

A53 = Target.of("aarch64", "cortex-a53")


@pytest.fixture(name="network", scope="module")
def squeezenet() -> Program:
    return passes.optimize(load_program("squeezenet"))


def decided(program: Program) -> list[tuple[str, dict[str, object]]]:
    return [(op.type, dict(op.attributes)) for op in program.ops]


def test_a_plan_for_four_threads_equals_one_for_a_target_with_four(network: Program) -> None:
    overridden = planner.plan(network, A53, Plan(threads=4))
    expected = planner.plan(network, Target.of("aarch64", "cortex-a53", 4))
    assert decided(overridden) == decided(expected)
    assert decided(overridden) != decided(planner.plan(network, A53)), "where the bus is shared"


def test_a_model_file_stores_its_number_of_threads(network: Program, tmp_path: Path) -> None:
    result = planner.plan(network, A53, Plan(threads=4))
    result.save(tmp_path / "net.ttm")
    loaded = trimtab.load(tmp_path / "net.ttm")
    assert (loaded.target, loaded.threads) == ("aarch64 cortex-a53", 4)
    (tmp_path / "plan.toml").write_text(plan_of(loaded).to_toml())
    again = planner.plan(network, A53, Plan.read(tmp_path / "plan.toml"))
    assert decided(again) == decided(result)
    assert modelfile.encode(again).tobytes() == modelfile.encode(result).tobytes()


@pytest.mark.parametrize("wrong", ["-1", "65", "true", "1.5", '"two"'])
def test_an_invalid_number_of_threads_is_refused(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f"threads = {wrong}\n")
    with pytest.raises(PlanError, match=r"threads`? (cannot be|must be an integer)"):
        Plan.read(path)


def test_plans_for_several_preferences_equal_single_plans(network: Program) -> None:
    together = [*planner.plans(network, A53, Plan(), PREFERENCES)]
    alone = [planner.plan(network, A53, Plan(prefer=name)) for name in PREFERENCES]
    for one, other in some(zip(together, alone, strict=True)):
        assert modelfile.encode(one).tobytes() == modelfile.encode(other).tobytes()
