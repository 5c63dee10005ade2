"""Winograd convolution on int8 values: exactly onnxruntime's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.ops.quantized import Array, QuantizedGraph, onnxruntime_of
from trimtab.planner.algorithms import quantized_winograd
from trimtab.planner.plan_file import Plan
from trimtab.target import Target

pytestmark = pytest.mark.bounds

WINOGRAD = Plan(("quantized_winograd",))
WEIGHTS = ("load", "file")

# id: input, output channels, attributes. Images with and without partial tiles; channels with a
# partial vector; columns that threads share; depths whose sums exceed 32 bits.
CASES: dict[str, tuple[tuple[int, ...], int, dict[str, Any]]] = {
    "whole": ((1, 16, 8, 8), 16, {"pads": [1, 1, 1, 1]}),
    "odd": ((2, 19, 9, 7), 33, {"pads": [1, 1, 1, 1]}),
    "no-padding": ((1, 32, 11, 14), 40, {}),
    "uneven-padding": ((1, 64, 6, 5), 17, {"pads": [2, 0, 1, 2]}),
    "one-pixel": ((1, 24, 1, 1), 16, {"pads": [1, 1, 1, 1]}),
    "shared": ((1, 64, 5, 6), 150, {"pads": [1, 1, 1, 1]}),
    "deep": ((1, 300, 7, 7), 24, {"pads": [1, 1, 1, 1]}),
}


def convolution(
    name: str, dtype: type[Any], largest: int = 127
) -> tuple[QuantizedGraph, str, Array, tuple[int, ...]]:
    """A QLinearConv: its graph, its output, and its weights, which are at most `largest`."""
    shape, columns, attributes = CASES[name]
    graph = QuantizedGraph(dtype, seed=len(name))
    _, w_scale = graph.weights(columns, shape[1], 3, 3, scales=columns)
    w = graph.rng.integers(-largest, largest + 1, (columns, shape[1], 3, 3)).astype(np.int8)
    bias = graph.rng.integers(-3000, 3000, columns).astype(np.int32)
    q = graph.quantize(graph.input(*shape), 0.04, 9)
    points = graph.constant(np.zeros(columns, np.int8))
    y = graph.node(
        "QLinearConv",
        *(q, *graph.scale(0.04, 9)),
        *(graph.constant(w), graph.constant(w_scale), points),
        *graph.scale(0.11 * shape[1] / 16, -21),
        graph.constant(bias),
        **attributes,
    )
    return graph, y, w, shape


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", CASES)
def test_a_winograd_convolution_equals_onnxruntime(
    name: str, dtype: type[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = 90 if name == "deep" else 127  # 300 channels of larger weights may overflow
    graph, y, w, _ = convolution(name, dtype, largest)
    assert quantized_winograd.exact(w)
    model, feeds = graph.model(y), graph.feeds()
    (want,) = onnxruntime_of(model, feeds)
    path = tmp_path / "case.onnx"
    path.write_bytes(model.SerializeToString())
    program = trimtab.load(path)
    host = Target.host()
    for isa in host.isas:
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for prefer in ("balanced", "load"):
            plan = Plan(WINOGRAD.algorithms, prefer=prefer)
            for threads in (1, 3):
                session = trimtab.Session(program, threads, plan=plan)
                types = {op.type for op in session.program.ops}
                assert "qlinear_conv_winograd" in types
                assert ("qlinear_pack_winograd" in types) == (prefer == "balanced")
                np.testing.assert_array_equal(session.run(feeds)[y], want)


def test_weights_whose_sums_may_exceed_25_bits_use_another_algorithm(tmp_path: Path) -> None:
    w = np.full((16, 230, 3, 3), 127, np.int8)
    assert not quantized_winograd.exact(w)
    assert quantized_winograd.exact(w[:, :229])
    w[0, 0, 0, 0] = -128
    assert quantized_winograd.exact(w[:, :229])

    graph, y, _, _ = convolution("deep", np.int8)
    model, feeds = graph.model(y), graph.feeds()
    path = tmp_path / "case.onnx"
    large = np.full((24, 300, 3, 3), 127, np.int8)
    tensor = next(t for t in model.graph.initializer if tuple(t.dims) == large.shape)
    tensor.raw_data = large.tobytes()
    path.write_bytes(model.SerializeToString())
    session = trimtab.Session(trimtab.load(path), plan=WINOGRAD)
    assert "qlinear_conv_winograd" not in {op.type for op in session.program.ops}
    (want,) = onnxruntime_of(model, feeds)
    np.testing.assert_array_equal(session.run(feeds)[y], want)


def test_packed_weights_are_the_transformed_ones() -> None:
    rng = np.random.default_rng(3)
    w = rng.integers(-128, 128, (5, 3, 3, 3)).astype(np.int8)
    packed = quantized_winograd.pack(w, 4, 2).view(np.int16)
    elements = packed.reshape(6, 6, 2, 2, 4, 2)  # [row][column][panel][step][column][element]
    line = {0: (6, 0, 0), 3: (1, 2, 4), 5: (0, 0, 6)}
    for row, left in line.items():
        for column, right in line.items():
            want = np.array(left) @ w[4, 2].astype(int) @ np.array(right)
            assert elements[row, column, 1, 1, 0, 0] == want
            assert elements[row, column, 1, 1, 0, 1] == 0
