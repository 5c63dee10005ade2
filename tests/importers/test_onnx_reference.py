"""Operators that onnxruntime lacks or computes otherwise, beside ONNX's reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import trimtab
from tests.importers.onnx_text import saved
from tests.ops.cases.case import Array, normal
from trimtab.errors import UnsupportedOperatorError


def assert_matches_reference(
    text: str, x: Array, constants: dict[str, Any], folder: Path, opset: int, tolerance: float
) -> None:
    model = saved(text, constants, folder, opset)
    expected = np.asarray(*ReferenceEvaluator(model).run(None, {"x": x}))
    (actual,) = trimtab.Session(folder / "net.onnx", cache=False).run({"x": x}).values()
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(actual, expected, tolerance, tolerance)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("kind", ["float", "int32", "int64"])
def test_products_up_to_each_element(
    kind: str, exclusive: int, reverse: int, tmp_path: Path
) -> None:
    x = normal(2, 7, 3) if kind == "float" else np.arange(-12, 30).reshape(2, 7, 3).astype(kind)
    node = f"y = CumProd <exclusive = {exclusive}, reverse = {reverse}> (x, axis)"
    text = f"net ({kind}[2, 7, 3] x) => ({kind}[a, b, c] y) {{ {node} }}"
    assert_matches_reference(text, x, {"axis": np.int64(-2)}, tmp_path, 26, 1e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_resized_integers_are_rounded_to_the_nearest(
    dtype: type, mode: str, tmp_path: Path
) -> None:
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(1)
    x: Array = rng.integers(ends.min, ends.max, (1, 2, 5, 7), endpoint=True).astype(dtype)
    text = f"""net (KIND[1, 2, 5, 7] x) => (KIND[a, b, c, d] y) {{
        y = Resize <mode = "{mode}"> (x, , scales)
    }}"""
    scales = {"scales": np.array([1, 1, 1.7, 0.6], np.float32)}
    floats = saved(text.replace("KIND", "float"), scales, tmp_path)
    real = np.asarray(*ReferenceEvaluator(floats).run(None, {"x": x.astype(np.float32)}))
    saved(text.replace("KIND", np.dtype(dtype).name), scales, tmp_path)
    (actual,) = trimtab.Session(tmp_path / "net.onnx", cache=False).run({"x": x}).values()
    assert actual.dtype == dtype
    assert np.abs(actual - real.clip(ends.min, ends.max)).max() <= 0.5 + 1e-4


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_any_axes_are_resized(mode: str, tmp_path: Path) -> None:
    x = normal(3, 4, 5, 2)
    text = f"""net (float[3, 4, 5, 2] x) => (float[a, b, c, d] y) {{
        y = Resize <mode = "{mode}", axes = [0, 2]> (x, , scales)
    }}"""
    scales = {"scales": np.array([1.7, 0.6], np.float32)}
    assert_matches_reference(text, x, scales, tmp_path, 21, 1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_determinants(n: int, tmp_path: Path) -> None:
    x = normal(3, 2, n, n)
    x[0, 0, 0, 0] = 0  # no pivot
    text = f"net (float[3, 2, {n}, {n}] x) => (float[a, b] y) {{ y = Det (x) }}"
    assert_matches_reference(text, x, {}, tmp_path, 21, 1e-4)


def test_the_determinant_of_one_matrix_is_a_scalar(tmp_path: Path) -> None:
    text = "net (float[3, 3] x) => (float y) { y = Det (x) }"
    assert_matches_reference(text, normal(3, 3), {}, tmp_path, 21, 1e-5)


@pytest.mark.parametrize(("before", "after"), [("int8", "uint8"), ("uint8", "int8")])
def test_the_bits_of_an_integer_are_one_of_the_other_sign(
    before: str, after: str, tmp_path: Path
) -> None:
    x = np.arange(-9, 12).astype(before).reshape(3, 7)
    to = helper.np_dtype_to_tensor_dtype(np.dtype(after))
    text = f"net ({before}[3, 7] x) => ({after}[a, b] y) {{ y = BitCast <to = {to}> (x) }}"
    saved(text, {}, tmp_path, 26)
    (actual,) = trimtab.Session(tmp_path / "net.onnx", cache=False).run({"x": x}).values()
    np.testing.assert_array_equal(actual, x.view(after), strict=True)


def test_the_bits_of_a_constant_are_any_type_of_its_size(tmp_path: Path) -> None:
    text = """net (int32[4] x) => (int32[a] y) {
        bits = BitCast <to = 6> (c)
        y = Add (x, bits)
    }"""
    constant, x = np.array([0.5, -3, 0, 7e-40], np.float32), np.arange(4, dtype=np.int32)
    saved(text, {"c": constant}, tmp_path, 26)
    (actual,) = trimtab.Session(tmp_path / "net.onnx", cache=False).run({"x": x}).values()
    np.testing.assert_array_equal(actual, x + constant.view(np.int32), strict=True)


def test_computed_floats_have_no_bits(tmp_path: Path) -> None:
    text = "net (float[4] x) => (int32[a] y) { y = BitCast <to = 6> (x) }"
    saved(text, {}, tmp_path, 26)
    with pytest.raises(UnsupportedOperatorError, match="it makes int32 of the bits of float32"):
        trimtab.load(tmp_path / "net.onnx")
