"""Quantized types without kernels, against onnxruntime: 16 and 4 bits, and scales for blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import trimtab
from tests.importers.onnx_text import assert_matches, saved
from tests.ops.cases.case import Array, normal
from trimtab.errors import ImportModelError

RANGES = {"int4": (-8, 8), "uint4": (0, 16), "int16": (-3000, 3000), "int8": (-128, 128)}


@pytest.mark.parametrize(
    ("type_name", "axis", "block"),
    [
        ("int4", 0, 0),
        ("uint4", 1, 0),
        ("int4", 0, 4),
        ("uint4", 1, 3),
        ("int8", 0, 3),
        ("int16", 1, 0),
    ],
)
@pytest.mark.parametrize("has_points", [False, True])
def test_weights_become_float32(
    type_name: str, axis: int, block: int, has_points: bool, tmp_path: Path
) -> None:
    shape, rng = (8, 6), np.random.default_rng(0)
    sizes = [shape[axis]] if not block else [*shape]
    if block:
        sizes[axis] = -(-shape[axis] // block)
    elements = getattr(TensorProto, type_name.upper())

    def tensor(name: str, *dims: int) -> TensorProto:
        values = rng.integers(*RANGES[type_name], dims).ravel()
        return helper.make_tensor(name, elements, dims, values)

    constants = {"w": tensor("w", *shape), "s": np.abs(normal(*sizes))}
    if has_points:
        constants["p"] = tensor("p", *sizes)
    text = f"""net (float[3, 8] x) => (float[3, 6] y) {{
      weights = DequantizeLinear <axis = {axis}, block_size = {block}>
        (w, s{", p" if has_points else ""})
      y = MatMul (x, weights)
    }}"""
    assert_matches(text, {"x": normal(3, 8)}, constants, tmp_path)


@pytest.mark.parametrize(
    ("point", "scale"),
    [
        (np.uint16(32768), np.float32(1e-4)),
        (np.int16(0), np.float32(1e-4)),
        (np.array([7, 30000, 65535, 0], np.uint16), np.array([1e-4, 2e-4, 3e-5, 1e-4], np.float32)),
    ],
    ids=["uint16", "int16", "per channel"],
)
def test_activations_of_16_bits(point: Array, scale: Array, tmp_path: Path) -> None:
    text = """net (float[1, 4, 7, 9] x) => (float[1, 3, 5, 7] y) {
      q = QuantizeLinear <axis = 1> (x, s, p)
      d = DequantizeLinear <axis = 1> (q, s, p)
      sums = Conv (d, w)
      q2 = QuantizeLinear (sums, s2, p2)
      y = DequantizeLinear (q2, s2, p2)
    }"""
    constants = {
        "s": scale,
        "p": point,
        "w": normal(3, 4, 3, 3),
        "s2": np.float32(5e-4),
        "p2": np.uint16(32768),
    }
    # One step of the result may differ where float32 sums differ in their last bits.
    assert_matches(text, {"x": normal(1, 4, 7, 9)}, constants, tmp_path, tolerance=2e-4)


def test_numbers_of_float64_are_computed_in_float32(tmp_path: Path) -> None:
    text = """net (float[3, 8] x) => (float[3, 8] y) {
      wide = Cast <to = 11> (x)
      product = Mul (wide, factor)
      y = Cast <to = 1> (product)
    }"""
    assert_matches(text, {"x": normal(3, 8)}, {"factor": np.float64(1 / 3)}, tmp_path)


@pytest.mark.parametrize("type_name", ["uint4", "uint64"])
def test_outputs_of_a_type_that_the_engine_lacks_are_refused(
    type_name: str, tmp_path: Path
) -> None:
    node = "Cast <to = 21> (x)" if type_name == "uint4" else "Cast <to = 13> (x)"
    text = f"net (float[3] x) => ({type_name}[3] y) {{ y = {node} }}"
    saved(text, {}, tmp_path)
    with pytest.raises(ImportModelError, match=f"output 'y' holds {type_name}"):
        trimtab.load(tmp_path / "net.onnx")
