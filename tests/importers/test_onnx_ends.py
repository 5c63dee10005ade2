"""ONNX inputs and outputs of float64, int16, uint16 and uint32, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import trimtab
from tests.importers.onnx_text import model_of
from tests.ops.cases.case import Array, normal
from trimtab.planner.plan_file import Plan

# For operands a and b: b has no 0.
INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Max": np.maximum,
    "Min": np.minimum,
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseXor": lambda a, b: a ^ b,
    "Less": lambda a, b: a < b,
    "Equal": lambda a, b: a == b,
}


def of_type(dtype: type, seed: int) -> Array:
    """Values of the whole range of a type, in which sums and products wrap around."""
    ends = np.iinfo(dtype)
    values = np.random.default_rng(seed).integers(ends.min, ends.max, (3, 40), dtype, True)
    values[0, :3] = ends.min, ends.max, 1
    return values


def session_of(op: str, result: Any, *operands: Array, **attributes: Any) -> trimtab.Session:
    """A network of one node whose operands are its inputs."""
    names = [f"x{i}" for i in range(len(operands))]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, operands, strict=True)
    ]
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(result))
    y = helper.make_tensor_value_info("y", dtype, None)
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "g", infos, [y])
    opset = helper.make_opsetid("", 18)
    return trimtab.Session(helper.make_model(graph, opset_imports=[opset]), cache=False)


def run(op: str, result: Any, *operands: Array, **attributes: Any) -> Array:
    session = session_of(op, result, *operands, **attributes)
    y = session.run({f"x{i}": x for i, x in enumerate(operands)})["y"]
    assert y.dtype == result
    return y


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.uint32])
@pytest.mark.parametrize("op", INTEGER)
def test_small_integers_wrap_around_as_those_of_numpy(op: str, dtype: type) -> None:
    a, b = of_type(dtype, 1), of_type(dtype, 2)
    a[0, :3], b[1] = b[0, :3], a[1]
    want = INTEGER[op](a, b)
    np.testing.assert_array_equal(run(op, want.dtype, a, b), want)


def test_a_sum_wraps_before_it_is_compared_and_divided(tmp_path: Path) -> None:
    text = """net (uint16[4] x) => (bool[4] small, uint16[4] half, float[4] f) {
        y = Add (x, c) small = Less (y, c) half = Div (y, two) f = Cast <to = 1> (y) }"""
    constants = {"c": np.uint16(10), "two": np.uint16(2)}
    x = np.array([0, 65525, 65526, 65535], np.uint16)
    y = x + np.uint16(10)
    result = trimtab.Session(model_of(text, constants), cache=False).run(x)
    np.testing.assert_array_equal(result["small"], y < 10)
    np.testing.assert_array_equal(result["half"], y // 2)
    np.testing.assert_array_equal(result["f"], y.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.uint32, np.float64])
def test_values_that_are_only_moved_are_the_same(dtype: type) -> None:
    x = of_type(dtype, 3) if dtype is not np.float64 else normal(3, 40).astype(np.float64)
    np.testing.assert_array_equal(run("Identity", dtype, x), x)
    np.testing.assert_array_equal(run("Transpose", dtype, x), x.T)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.uint32])
def test_floats_become_small_integers_and_back(dtype: type) -> None:
    to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = np.abs(normal(7, 5)) * 1000
    np.testing.assert_array_equal(run("Cast", dtype, x, to=to), x.astype(dtype))
    y = of_type(dtype, 4)
    back = run("Cast", np.float32, y, to=helper.np_dtype_to_tensor_dtype(np.dtype(np.float32)))
    np.testing.assert_array_equal(back, y.astype(np.float32))


def test_images_of_float64_are_computed_in_float32_also_where_f16_is_asked_for() -> None:
    rng = np.random.default_rng(5)
    weights = rng.standard_normal((8, 3, 3, 3)) * 0.2
    text = "net (double[1, 3, 9, 7] x) => (double[1, 8, 7, 5] y) { y = Conv (x, w) }"
    model = model_of(text, {"w": weights})
    x = rng.standard_normal((1, 3, 9, 7))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    want = np.einsum("nchwij,ocij->nohw", windows, weights)
    for plan, tolerance in ((Plan(), 1e-5), (Plan(precision="f16"), 1e-2)):
        y = trimtab.Session(model, plan=plan, cache=False).run(x)["y"]
        assert y.dtype == np.float64
        np.testing.assert_allclose(y, want, 0, tolerance)


def test_samples_of_16_bits_have_a_free_length() -> None:
    text = "net (int16[1, n] pcm) => (float[1, n] y) { f = Cast <to = 1> (pcm) y = Mul (f, s) }"
    model = model_of(text, {"s": np.float32(2**-15)})
    session = trimtab.Session(trimtab.load(model, {"pcm": "1,16..400"}, cache=False))
    for length in (16, 399):
        pcm = of_type(np.int16, length).reshape(1, -1)[:, :length]
        result = session.run({"pcm": np.ascontiguousarray(pcm)})["y"]
        np.testing.assert_array_equal(result, pcm.astype(np.float32) / 2**15)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16])
def test_quantized_values_of_16_bits_enter_and_leave(dtype: type) -> None:
    ends, point = np.iinfo(dtype), 0 if dtype is np.int16 else 30000
    kind = np.dtype(dtype).name
    text = f"""net ({kind}[4, 9] q) => ({kind}[4, 9] r, float[4, 9] y) {{
        y = DequantizeLinear (q, s, z) r = QuantizeLinear (y, t, z) }}"""
    constants = {"s": np.float32(0.003), "t": np.float32(0.002), "z": dtype(point)}
    q = of_type(dtype, 6)[:, :12].reshape(4, 9)
    result = trimtab.Session(model_of(text, constants), cache=False).run(q)
    real = (q.astype(np.float64) - point) * np.float32(0.003)
    np.testing.assert_allclose(result["y"], real, 1e-6)
    rounded = np.clip(np.rint(real / np.float32(0.002)) + point, ends.min, ends.max)
    assert result["r"].dtype == dtype
    assert np.abs(result["r"].astype(int) - rounded).max() <= 1


def test_a_planned_file_keeps_the_types_of_its_ends(tmp_path: Path) -> None:
    text = "net (double[3] x, int16[3] k) => (double[3] y, int16[3] n) { y = Exp (x) n = Neg (k) }"
    path = tmp_path / "net.ttm"
    trimtab.session.optimize(trimtab.load(model_of(text, {}), cache=False)).save(path)
    x, k = np.array([0.5, -1, 2]), np.array([-32768, 7, 0], np.int16)
    result = trimtab.Session(path).run({"x": x, "k": k})
    assert result["y"].dtype == np.float64
    assert result["n"].dtype == np.int16
    np.testing.assert_allclose(result["y"], np.exp(x), 1e-6)
    np.testing.assert_array_equal(result["n"], -k)


def test_a_constant_of_16_bits_is_an_operand() -> None:
    text = "net (int16[3] x) => (int16[3] y) { y = Add (x, c) }"
    tensor = numpy_helper.from_array(np.array([1, -1, 32767], np.int16), "c")
    x = np.array([32767, -32768, 1], np.int16)
    y = trimtab.Session(model_of(text, {"c": tensor}), cache=False).run(x)["y"]
    np.testing.assert_array_equal(y, np.array([-32768, 32767, -32768], np.int16))
