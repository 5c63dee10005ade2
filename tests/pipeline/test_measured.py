"""From a model to a measured run: the real builder, the real runner, this machine and QEMU."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import trimtab
from tests.devices.conftest import require_counting
from tests.recorded_progress import RecordedProgress
from tests.small_programs import Net
from trimtab.bench.jobs import Settings
from trimtab.devices import find_device
from trimtab.devices.control import lease
from trimtab.devices.protocol import Room
from trimtab.errors import (
    DeviceBusyError,
    DeviceFullError,
    ModelFileError,
    ProfileError,
    UsageError,
)
from trimtab.pipeline.built import build, build_profile
from trimtab.pipeline.loaded import load
from trimtab.pipeline.measured import bench, build_for
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.planner.plan_file import Choice, Plan, operator_keys
from trimtab.results import records, summary
from trimtab.results.records import Record, Status

NETWORK = "mobilenet_v3_small"


def measure(recipe: Recipe, folder: Path, settings: Settings, device: str = "local") -> Record:
    measurement = MeasurementRequest(device, settings, folder)
    outcome = bench(replace(recipe, measurement=measurement)).outcome
    assert outcome.error is None
    return records.read(outcome.path)


def test_a_board_without_room_for_a_quarter_of_the_weights_is_told_before_planning(
    tmp_path: Path,
) -> None:
    net = Net(x=(1, 8, 4, 4))
    net.program.outputs = [net.conv("x", 1000, 3)]
    net.program.save(tmp_path / "net.ttm")
    recipe = Recipe(str(tmp_path / "net.ttm"), toolchain="host", output=tmp_path / "out")
    quarter = 1000 * (8 * 3 * 3 + 1)  # float32 weights and bias
    with pytest.raises(DeviceFullError, match=f"needs {quarter:,} bytes"):
        build_for(Room("board", quarter - 1, frozenset()), recipe)
    assert not (tmp_path / "out").exists()


def test_a_build_needs_a_model_or_a_profile() -> None:
    with pytest.raises(UsageError, match="neither a model nor a profile"):
        build_profile(Recipe())


def test_a_device_in_use_is_told_before_the_network_is_loaded(tmp_path: Path) -> None:
    recipe = Recipe(model=str(tmp_path / "none.onnx"))
    with find_device("local").open() as device:
        lease_of_test = lease.acquire(device, "test", wait_s=0, note=print)
        try:
            with pytest.raises(DeviceBusyError, match="leased by"):
                bench(recipe)
        finally:
            lease_of_test.release()
    with pytest.raises(ModelFileError):  # it is asked for later
        bench(recipe)


@pytest.mark.build
def test_a_build_delivers_the_model_beside_a_binary_that_holds_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    build_of_model = build(plan(load(Recipe(model=NETWORK)))).delivered
    assert build_of_model.output_dir == tmp_path / "dist" / f"{NETWORK}-host"
    assert build_of_model.model is not None
    program = trimtab.load(build_of_model.model)
    assert {op.type for op in program.ops} == set(build_of_model.record["operators"])


@pytest.mark.slow
@pytest.mark.build
def test_weights_in_f16_are_exact_up_to_the_rounding_of_f16(tmp_path: Path) -> None:
    recipe = Recipe(model="squeezenet", plan=Plan(weights_type="f16"))
    settings = Settings(launches=1, runs=1, min_time_ms=0)
    record = measure(recipe, tmp_path, settings)
    (checked,) = record.of("golden")
    # Too far off for f32. A rounding of 2^-11 in each of 26 layers: sqrt(26) times that, 0.0025, is
    # expected of the values' size; not more than twice as much may be.
    assert 1e-4 < checked["outputs"][0]["max_error"] < 5e-3


@pytest.mark.build
def test_a_network_is_built_checked_and_measured_on_this_machine(tmp_path: Path) -> None:
    settings = Settings(launches=1, runs=5, min_time_ms=0, per_op=True)
    record = measure(Recipe(model=NETWORK), tmp_path, settings)
    assert record.status is Status.OK
    assert record.header.profile == "trimmed"
    assert len(record.of("run")) == 5
    assert record.of("golden")[0]["oracle"].startswith("onnxruntime")
    run = summary.summarize(record)
    latency, arena = run.figure("latency"), run.figure("arena_bytes")
    assert latency is not None
    assert arena is not None
    assert {op.label.split()[0] for op in run.ops} >= {"conv", "gemm"}
    assert all(op.ns for op in run.ops)


@pytest.mark.build
def test_the_record_of_an_f16_network_has_its_accuracy_without_samples(tmp_path: Path) -> None:
    settings = Settings(launches=1, runs=1, min_time_ms=0)
    recipe = Recipe(model=NETWORK, plan=Plan(precision="f16"))
    record = measure(recipe, tmp_path, settings)
    accuracy = summary.summarize(record).accuracy
    assert accuracy
    assert accuracy.is_seeded
    assert 0 < accuracy.max_error < 0.05


@pytest.mark.build
@pytest.mark.device
def test_instructions_under_emulation_are_the_same_each_time(tmp_path: Path) -> None:
    require_counting()
    recipe = Recipe(model=NETWORK, embed_model=True)
    settings = Settings(per_op=True)
    first, second = (measure(recipe, tmp_path, settings, "qemu-a53") for _ in range(2))
    assert first.header.is_model_embedded
    counts = [event["instructions"] for event in first.of("run") + second.of("run")]
    assert len(set(counts)) == 1
    assert counts[0] > 1_000_000
    run = summary.summarize(first)
    in_operators = sum(op.instructions or 0 for op in run.ops)
    assert 0.9 * counts[0] < in_operators < 1.1 * counts[0]
    assert run.figure("latency") is None
    binary = first.header.binary
    assert sum(run.groups.values()) == sum(run.sections.values()) == binary.file_bytes
    assert run.groups["op:conv"] > 0


def test_a_profile_that_lacks_what_the_model_needs_is_refused_before_anything_is_built() -> None:
    recipe = Recipe("yolo_fastest", profile="squeezenet", toolchain="aarch64-linux-musl")
    with pytest.raises(ProfileError, match=r"needs .*resize.*, which the profile excludes"):
        plan(load(recipe))


@pytest.mark.build
def test_a_network_runs_in_the_binary_of_a_profile_without_its_best_algorithms(
    tmp_path: Path,
) -> None:
    settings = Settings(launches=1, runs=1, min_time_ms=0, per_op=True)
    measurement = MeasurementRequest(settings=settings, results=tmp_path)
    progress = RecordedProgress()
    recipe = Recipe("mobilenet_v1", profile="yolo", measurement=measurement)
    outcome = bench(recipe, progress).outcome
    assert outcome.error is None
    record = records.read(outcome.path)
    assert record.status is Status.OK
    assert record.header.profile == "yolo"
    (note,) = [line for line in progress.lines if "within the profile" in line]
    missing = set(re.findall(r"instead of (\w+)", note))  # which ones depends on this machine
    assert missing
    assert not (missing | {"strassen"}) & {op.label for op in summary.summarize(record).ops}


@pytest.mark.build
def test_the_binary_of_a_profile_has_the_kernel_that_a_plan_file_names(tmp_path: Path) -> None:
    model = tmp_path / "net.cfg"
    model.write_text("[net]\nheight=8\nwidth=8\nchannels=3\n\n[maxpool]\nsize=2\nstride=2\n")
    free = trimtab.optimize(trimtab.load(model))
    (pool,) = (
        key for key, op in zip(operator_keys(free), free.ops, strict=True) if op.type == "max_pool"
    )
    choices = Plan(operators={pool: Choice(values={"kernel": "max_pool_f32_portable"})})
    recipe = Recipe(
        str(model),
        profile="squeezenet",
        toolchain="aarch64-linux-musl",
        cpu="cortex-a53",
        plan=choices,
        output=tmp_path / "out",
    )
    record = build(plan(load(recipe))).delivered.record
    assert "max_pool_f32_portable" in record["kernels"]


@pytest.mark.build
def test_a_model_of_another_format_is_checked_against_the_host_and_the_record_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "net.cfg").write_text(
        "[net]\nheight=8\nwidth=8\nchannels=3\n\n[maxpool]\nsize=2\nstride=2\n\n[avgpool]\n"
    )
    recipe = Recipe(model=str(tmp_path / "net.cfg"))
    settings = Settings(launches=1, runs=1, min_time_ms=0)
    record = measure(recipe, tmp_path / "results", settings)
    assert record.status is Status.OK
    (golden,) = record.of("golden")
    assert "not independent" in golden["oracle"]
