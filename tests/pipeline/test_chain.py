"""The chain from a recipe to a build: every stage is computed once, and is frozen."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trimtab import importers, passes, zoo
from trimtab.build import builder
from trimtab.build.builder import Build, BuildRequest
from trimtab.pipeline import built, loaded, planned
from trimtab.pipeline.budget import Budget
from trimtab.pipeline.built import Built, footprints
from trimtab.pipeline.loaded import Loaded
from trimtab.pipeline.measured import Measured
from trimtab.pipeline.planned import Planned
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.variants import NCNN
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan

NETWORK = "squeezenet"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often networks are loaded, optimized and planned (one count per preference)."""
    counter: Counter[str] = Counter()

    def counted(module: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            counter[name] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    counted(importers, "load")
    counted(passes, "optimize")
    counted(planner, "complete")  # of every planned program
    return counter


@pytest.fixture(autouse=True)
def compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A builder that compiles nothing: its runner has 1,000 bytes."""

    def build(request: BuildRequest, progress: object) -> Build:
        output = request.output_dir
        output.mkdir(parents=True, exist_ok=True)
        runner = output / "trimtab-run"
        runner.write_bytes(bytes(1000))
        files = (output / name for name in ("lib.a", "trimtab.h", "full", "map"))
        library, header, unstripped, link_map = files
        model = None if request.embed_model else request.model
        return Build(output, runner, library, header, model, unstripped, link_map, {})

    monkeypatch.setattr(builder, "build", build)


def test_a_build_and_its_footprints_load_and_optimize_once_and_plan_each_preference_once(
    calls: Counter[str], tmp_path: Path
) -> None:
    recipe = Recipe(NETWORK, toolchain="aarch64-linux-musl", output=tmp_path / "out")
    result = built.build(planned.plan(loaded.load(recipe)))
    assert calls == {"load": 1, "optimize": 1, "complete": 1}
    own, *others = footprints(result)
    # Four sessions compute the accuracy of three smaller forms of weights.
    assert calls == {"load": 1, "optimize": 1 + 4, "complete": 6 + 4}
    f16, int8, bits4 = (other.cosine for other in others if other.cosine is not None)
    assert 1 > f16 > int8 > bits4 > 0.9
    assert own.is_built
    assert own.what == "trimtab, prefer balanced"
    assert own.binary_bytes == 1000
    assert [other.what for other in others] == [
        *("trimtab, prefer load", "trimtab, prefer size", "trimtab, weights f16"),
        *("trimtab, weights int8", "trimtab, weights bits4"),
        *("squeezenet.onnx (source)", NCNN),
    ]


@pytest.mark.parametrize(("limit", "planned_before"), [(20_000_000, 1), (5_000_000, 2)])
def test_a_plan_within_a_budget_is_the_one_that_was_measured(
    limit: int, planned_before: int, calls: Counter[str]
) -> None:
    recipe = Recipe(NETWORK, toolchain="aarch64-linux-musl", budget=Budget(model_bytes=limit))
    assert planned.plan(loaded.load(recipe)).program.planned
    assert calls == {"load": 1, "optimize": 1, "complete": planned_before}


def test_a_limit_of_the_binary_builds_every_candidate_until_one_fits(tmp_path: Path) -> None:
    recipe = Recipe(NETWORK, toolchain="aarch64-linux-musl", budget=Budget(binary_bytes=1000))
    assert planned.plan(loaded.load(recipe)).plan.prefer == "load"


def test_only_a_recipe_to_be_measured_has_expected_outputs(tmp_path: Path) -> None:
    recipe = Recipe(NETWORK, toolchain="aarch64-linux-musl", output=tmp_path)
    assert planned.plan(loaded.load(recipe)).expected is None
    measured = dataclasses.replace(recipe, measurement=MeasurementRequest())
    plan = planned.plan(loaded.load(measured))
    assert plan.expected is not None
    assert plan.expected.oracle.startswith("onnxruntime")
    result = built.build(plan)
    assert result.model == tmp_path / "squeezenet.ttm"
    assert result.delivered.output_dir == tmp_path / "build"


def test_models_of_one_name_and_plans_of_one_model_are_measured_with_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    models = []
    for folder, weights in (("one", "f32"), ("two", "f32"), ("two", "f16")):
        network = zoo.write(NETWORK, tmp_path / folder)
        recipe = Recipe(
            str(network), plan=Plan(weights_type=weights), measurement=MeasurementRequest()
        )
        models.append(built.build(planned.plan(loaded.load(recipe))).model)
    first, other_place, other_plan = (model for model in models if model)
    assert first.name == other_place.name == other_plan.name
    assert len({first, other_place, other_plan}) == 3
    assert first.read_bytes() == other_place.read_bytes() != other_plan.read_bytes()
    for day in range(70):  # older ones make room
        (old := first.parent.parent / f"old-{day}").mkdir()
        os.utime(old, (day * 86400, day * 86400))
    built.build(planned.plan(loaded.load(recipe)))
    remaining = {path.name for path in first.parent.parent.iterdir()}
    assert len(remaining) == 64
    assert {model.parent.name for model in (first, other_place, other_plan)} <= remaining
    assert "old-69" in remaining


def test_a_plan_can_be_built_into_the_binary_of_another_profile() -> None:
    plan = planned.plan(loaded.load(Recipe(NETWORK, toolchain="aarch64-linux-musl")))
    full = plan.with_profile("full")
    assert full.program is plan.program
    assert (plan.profile_label, full.profile_label) == ("trimmed", "full")
    assert set(plan.profile.ops) < {op.name for op in full.profile.operators()}


@pytest.mark.parametrize("stage", [Recipe, Loaded, Planned, Built, Measured])
def test_every_stage_is_frozen(stage: Any) -> None:
    assert stage.__dataclass_params__.frozen
