"""The names of a command line: models, machines and plans."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import defs

from trimtab import importers
from trimtab.errors import ProfileError, UsageError
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.resolve import check, find_target, model_path, read_plan
from trimtab.planner.plan_file import MAX_THREADS, Plan
from trimtab.target import Target


def test_a_profile_selects_the_first_network_of_its_family() -> None:
    assert model_path("", "yolo").name == "yolo_fastest.onnx"
    assert model_path("", "mobilenet").name == "mobilenet_v1.onnx"
    assert model_path("mine.onnx", "yolo") == Path("mine.onnx")
    with pytest.raises(UsageError, match="which model"):
        model_path("", "full")
    with pytest.raises(UsageError, match="which model"):
        model_path("", "")


def test_the_option_precedes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text("threads = 2\n")
    for option, threads in ((None, 2), (4, 4)):
        plan = read_plan(str(path), threads=option)
        assert plan.threads == Recipe(plan=plan).threads == threads
    assert read_plan("") == Plan()
    assert Recipe().threads == 1
    assert Recipe().on_threads(3).threads == 3
    for wrong in (0, MAX_THREADS + 1):
        with pytest.raises(UsageError, match=f"it must be 1 to {MAX_THREADS}"):
            read_plan("", threads=wrong)


def test_a_file_goes_before_the_defaults_and_options_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('prefer = "load"\nprecision = "f16"\n')
    plan = read_plan(str(path), precision="f32", weights="f16")
    assert (plan.prefer, plan.precision, plan.weights_type) == ("load", "f32", "f16")


def test_a_toolchain_without_core_means_any_machine_of_its_architecture() -> None:
    assert find_target("aarch64-linux-musl") == Target.of("aarch64")
    assert find_target("aarch64-linux-musl", "cortex-a53", 2) == Target.of(
        "aarch64", "cortex-a53", 2
    )
    assert find_target("host").arch == find_target("").arch == Target.host().arch


def test_a_profile_limits_the_target() -> None:
    target = find_target("aarch64-linux-musl", profile="squeezenet")
    assert target.profile is not None
    assert not target.holds("resize")
    with pytest.raises(ProfileError):
        find_target("aarch64-linux-musl", profile="absent")


def test_a_target_has_one_thread_unless_more_are_requested() -> None:
    for toolchain in ("host", "aarch64-linux-musl"):
        assert find_target(toolchain).threads == 1
        assert find_target(toolchain, threads=3).threads == 3


def test_missing_samples_are_told_before_a_float_network_is_read(tmp_path: Path) -> None:
    for name in ("damaged.onnx", "damaged.prototxt", "damaged.cfg"):
        path = tmp_path / name
        path.write_bytes(b"no network")
        with pytest.raises(UsageError, match="samples are missing"):
            check(Recipe(model=str(path), plan=Plan(precision="int8")))
    path.with_suffix(".tflite").write_bytes(b"it may be quantized")
    check(Recipe(model=str(path.with_suffix(".tflite")), plan=Plan(precision="int8")))


def test_the_file_of_each_operator_on_quantized_values_may_be_quantized(tmp_path: Path) -> None:
    operators = [
        schema.name
        for schema in defs.get_all_schemas_with_history()
        if any("zero_point" in port.name for port in schema.inputs)
    ]
    assert len(operators) > 5
    for operator in operators:
        path = tmp_path / f"{operator}.onnx"
        path.write_bytes(b"\x08\x09\x22" + operator.encode())
        assert not importers.is_float(path), operator
