"""Fused operators of com.microsoft, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.onnx_text import assert_matches, saved
from tests.ops.cases.case import Array, normal
from trimtab.errors import UnsupportedOperatorError

X, ROWS = normal(1, 4, 7, 9), normal(2, 5, 16)
W, B = normal(3, 4, 3, 3), normal(3)
VECTORS = {name: normal(16, seed=name) for name in ("g", "b", "more")}
QKV = {"k": normal(2, 7, 16, seed="k"), "v": normal(2, 7, 16, seed="v")}

Values = dict[str, Array]


def net(node: str, inputs: Values, outputs: str = "float[a] y", results: str = "y") -> str:
    """A graph of one node of com.microsoft."""
    declared = ", ".join(f"float{list(value.shape)} {name}" for name, value in inputs.items())
    return f"net ({declared}) => ({outputs}) {{ {results} = com.microsoft.{node} }}"


def conv(activation: str, parameters: str = "") -> str:
    more = f", activation_params = [{parameters}]" if parameters else ""
    return f'FusedConv <activation = "{activation}"{more}> (x, w, b)'


@pytest.mark.parametrize(
    ("node", "inputs", "constants"),
    [
        (conv("Relu"), {"x": X}, {"w": W, "b": B}),
        (conv("LeakyRelu", "0.1"), {"x": X}, {"w": W, "b": B}),
        (conv("HardSigmoid", "0.3, 0.4"), {"x": X}, {"w": W, "b": B}),
        (conv("Clip", "-0.5, 1.5"), {"x": X}, {"w": W, "b": B}),
        (
            'FusedConv <activation = "Sigmoid"> (x, w, b, z)',
            {"x": X, "z": normal(1, 3, 5, 7)},
            {"w": W, "b": B},
        ),
        (
            'FusedGemm <activation = "LeakyRelu", activation_alpha = 0.2, transB = 1> (x, w, b)',
            {"x": normal(3, 4)},
            {"w": normal(5, 4), "b": normal(5)},
        ),
        (
            "FusedMatMul <alpha = 0.5, transA = 1, transB = 1> (x, z)",
            {"x": normal(2, 4, 3), "z": normal(2, 5, 4)},
            {},
        ),
        ("Gelu (x)", {"x": X}, {}),
        ("BiasGelu (x, b)", {"x": ROWS}, VECTORS),
        ("FastGelu (x, b)", {"x": ROWS}, VECTORS),
        ("QuickGelu <alpha = 1.5> (x)", {"x": ROWS}, {}),
        ("MultiHeadAttention <num_heads = 4> (x, k, v)", {"x": ROWS, **QKV}, {}),
        (
            "MultiHeadAttention <num_heads = 4, scale = 0.3> (x, k, v, b, , a)",
            {"x": ROWS, **QKV, "a": normal(2, 4, 5, 7)},
            {"b": normal(48)},
        ),
        (
            "Attention <num_heads = 4> (x, w, b)",
            {"x": ROWS},
            {"w": normal(16, 48), "b": normal(48)},
        ),
        (
            "RotaryEmbedding (x, p, c, s)",
            {"x": normal(1, 4, 3, 8)},
            {"p": np.array([[0, 2, 5]]), "c": normal(9, 4), "s": normal(9, 4, seed="s")},
        ),
        (
            "RotaryEmbedding <interleaved = 1> (x, p, c, s)",
            {"x": normal(1, 4, 3, 8)},
            {"p": np.array([4]), "c": normal(9, 4), "s": normal(9, 4, seed="s")},
        ),
    ],
    ids=lambda value: value.partition(" ")[0] if isinstance(value, str) else "",
)
def test_a_fused_operator(
    node: str, inputs: Values, constants: dict[str, Any], tmp_path: Path
) -> None:
    assert_matches(net(node, inputs), inputs, constants, tmp_path, opset=17)


@pytest.mark.parametrize(
    "node",
    [
        "SkipLayerNormalization <epsilon = 1e-5> (x, z, g, b, more)",
        "SkipSimplifiedLayerNormalization <epsilon = 1e-5> (x, z, g, more)",
    ],
)
def test_a_normalization_of_a_sum(node: str, tmp_path: Path) -> None:
    inputs = {"x": ROWS, "z": normal(2, 5, 16, seed="z")}
    text = net(node, inputs, "float[a] y, float[a] total", 'y, "", "", total').replace('""', "")
    constants = {name: value for name, value in VECTORS.items() if f"{name}" in node}
    assert_matches(text, inputs, constants, tmp_path, opset=17)


@pytest.mark.parametrize(
    ("bits", "columns", "block", "has_points"),
    [
        (4, 64, 32, False),
        (4, 96, 32, True),
        (4, 50, 16, True),
        (8, 64, 32, True),
        (2, 64, 32, False),
    ],
)
def test_weights_of_a_few_bits(
    bits: int, columns: int, block: int, has_points: bool, tmp_path: Path
) -> None:
    rows, blocks, rng = 7, -(-columns // block), np.random.default_rng(bits)

    def packed(*shape: int) -> Array:
        return rng.integers(0, 256, shape).astype(np.uint8)

    constants = {
        "w": packed(rows, blocks, block * bits // 8),
        "s": np.abs(normal(rows * blocks)),
        "b": normal(rows),
    }
    points = ", p" if has_points else ", "
    if has_points:
        constants["p"] = packed(rows * -(-blocks * bits // 8))
    node = f"<K = {columns}, N = {rows}, bits = {bits}, block_size = {block}>"
    inputs = {"x": normal(2, 3, columns)}
    text = net(f"MatMulNBits {node} (x, w, s{points}, , b)", inputs)
    assert_matches(text, inputs, constants, tmp_path, opset=17)


def test_a_form_that_is_not_supported_is_named(tmp_path: Path) -> None:
    inputs = {"x": ROWS, "m": normal(2, 5)}
    text = net("Attention <num_heads = 4> (x, w, b, m)", inputs)
    saved(text, {"w": normal(16, 48), "b": normal(48)}, tmp_path, 17)
    with pytest.raises(UnsupportedOperatorError, match="it has a padding mask"):
        trimtab.load(tmp_path / "net.onnx")
