"""Networks that onnxruntime quantized dynamically."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import trimtab
from tests.importers.onnx_text import assert_matches
from tests.ops.cases.case import Array, normal

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[5, 37] x) => (float[5, 9] y, uint8[5, 37] q, float scale, uint8 point) {
  q, scale, point = DynamicQuantizeLinear (x)
  products = MatMulInteger (q, w, point, zero)
  sums = Cast <to = 1> (products)
  factor = Mul (scale, w_scale)
  y = Mul (sums, factor)
}
"""

X = normal(5, 37)


@pytest.mark.parametrize(
    "x", [X, np.abs(X) + 3, -np.abs(X) * 100 - 1, X * 0], ids=["both", "positive", "negative", "0"]
)
def test_a_dynamically_quantized_product(tmp_path: Path, x: Array) -> None:
    model = onnx.parser.parse_model(MODEL)
    rng = np.random.default_rng(3)
    for name, value in {
        "w": rng.integers(-127, 128, (37, 9)).astype(np.int8),
        "zero": np.int8(3),
        "w_scale": np.float32(0.02),
    }.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    expected = onnxruntime.InferenceSession(path).run(None, {"x": x})
    y, q, scale, point = trimtab.Session(path, cache=False).run({"x": x}).values()
    np.testing.assert_allclose(scale, expected[2], rtol=1e-6)
    assert point == expected[3]
    # The scale of the engine may differ in its last bit, which decides ties.
    assert np.abs(q.astype(int) - expected[1].astype(int)).max() <= 1
    assert (q != expected[1]).mean() < 0.01
    np.testing.assert_allclose(y, expected[0], rtol=1e-3, atol=255 * float(scale) * 0.02)


@pytest.mark.parametrize("is_conv", [False, True])
def test_sums_that_float32_cannot_hold_are_exact(is_conv: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    shape, weights = ((1, 150, 5, 4), (6, 150, 3, 3)) if is_conv else ((3, 1100), (1100, 6))
    op = "ConvInteger <pads = [1, 1, 1, 1]>" if is_conv else "MatMulInteger"
    text = f"net (uint8{list(shape)} x) => (int32[a] y) {{ y = {op} (x, w, point) }}"
    inputs = {"x": rng.integers(0, 256, shape).astype(np.uint8)}
    # All products are large, so that the sums are beyond 2^24.
    constants = {"w": rng.integers(100, 128, weights).astype(np.int8), "point": np.uint8(3)}
    assert_matches(text, inputs, constants, tmp_path, opset=17, tolerance=0)


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("channels", [24, 57])
def test_sums_that_would_be_fast_in_another_order_are_exact(
    channels: int, kernel: int, tmp_path: Path
) -> None:
    """The algorithms of Winograd and Strassen round."""
    rng = np.random.default_rng(6)
    shape, weights = (1, channels, 32, 40), (channels, channels, kernel, kernel)
    text = f"""net (uint8{list(shape)} x) => (int32[a, b, c, d] y) {{
        y = ConvInteger <pads = [1, 1, 1, 1]> (x, w, point)
    }}"""
    inputs = {"x": rng.integers(0, 256, shape).astype(np.uint8)}
    constants = {"w": rng.integers(-128, 128, weights).astype(np.int8), "point": np.uint8(121)}
    assert_matches(text, inputs, constants, tmp_path, opset=17, tolerance=0)


def lstm(direction: str, per_row: bool, dtype: type) -> tuple[str, dict[str, Array]]:
    """The text of a layer with weights of 8 bits, and its constants."""
    directions, n, inputs, size = 1 + (direction == "bidirectional"), 3, 11, 7
    rng = np.random.default_rng(7)
    bits = np.iinfo(dtype)
    middle = 0 if dtype is np.int8 else 128
    constants: dict[str, Array] = {
        "b": rng.normal(size=(directions, 8 * size)).astype(np.float32),
        "h0": rng.normal(size=(directions, n, size)).astype(np.float32),
    }
    for name, rows in (("w", inputs), ("r", size)):
        values: Array = rng.integers(bits.min, bits.max, (directions, rows, 4 * size)).astype(dtype)
        shape = (directions, 4 * size) if per_row else (directions,)
        scale = rng.uniform(0.002, 0.006, shape).astype(np.float32)
        point: Array = np.full(shape, middle, dtype)
        constants |= {name: values, f"{name}_scale": scale, f"{name}_point": point}
    text = f"""net (float[6, 3, 11] x) => (float[a, b, c, d] y, float[e, f, g] h) {{
        y, h = com.microsoft.DynamicQuantizeLSTM <direction = "{direction}", hidden_size = {size}>
            (x, w, r, b, , h0, , , w_scale, w_point, r_scale, r_point)
    }}"""
    return text, constants


@pytest.mark.parametrize("dtype", [np.int8, np.uint8], ids=["i8", "u8"])
@pytest.mark.parametrize("per_row", [False, True], ids=["per-tensor", "per-row"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_an_lstm_reads_8_bits(direction: str, per_row: bool, dtype: type, tmp_path: Path) -> None:
    text, constants = lstm(direction, per_row, dtype)
    x = {"x": np.random.default_rng(8).normal(size=(6, 3, 11)).astype(np.float32)}
    assert_matches(text, x, constants, tmp_path, opset=17, tolerance=1e-4)
