"""One program for all sizes computes what onnxruntime computes at each size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import trimtab
from tests.importers.free_dimensions.networks import NETWORKS, Builder
from tests.ops import oracle
from tests.some import some
from trimtab import exporters
from trimtab.errors import ImportModelError, UnsupportedOperatorError, UsageError
from trimtab.planner.plan_file import Plan

Arrays = dict[str, np.ndarray[Any, Any]]

PRECISIONS = {"f32": 1e-4, "f16": 2e-2}


def outputs_at(model: onnx.ModelProto, shape: tuple[int, ...]) -> tuple[Arrays, Arrays]:
    x = np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)
    return {"x": x}, oracle.run(model, {"x": x})


@pytest.mark.parametrize("name", NETWORKS)
def test_a_free_network_computes_the_same_as_onnxruntime_at_any_size(
    name: str, tmp_path: Path
) -> None:
    network = NETWORKS[name]
    model = network.build()
    program = trimtab.load(model, {"x": network.bounds}, cache=False)
    for precision, tolerance in PRECISIONS.items():
        trimtab.optimize(program, plan=Plan(precision=precision)).save(tmp_path / "free.ttm")
        session = trimtab.Session(tmp_path / "free.ttm")
        arena = session.memory["arena_bytes"]
        for point in network.points:
            inputs, expected = outputs_at(model, network.shape(point))
            actual = session.run(inputs)
            for key, y in expected.items():
                assert actual[key].shape == y.shape
                error = np.abs(actual[key] - y).max() / np.abs(y).max()
                assert error < tolerance, (precision, point, error)
        assert session.memory["arena_bytes"] == arena


@pytest.mark.parametrize("name", ["attending", "segmenter", "classifier"])
def test_a_free_network_can_be_quantized(name: str) -> None:
    network = NETWORKS[name]
    model = network.build()
    program = trimtab.load(model, {"x": network.bounds}, cache=False)
    largest = network.shape(network.points[1])
    rng = np.random.default_rng(1)
    quantized = trimtab.quantize(program, {"x": rng.standard_normal((4, *largest), np.float32)})
    session = trimtab.Session(quantized.program, plan=quantized.plan)
    for point in some(network.points):
        inputs, expected = outputs_at(model, network.shape(point))
        for y, reference in some(zip(session.run(inputs).values(), expected.values(), strict=True)):
            assert y.shape == reference.shape
            similarity = np.vdot(y, reference) / np.linalg.norm(y) / np.linalg.norm(reference)
            assert similarity > 0.97, point


def test_an_int8_network_computes_at_a_size_what_it_computes_when_loaded_at_that_size() -> None:
    network = NETWORKS["classifier"]
    rng = np.random.default_rng(1)
    samples = {"x": rng.standard_normal((4, 1, 3, 40, 40), np.float32)}
    bounds = {"x": "1,3,8..40/8,8..40/8"}
    free = trimtab.quantize(trimtab.load(network.build(), bounds, cache=False), samples)
    x = rng.standard_normal((1, 3, 40, 40), np.float32)
    fixed = trimtab.quantize(
        trimtab.load(network.build(), {"x": (1, 3, 40, 40)}, cache=False), samples
    )
    (actual,), (expected,) = (
        trimtab.Session(q.program, plan=q.plan).run({"x": x}).values() for q in (free, fixed)
    )
    assert actual.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["ReduceSum", "Transpose"])
def test_a_part_of_one_row_at_the_largest_size_may_be_empty_at_others(name: str) -> None:
    b = Builder()
    part = b.add("Slice", "x", b.constant([7]), b.constant([100]), b.constant([0]))
    is_sum = name == "ReduceSum"
    y = b.add(name, part, b.constant([0])) if is_sum else b.add(name, part, perm=[1, 0])
    model = b.model({"x": ("n", 1)}, y)
    session = trimtab.Session(trimtab.load(model, {"x": "1..8,1"}, cache=False))
    for rows in (8, 7, 1):
        inputs, expected = outputs_at(model, (rows, 1))
        for key, want in some(expected.items()):
            np.testing.assert_array_equal(session.run(inputs)[key], want, strict=True)


def test_inputs_with_equal_bounds_have_one_size() -> None:
    b = Builder()
    y = b.add("Reshape", b.add("Add", "x", "mask"), b.shape(b.size("mask", 0), -1))
    model = b.model({"x": ("n", 3, "w"), "mask": ("n", 1, "w")}, y)
    bounds = {"x": "1..4,3,2..9", "mask": "1..4,1,2..9"}
    session = trimtab.Session(trimtab.load(model, bounds, cache=False))
    rng = np.random.default_rng(0)
    for n, w in ((1, 2), (4, 9), (3, 5), (4, 2)):
        x, mask = (rng.standard_normal((n, c, w), np.float32) for c in (3, 1))
        (actual,) = session.run({"x": x, "mask": mask}).values()
        np.testing.assert_array_equal(actual, (x + mask).reshape(n, -1))
    with pytest.raises(UsageError, match="must be equal"):
        session.run({"x": x, "mask": mask[:, :, :1].repeat(3, 2)})


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((5, 3, 16, 32), "larger than its bounds.*5, 4"),
        ((1, 3, 16, 15), "smaller than its bounds.*15, 16"),
        ((1, 3, 16, 161), "larger than its bounds.*161, 160"),
        ((1, 4, 16, 32), "larger than its bounds.*4, 3"),
        ((1, 3, 16), "bad dimensions"),
    ],
)
def test_a_size_outside_of_its_bounds_is_refused(shape: tuple[int, ...], message: str) -> None:
    network = NETWORKS["attending"]
    session = trimtab.Session(trimtab.load(network.build(), {"x": network.bounds}, cache=False))
    inputs, expected = outputs_at(network.build(), (2, 3, 16, 50))
    for x in (inputs["x"], np.zeros(shape, np.float32), inputs["x"]):
        if x.shape == shape:
            with pytest.raises(UsageError, match=message):
                session.run({"x": x})
        else:
            (actual,) = session.run({"x": x}).values()
            np.testing.assert_allclose(actual, next(iter(expected.values())), atol=1e-5)


def test_an_operator_that_cannot_follow_the_sizes_is_named() -> None:
    b = Builder()
    length = b.add("Cast", b.size("x", 1), to=onnx.TensorProto.FLOAT)
    model = b.model({"x": (1, "l")}, b.add("Mul", "x", b.add("Sqrt", length)))
    with pytest.raises(UnsupportedOperatorError, match=r"mul .*computed from the sizes"):
        trimtab.load(model, {"x": "1,2..9"}, cache=False)


def test_sizes_at_which_the_network_is_invalid_are_named() -> None:
    b = Builder()
    y = b.add("Reshape", "x", b.constant([-1, 4]))
    model = b.model({"x": (1, "l")}, y)
    with pytest.raises(ImportModelError, match="invalid at x=1,") as caught:
        trimtab.load(model, {"x": "1,2..40"}, cache=False)
    assert "in steps" in caught.value.hint
    program = trimtab.load(model, {"x": "1,4..40/4"}, cache=False)
    (result,) = trimtab.Session(program).run(np.zeros((1, 12), np.float32)).values()
    assert result.shape == (3, 4)


def test_what_needs_fixed_sizes_says_so(tmp_path: Path) -> None:
    program = trimtab.load(NETWORKS["segmenter"].build(), {"x": "1,3,17..70,33..90"}, cache=False)
    for attempt in (
        lambda: trimtab.camera.attach(program, "camera(rgb, 90x70)"),
        lambda: trimtab.attach_head(program, "yolov8"),
        lambda: trimtab.training(program),
        lambda: exporters.write(program, tmp_path / "x.onnx", exporters.exporters()["onnx"]),
    ):
        with pytest.raises(UsageError, match="inputs of one size") as caught:
            attempt()
        assert "instead of bounds" in caught.value.hint


def test_the_cache_of_plans_knows_bounds(tmp_path: Path) -> None:
    network = NETWORKS["classifier"]
    (tmp_path / "net.onnx").write_bytes(network.build().SerializeToString())
    inputs, expected = outputs_at(network.build(), network.shape(network.points[2]))
    for _ in range(2):
        program = trimtab.load(tmp_path / "net.onnx", {"x": network.bounds})
        (actual,) = trimtab.Session(program).run(inputs).values()
        np.testing.assert_allclose(actual, next(iter(expected.values())), rtol=1e-4, atol=1e-5)
