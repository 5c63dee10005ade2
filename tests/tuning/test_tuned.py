"""Tuning from a model to a proved plan: the real builder, the real runner, real devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.devices.conftest import require
from trimtab.bench.jobs import Settings
from trimtab.devices.control import Control
from trimtab.errors import EmulatorError
from trimtab.pipeline.recipe import Recipe
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.tuning import report
from trimtab.tuning.tuned import Tuned, TuneRequest, affordable_launches, tune

NETWORK = "shufflenet_v2"


def tuned(tmp_path: Path, device: str, **options: object) -> Tuned:
    request = TuneRequest(
        Recipe(model=NETWORK),
        device,
        minutes=4,
        timings=tmp_path / "timings.jsonl",
        launches=10,
        settings=Settings(control=Control(governor="keep")),
        **options,  # type: ignore[arg-type]
    )
    return tune(request, tmp_path)


def check(result: Tuned, tmp_path: Path) -> None:
    """The outcome is consistent: what was proved is what is written, and it is a plan."""
    search = result.search
    chosen = search.plan if result.is_faster else search.rule
    path = tmp_path / "plan.toml"
    path.write_text(result.plan.to_toml(result.title()))
    again = planner.plan(search.rule.program, search.rule.target, Plan.read(path))
    assert [op.attributes for op in again.ops] == [op.attributes for op in chosen.planned.ops]
    assert search.measured > 20
    assert result.is_faster == bool(result.proof and result.proof.verdict.is_real)
    for suffix in report.FORMATS:
        report.check_format(f"a{suffix}")
        assert result.sentence() in report.rendered(result, f"a{suffix}").replace("\\", "")
    assert result.to_json()["changes"] == [*result.to_json()["changes"]]


@pytest.mark.slow
@pytest.mark.build
def test_a_network_is_tuned_on_this_machine_and_a_repetition_is_quick(tmp_path: Path) -> None:
    result = tuned(tmp_path, "local")
    assert result.unit == "ns"
    check(result, tmp_path)
    again = tuned(tmp_path, "local")
    assert again.search.reused > again.search.measured


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
def test_a_network_is_tuned_by_counts_under_an_emulator(tmp_path: Path) -> None:
    require("qemu-aarch64", "qemu-user")
    result = tuned(tmp_path, "qemu-a53")
    assert result.unit == "instructions"
    check(result, tmp_path)
    assert "which are not time" in result.sentence()
    if result.proof:
        assert result.proof.verdict.unit == "instructions"
        assert result.is_faster, "every kept change executes fewer instructions"


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
def test_a_network_is_tuned_on_the_board(
    tmp_path: Path, board_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(board_cache))
    result = tuned(tmp_path, "board")
    assert result.unit == "instructions"
    check(result, tmp_path)


def test_an_emulator_tunes_one_thread_only(tmp_path: Path) -> None:
    require("qemu-aarch64", "qemu-user")
    recipe = Recipe(model=NETWORK, plan=Plan(threads=4))
    with pytest.raises(EmulatorError, match="one thread only"):
        tune(TuneRequest(recipe, "qemu-a53"), tmp_path)


@pytest.mark.parametrize(
    ("left_s", "is_emulated", "expected"),
    [(100.0, False, 20), (12.0, False, 6), (3.0, False, 0), (3.0, True, 20), (-1.0, True, 0)],
)
def test_the_launches_of_the_comparison_fit_the_time_that_is_left(
    left_s: float, is_emulated: bool, expected: int
) -> None:
    assert affordable_launches(20, 1.0, left_s, is_emulated=is_emulated) == expected
