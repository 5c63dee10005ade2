"""The footprint of a build and of its alternatives, and plans within a budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trimtab import importers
from trimtab.bench.jobs import Settings
from trimtab.errors import BudgetError, UsageError
from trimtab.pipeline.budget import Budget
from trimtab.pipeline.built import build, build_profile
from trimtab.pipeline.loaded import load
from trimtab.pipeline.measured import bench
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.resolve import model_path
from trimtab.pipeline.variants import NCNN
from trimtab.results import records, summary

NETWORK = "mobilenet_v3_small"


@pytest.mark.build
def test_a_record_has_the_footprint_of_the_build_and_of_its_alternatives(tmp_path: Path) -> None:
    settings = Settings(launches=1, runs=1, min_time_ms=0)
    measurement = MeasurementRequest(settings=settings, results=tmp_path)
    outcome = bench(Recipe(model=NETWORK, measurement=measurement)).outcome
    record = records.read(outcome.path)
    run = summary.summarize(record)
    built = run.shipped[0]
    assert built.is_built
    assert built.model_bytes == record.header.model.file_bytes
    assert built.binary_bytes == record.header.binary.file_bytes
    (memory,) = record.of("memory")
    assert built.memory_bytes is not None
    mapped = built.memory_bytes - memory["arena_bytes"] - memory["prepared_bytes"]
    assert 0 < mapped <= record.header.model.file_bytes
    peak = run.figure("peak_bytes")
    assert peak is not None
    assert abs(peak.value - built.memory_bytes) < 4e6  # the process around it, and its inputs
    others = {one.what: one.model_bytes for one in run.shipped if not one.is_built}
    assert built.what == "trimtab, prefer balanced"
    assert {"trimtab, prefer load", "trimtab, prefer size"} <= others.keys()
    source = model_path(NETWORK)
    assert others[f"{source.name} (source)"] == source.stat().st_size
    assert others[NCNN] < 0.6 * source.stat().st_size
    assert run.figures[0].key == "shipped_bytes"
    assert run.figures[0].value == built.total_bytes


def test_the_size_of_a_model_includes_both_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "net.cfg").write_text("[net]")
    (tmp_path / "net.weights").write_bytes(bytes(100))
    (tmp_path / "other.weights").write_bytes(bytes(100))
    for name in ("net.cfg", "net.weights"):
        paths = importers.files(tmp_path / name)
        assert sorted(path.name for path in paths) == ["net.cfg", "net.weights"]
    (tmp_path / "net.onnx").write_bytes(b"")
    assert importers.files(tmp_path / "net.onnx") == [tmp_path / "net.onnx"]


def test_a_generous_budget_changes_only_the_preference() -> None:
    recipe = Recipe(model=NETWORK, toolchain="host", budget=Budget(model_bytes=100_000_000))
    planned = plan(load(recipe))
    assert planned.recipe == recipe
    assert replace(planned.plan, prefer="balanced") == recipe.plan


@pytest.mark.parametrize(("limit", "prefer"), [(20_000_000, "load"), (5_000_000, "balanced")])
def test_a_budget_takes_the_fastest_preference_that_fits(limit: int, prefer: str) -> None:
    budget = Budget(model_bytes=limit)
    recipe = Recipe("squeezenet", toolchain="aarch64-linux-musl", cpu="cortex-a53", budget=budget)
    assert plan(load(recipe)).plan.prefer == prefer


def test_a_budget_that_is_too_small_is_an_error_before_any_delivery(
    tmp_path: Path,
) -> None:
    output = tmp_path / "out"
    recipe = Recipe(model=NETWORK, budget=Budget(memory_bytes=1_000_000), output=output)
    with pytest.raises(BudgetError, match=r"bytes over --max-memory"):
        build(plan(load(recipe)))
    assert not output.exists()


def test_a_budget_needs_a_model() -> None:
    with pytest.raises(UsageError, match="needs a model"):
        build_profile(Recipe(profile="yolo", budget=Budget(binary_bytes=1)))
