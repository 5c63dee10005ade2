"""Networks that onnxruntime quantized dynamically."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import trimtab
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
