"""float32 networks in int8: onnxruntime's own quantizer beside ours, and how its outputs stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.ops.cases.case import Array
from tests.recorded_progress import RecordedProgress
from trimtab import passes, quantization, schema
from trimtab.accuracy import parse_budget
from trimtab.errors import CalibrationError, ProgramError, UsageError
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.quantized_file import QuantizedFile, quantize
from trimtab.pipeline.recipe import Recipe
from trimtab.program import Program
from trimtab.quantization import insert_qdq
from trimtab.quantization.calibration import calibrate

RNG = np.random.default_rng(8)
SAMPLES = RNG.normal(0, 1, (20, 3, 12, 12)).astype(np.float32)


def network(path: Path) -> Path:
    """Convolutions of all kinds, a shortcut, a join of two branches, a mean and a product."""
    shapes = {"a": (8, 3, 3, 3), "b": (8, 1, 3, 3), "c": (8, 8, 1, 1), "d": (6, 8, 1, 1)}
    weights = {k: RNG.normal(0, 1 / np.prod(s[1:]) ** 0.5, s) for k, s in shapes.items()}
    weights |= {f"{k}_bias": RNG.normal(0, 0.2, len(w)) for k, w in weights.items()}
    weights |= {"m": RNG.normal(0, 0.3, (14, 10)), "m_bias": RNG.normal(0, 0.2, 10)}

    def conv(x: str, w: str, y: str, **more: Any) -> onnx.NodeProto:
        return helper.make_node("Conv", [x, w, f"{w}_bias"], [y], **more)

    nodes = [
        conv("x", "a", "a1", pads=[1] * 4, strides=[2, 2]),
        helper.make_node("Relu", ["a1"], ["a2"]),
        conv("a2", "b", "b1", pads=[1] * 4, group=8),
        helper.make_node("HardSwish", ["b1"], ["b2"]),
        conv("b2", "c", "c1"),
        helper.make_node("Add", ["c1", "a2"], ["c2"]),
        helper.make_node("MaxPool", ["c2"], ["c3"], kernel_shape=[2, 2], strides=[2, 2]),
        conv("c3", "d", "d1"),
        helper.make_node("Sigmoid", ["d1"], ["d2"]),
        helper.make_node("Concat", ["c3", "d2"], ["e"], axis=1),
        helper.make_node("GlobalAveragePool", ["e"], ["f"]),
        helper.make_node("Flatten", ["f"], ["g"]),
        helper.make_node("Gemm", ["g", "m", "m_bias"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 12, 12))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 10))],
        [numpy_helper.from_array(w.astype(np.float32), k) for k, w in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return network(tmp_path_factory.mktemp("net") / "net.onnx")


def error(result: Array, expected: Array) -> float:
    """Root of the mean square error, as a share of the reference's."""
    return float(np.linalg.norm(result - expected) / np.linalg.norm(expected))


def test_int8_is_as_accurate_as_the_quantizer_of_onnxruntime(source: Path, tmp_path: Path) -> None:
    from onnxruntime.quantization import (
        CalibrationDataReader,
        CalibrationMethod,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = [{"x": x[np.newaxis]} for i, x in enumerate(SAMPLES) if i % 5 != 4]

        def get_next(self) -> dict[str, Array] | None:
            return self.left.pop() if self.left else None

    theirs = tmp_path / "int8.onnx"
    quantize_static(
        source,
        theirs,
        Reader(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=CalibrationMethod.MinMax,
    )
    program = trimtab.load(source)
    ours = trimtab.Session(quantization.quantize(program, {"x": SAMPLES}, method="min_max").program)
    float32, int8 = (onnxruntime.InferenceSession(p) for p in (source, theirs))
    fresh = np.random.default_rng(9).normal(0, 1, (64, 1, 3, 12, 12)).astype(np.float32)
    expected = np.array([float32.run(None, {"x": x})[0] for x in fresh])
    their_error = error(np.array([int8.run(None, {"x": x})[0] for x in fresh]), expected)
    our_error = error(np.array([ours.run({"x": x})["y"] for x in fresh]), expected)
    assert our_error <= 1.1 * their_error


def test_everything_between_graph_inputs_and_outputs_is_int8(source: Path) -> None:
    created = quantization.quantize(trimtab.load(source), {"x": SAMPLES})
    planned = trimtab.optimize(created.program)
    real = [op.type for op in planned.steps if planned.dtype(op) == "f32"]
    assert real == ["quantize_linear", "reshape"]  # the graph input, and the float32 output
    assert created.accuracy is not None
    assert created.accuracy.samples == 4
    assert created.accuracy.cosine > 0.99


def test_operators_without_a_range_stay_in_float32(source: Path) -> None:
    simple = passes.simplify(trimtab.load(source), before="fuse_residual")
    calibration_samples = quantization.samples.of_arrays(
        {"x": SAMPLES}, quantization.inputs_of(simple)
    )
    ranges, _ = calibrate(simple, calibration_samples, "min_max")
    without = {name: result for name, result in ranges.ranges.items() if name != "c1"}
    twin = insert_qdq.quantized(simple, quantization.Ranges("net", "min_max", 20, without))
    planned = trimtab.optimize(twin)
    real = {op.type for op in planned.steps if planned.dtype(op) == "f32"}
    assert "conv" in {name.split("_")[0] for name in real}
    x = {"x": SAMPLES[:1]}
    (expected,) = trimtab.Session(simple).run(x).values()
    (result,) = trimtab.Session(twin).run(x).values()
    assert error(result, expected) < 0.1


@pytest.mark.parametrize("read", [False, True])
def test_tensors_without_int8_readers_are_not_quantized(read: bool) -> None:
    rng = np.random.default_rng(1)
    program = Program("net")
    block = program.block

    def conv(x: str, name: str, group: int = 1) -> str:
        weights = rng.normal(0, 0.5, (4, 4 // group, 1, 1)).astype(np.float32)
        attributes = {"group": group}
        return block.add_op("conv", [x, block.add_constant(weights)], attributes, [name])[0]

    x = program.add_input("x", (1, 4, 6, 6))
    a, b, c = conv(x, "a"), conv(x, "b"), conv(x, "c", 4)
    (bounded,) = block.add_op("relu", [a], None, ["bounded"])
    (joined,) = block.add_op("concat", [bounded, b], {"axis": 1}, ["joined"])
    (moved,) = block.add_op("transpose", [joined], {"permutation": (0, 2, 3, 1)}, ["moved"])
    program.outputs = [moved, c]
    if read:
        program.outputs.append(conv(b, "d"))
    names = [name for name, var in program.vars.items() if var.data is None]
    ranges = quantization.Ranges("n", "m", 1, dict.fromkeys(names, quantization.Range(-3, 3)))
    twin = insert_qdq.quantized(program, ranges)
    weights = [var.data for var in program.vars.values() if var.data is not None]
    rounded = {op.inputs[0].split(".")[0] for op in twin.ops if op.type == "quantize_linear"}
    assert rounded == {"x", "c"} | ({"b"} if read else set())
    feed = {"x": rng.uniform(-1, 1, (1, 4, 6, 6)).astype(np.float32)}
    expected, actual = (trimtab.Session(p).run(feed) for p in (program, twin))
    # Four products, each of a weight and an operand that are off by half a step at most.
    step, weight = 6 / 255, max(np.abs(w).max() for w in weights)
    most = 4 * (weight * step / 2 + weight / 254 * (1 + step))
    result = np.abs(expected["moved"] - actual["moved"])
    assert result[..., :4].max() <= most
    assert result[..., 4:].max() <= most + (step / 2 if read else 0)
    places = actual["moved"][..., :4] / step
    places = places[places > 0]  # behind the ReLU
    assert places.size > 20
    assert np.abs(places - np.rint(places)).mean() > 0.1  # what was rounded is on a place


def test_networks_without_scores_get_a_hint_about_a_budget_for_boxes(source: Path) -> None:
    program = trimtab.load(source)
    progress, unsaid = RecordedProgress(), RecordedProgress()
    quantization.quantize(program, {"x": SAMPLES}, method="min_max", progress=unsaid)
    program.outputs.insert(0, "c2")  # a picture is no row of scores
    created = quantization.quantize(program, {"x": SAMPLES}, method="min_max", progress=progress)
    assert created.accuracy.noise is not None
    assert created.accuracy.noise > 1e-4
    (line,) = (line for line in progress.lines if "boxes" in line)
    boxes, noise = re.findall('"([^"]*)"', line)
    assert parse_budget(boxes)
    assert [demand.holds(created.accuracy) for demand in parse_budget(noise)] == [False]
    assert not any("boxes" in line for line in unsaid.lines)


@pytest.mark.parametrize("mean", [127.5, 127.0])
@pytest.mark.parametrize("pad", [0, 1])
def test_centered_pictures_are_not_rounded(mean: float, pad: int) -> None:
    program = Program("net")
    x = program.add_input("x", (1, 3, 9, 7))
    block = program.block
    # Of each channel of the result the largest is 127 steps, and all are whole ones.
    weights = RNG.integers(-127, 128, (4, 3, 3, 3)).astype(np.float32)
    weights[:, 0, 0, 0] = 127
    bias = RNG.integers(-500, 500, 4).astype(np.float32)
    constants = [block.add_constant(weights), block.add_constant(bias)]
    program.outputs = block.add_op("conv", [x, *constants], {"pads": (pad,) * 4}, ["y"])
    pixels = RNG.integers(0, 256, (8, 1, 3, 9, 7))
    pixels[:, 0, 0, 0, :2] = (0, 255)
    pictures = ((pixels - mean) / 128).astype(np.float32)
    ends = quantization.Range(float(pictures.min()), float(pictures.max()))
    everywhere = {"x": ends, "y": quantization.Range(-1000.0, 1000.0)}
    twin = insert_qdq.quantized(program, quantization.Ranges("net", "min_max", 8, everywhere))
    real, integers = (trimtab.Session(p) for p in (program, twin))
    expected, result = (s.run({"x": pictures[0]})["y"] for s in (real, integers))
    inner = (slice(None), slice(None), slice(pad, 9 - 2 - pad), slice(pad, 7 - 2 - pad))
    # Sums of less than 2^24 are exact; the bias is rounded to units of the products.
    np.testing.assert_allclose(result[inner], expected[inner], rtol=1e-5, atol=1 / 128)
    # Padded values are off by half the input's scale if 0 is not representable.
    most = np.abs(weights).sum() / 4 / 256
    assert np.abs(result - expected).max() <= (most if pad and mean == 127.5 else 1 / 128 + 1e-3)


def test_an_optimized_program_and_foreign_ranges_are_refused(source: Path) -> None:
    program = trimtab.load(source)
    with pytest.raises(ProgramError, match="already optimized"):
        quantization.quantize(passes.optimize(program), {"x": SAMPLES})
    strange = quantization.Ranges("other", "mse", 1, {"absent": quantization.Range(0, 1)})
    with pytest.raises(CalibrationError, match="absent"):
        quantization.quantize(program, {"x": SAMPLES}, ranges=strange)


def test_a_model_and_its_ranges_are_written(source: Path, tmp_path: Path) -> None:
    samples, remaining = str(tmp_path / "s.npz"), str(tmp_path / "r.toml")
    np.savez(samples, x=SAMPLES)
    outputs = [tmp_path / f"{name}.ttm" for name in "abc"]

    def quantized(
        output: Path, method: str = "", ranges: str = "", model: str = str(source)
    ) -> QuantizedFile:
        calibration = Calibration(samples, method, ranges)
        return quantize(Recipe(model, calibration=calibration), output)

    first = quantized(outputs[0], "percentile", remaining)
    again = quantized(outputs[1], "", remaining)
    facts = again.to_json()
    assert facts == first.to_json() | {"file": str(tmp_path / "b.ttm")}
    assert (facts["method"], facts["samples"], facts["accuracy"]["samples"]) == (
        "percentile",
        16,
        4,
    )
    assert facts["integer_operators"] == facts["operators"] - 2
    assert (tmp_path / "a.ttm").read_bytes() == (tmp_path / "b.ttm").read_bytes()
    session = trimtab.Session(trimtab.load(tmp_path / "b.ttm"))
    expected = trimtab.Session(first.quantized.program).run({"x": SAMPLES[:1]})["y"]
    np.testing.assert_array_equal(session.run({"x": SAMPLES[:1]})["y"], expected)
    with pytest.raises(UsageError, match="from the method percentile"):
        quantized(outputs[2], "mse", remaining)
    with pytest.raises(UsageError, match="samples are missing"):
        quantize(Recipe(str(source)), outputs[2])
    assert not (tmp_path / "c.ttm").exists()
    with pytest.raises(ProgramError, match="already quantized") as caught:
        quantized(outputs[2], model=str(outputs[0]))
    assert "float32" in caught.value.hint
    with pytest.raises(UsageError, match=r"a \.ttm file") as wrong:
        quantized(tmp_path / "c.onnx", model="/nowhere.onnx")
    assert "c.ttm" in wrong.value.hint


@pytest.mark.parametrize(("read_elsewhere", "wide"), [(True, 8.0), (False, 8.0), (True, 1.1)])
def test_a_concatenation_does_not_widen_the_ranges_of_other_readers(
    read_elsewhere: bool, wide: float
) -> None:
    program = Program("net")
    x = program.add_input("x", (1, 4, 6, 6))
    block = program.block

    def conv(name: str) -> str:
        weights = block.add_constant(RNG.normal(0, 0.5, (4, 4, 1, 1)).astype(np.float32))
        return block.add_op("conv", [x, weights], None, [name])[0]

    a, b = conv("a"), conv("b")
    block.add_op("concat", [a, b], {"axis": 1}, ["joined"])
    weights = block.add_constant(RNG.normal(0, 0.5, (4, 8, 1, 1)).astype(np.float32))
    block.add_op("conv", ["joined", weights], None, ["last"])
    program.outputs = ["joined", "last"]
    if read_elsewhere:
        weights = block.add_constant(RNG.normal(0, 0.5, (4, 4, 1, 1)).astype(np.float32))
        block.add_op("conv", [a, weights], None, ["other"])
        program.outputs.append("other")
    result = {"x": 1.0, "a": 1.0, "b": wide, "joined": wide, "last": wide, "other": 1.0}
    names = {n: quantization.Range(-r, r) for n, r in result.items() if n in program.vars}
    names["x"] = quantization.Range(-1.0, 1.01)  # 0 lies not halfway between two integers
    twin = insert_qdq.quantized(program, quantization.Ranges("net", "min_max", 1, names))
    stored = {
        op.outputs[0]: twin.vars[op.inputs[0]].quantization
        for op in twin.ops
        if op.type == "dequantize_linear"
    }
    assert stored["joined"] == stored["b"] == insert_qdq.quantization(names["b"])
    own = read_elsewhere and wide > 2
    assert stored["a"] == insert_qdq.quantization(names["a" if own else "b"])
    planned = trimtab.optimize(twin)
    real = {op.type for op in planned.steps if planned.dtype(op) == "f32"}
    assert real == {"quantize_linear", "convert_layout"}  # of results that leave
    feed = {"x": RNG.uniform(-1, 1, (1, 4, 6, 6)).astype(np.float32)}
    expected, actual = (trimtab.Session(p).run(feed)["joined"] for p in (program, twin))
    inside = np.clip(expected, -1, 1) if own else expected
    step = 2 * wide / 255
    assert abs(np.clip(actual, -1, 1)[:, :4] - np.clip(inside, -1, 1)[:, :4]).max() < 3 * step


def test_every_unary_operator_with_a_table_computes_on_int8() -> None:
    names = [op.name for op in schema.operators().values() if op.table]
    assert "softsign" in names
    for name in names:
        rng = np.random.default_rng(1)  # the values do not depend on the number of operators
        program = Program(name)
        block, x = program.block, program.add_input("x", (1, 3, 8, 8))
        weights = [rng.normal(0, 0.3, (4, c, 3, 3)).astype(np.float32) for c in (3, 4)]
        (y,) = block.add_op("conv", [x, block.add_constant(weights[0])])
        (y,) = block.add_op(name, [y])
        program.outputs = block.add_op("conv", [y, block.add_constant(weights[1])])
        data = {"x": rng.normal(0, 1, (10, 3, 8, 8)).astype(np.float32)}
        quantized = trimtab.quantize(program, data)
        types = {op.type for op in passes.optimize(quantized.program).ops}
        assert types <= {
            *("quantize_linear", "qlinear_conv", "look_up", "convert_layout", "reshape"),
        }, (name, types)
        assert quantized.accuracy.cosine > 0.99, name
