"""f16 ends at 65504: operators whose values are larger are named, refused, or types in float32."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.ops.cases.case import Array
from tests.recorded_progress import RecordedProgress
from tests.small_programs import Net
from trimtab.errors import PlanError
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.precision import ConvertedNetwork, convert
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

A76 = Target.of("aarch64", "cortex-a76")
HALF = Plan(precision="f16")
RNG = np.random.default_rng(3)
PICTURES = RNG.uniform(0, 255, (6, 3, 24, 24)).astype(np.float32)


def network(gain: float = 4.0, prefix: tuple[str, float] | None = None) -> Program:
    """Two convolutions and a sigmoid; the sums of the first one exceed f16 for bright pictures."""
    net = Net(x=(1, 3, 24, 24))
    x = net(*prefix[:1], "x", prefix[1]) if prefix else "x"
    weights = gain * RNG.uniform(0.5, 1.5, (16, 3, 7, 7)).astype(np.float32)
    sums = net("leaky_relu", net("conv", x, weights, np.zeros(16, np.float32), pads=[3] * 4))
    small = net.conv(net("mul", sums, 1e-6), 32, 1)
    return net.finish(net("sigmoid", net.conv(net("relu", small), 8, 1)))


def first_operator(program: Program) -> str:
    return next(op.name for op in program.ops if op.type == "conv")


def samples(folder: Path, pictures: Array = PICTURES) -> str:
    np.savez(folder / "s.npz", x=pictures)
    return str(folder / "s.npz")


def converted(
    program: Program, calibration: Calibration, plan: Plan = HALF
) -> tuple[ConvertedNetwork, str]:
    progress = RecordedProgress()
    return convert(program, plan, calibration, A76, progress), "\n".join(progress.lines)


def precisions(network: ConvertedNetwork) -> dict[str, str]:
    """The dtype of each operator that has one of its own."""
    planned = trimtab.optimize(network.program, A76, network.plan)
    return {op.name: planned.vars[op.outputs[0]].dtype for op in planned.steps if op.type != "cast"}


def test_sums_of_samples_beyond_f16_are_refused_with_operator_sum_and_limit(tmp_path: Path) -> None:
    program = network()
    session = trimtab.Session(program.copy(), plan=None)
    assert np.isfinite(session.run({"x": PICTURES[:1]})[program.outputs[0]]).all()
    with pytest.raises(PlanError, match=r"65,504, and the values of conv '(\w+)' reach") as caught:
        converted(program, Calibration(samples(tmp_path)))
    assert repr(first_operator(program)) in str(caught.value)
    assert "6 samples" in caught.value.what
    assert "--precision mixed" in caught.value.hint
    weights = program.vars[program.ops[0].inputs[1]].data
    assert weights is not None
    tall = np.pad(PICTURES, ((0, 0), (0, 0), (3, 3), (3, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(tall, (7, 7), axis=(2, 3))
    largest = np.einsum("nchwij,ocij->nohw", windows, weights, optimize=True).max()
    assert f"reach {largest:,.0f}" in caught.value.what


@pytest.mark.parametrize("prefix", [("sub", 127.5), ("div", 255.0), ("mul", 1 / 128)])
def test_the_first_operator_tells_the_range_of_seeded_inputs(prefix: tuple[str, float]) -> None:
    gain = {"sub": 8.0, "div": 1100.0, "mul": 500.0}[prefix[0]]
    with pytest.raises(PlanError, match=rf"x from 0 to 255 \(normalized by '{prefix[0]}"):
        converted(network(gain, prefix), Calibration())


def test_small_inputs_that_the_network_tells_do_not_overflow() -> None:
    program = network()
    program.input_ranges["x"] = (0.0, 1.0)
    checked, text = converted(program, Calibration())
    assert checked.plan == HALF
    assert "65,504" not in text
    program.input_ranges["x"] = (0.0, 255.0)
    with pytest.raises(PlanError, match="declared by the model"):
        converted(program, Calibration())


def test_operators_that_may_overflow_stay_in_float32_if_nothing_tells_the_range() -> None:
    program = network()
    checked, text = converted(program, Calibration())
    assert "does not tell the range" in text
    assert f"conv {first_operator(program)!r} reach" in text
    dtypes = precisions(checked)
    assert dtypes[first_operator(program)] == "f32"
    assert "f16" in dtypes.values()
    outputs = trimtab.Session(checked.program, plan=checked.plan).run({"x": PICTURES[:1]})
    (exact,) = trimtab.Session(program).run({"x": PICTURES[:1]}).values()
    (half,) = outputs.values()
    assert np.abs(half - exact).max() < 1e-2


def test_samples_that_fit_decide_against_the_assumed_range(tmp_path: Path) -> None:
    small = samples(tmp_path, PICTURES / 255)
    checked, text = converted(network(), Calibration(small))
    assert checked.plan == HALF
    assert "65,504" not in text
    assert checked.accuracy
    assert checked.accuracy.max_error < 0.01


def test_mixed_precision_keeps_operators_beyond_f16_in_float32(tmp_path: Path) -> None:
    program = network()
    calibration = Calibration(samples(tmp_path), budget="error <= 0.001")
    checked, text = converted(program, calibration, Plan(precision="mixed"))
    name = first_operator(program)
    assert f"conv {name!r} reach" in text
    assert checked.plan.precisions[name] != "f16"
    assert checked.accuracy
    assert checked.accuracy.max_error <= 0.001


def test_a_plan_of_f16_and_f32_needs_no_samples_and_is_checked() -> None:
    program = network(prefix=("div", 2.0))
    program.input_ranges["x"] = (0.0, 255.0)
    names = [op.name for op in program.ops]
    types = {name: "f32" if i < 4 else "f16" for i, name in enumerate(names)}
    checked, _ = converted(program, Calibration(), Plan(precision="mixed", precisions=types))
    assert {*precisions(checked).values()} == {"f32", "f16"}
    half = dict.fromkeys(names, "f16")
    with pytest.raises(PlanError, match="65,504"):
        converted(program, Calibration(), Plan(precision="mixed", precisions=half))


def test_values_that_only_f16_loses_are_an_error_that_names_the_operator(tmp_path: Path) -> None:
    net = Net(x=(1, 16, 12, 12))
    small = net("mul", net.conv("x", 32, 3), 1e-9)  # 0 in f16
    ones = net("div", net("add", small, 1e-9), net("add", small, 1e-9))
    program = net.finish(net.conv(ones, 16, 3))
    x = RNG.normal(0, 1, (6, 16, 12, 12)).astype(np.float32)
    with pytest.raises(PlanError, match="computes NaN or infinity in f16, and float32 does not"):
        converted(program, Calibration(samples(tmp_path, x)))


def test_convert_ends_with_an_error_and_writes_no_file_and_no_nan(tmp_path: Path) -> None:
    weights = np.full((16, 3, 7, 7), 8.0, np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["a"], name="a", pads=[3] * 4),
            helper.make_node("Sigmoid", ["a"], ["y"]),
        ],
        "overflow",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 24, 24])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 24, 24])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    pixels = model.metadata_props.add()
    pixels.key, pixels.value = "Image.NominalPixelRange", "NominalRange_0_255"
    onnx.save(model, tmp_path / "net.onnx")
    output = tmp_path / "net.ttm"
    options = "--toolchain", "aarch64-linux-musl", "--cpu", "cortex-a76", "--precision", "f16"
    for more in ((), ("--calibration", samples(tmp_path))):
        words = "convert", str(tmp_path / "net.onnx"), str(output), *options, *more
        command = [sys.executable, "-m", "trimtab.cli", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == PlanError.exit_code
        assert "the values of conv 'a' reach" in done.stderr
        assert "nan" not in done.stdout + done.stderr
        assert not output.exists()


@pytest.mark.parametrize("with_samples", [False, True])
def test_a_core_without_f16_is_refused_before_anything_is_computed(
    tmp_path: Path, with_samples: bool
) -> None:
    calibration = Calibration(samples(tmp_path)) if with_samples else Calibration()
    progress = RecordedProgress()
    with pytest.raises(PlanError, match="cortex-a53 has no f16 arithmetic"):
        convert(network(), HALF, calibration, Target.of("aarch64", "cortex-a53"), progress)
    assert not progress.lines


@pytest.mark.parametrize("excluded", ["conv_0", "add", "relu"])
def test_a_line_keeps_an_operator_in_float32_and_all_that_it_is_fused_with(excluded: str) -> None:
    net = Net(x=(1, 32, 12, 12))
    y = net.conv("x", 32, 3)
    y = net("relu", net("add", y, net.conv(y, 32, 3)))
    program = net.finish(net.conv(y, 32, 3))
    assert excluded in [op.name for op in program.ops]
    plan = Plan(precision="mixed", precisions={excluded: "f32"})
    dtypes = precisions(converted(program, Calibration(), plan)[0])
    assert [dtypes[name] for name in ("conv", "add")] == ["f16", "f32"]
