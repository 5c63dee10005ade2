"""Depth of the quantized kernels, as the planner counts it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.ops.quantized import QuantizedGraph
from trimtab import kernels, passes
from trimtab.planner import algorithms, planner
from trimtab.planner.plan_file import Plan
from trimtab.target import Target

PAIRED = "paired_gemm_i8_6x16c4_avx2"
ROWS, COLUMNS, DEPTH = 36, 32, 64


@pytest.mark.parametrize(
    ("window", "channels", "strides", "group", "fits"),
    [
        (3, 64, (1, 1), 1, True),
        (1, 64, (1, 1), 1, False),
        (5, 64, (1, 1), 1, False),
        (3, 64, (2, 2), 1, False),
        (3, 64, (1, 1), 2, False),
        (3, 2, (1, 1), 1, False),
    ],
)
def test_quantized_winograd_is_for_3x3_windows_of_many_channels_without_strides_and_groups(
    window: int, channels: int, strides: tuple[int, int], group: int, fits: bool, tmp_path: Path
) -> None:
    graph = QuantizedGraph()
    w = graph.constant(np.ones((channels, channels // group, window, window), np.int8))
    x = graph.quantize(graph.input(1, channels, 9, 9), 0.04, 9)
    operands = (x, *graph.scale(0.04, 9), w, *graph.scale(0.002, 0), *graph.scale(0.1, 0))
    node = graph.node("QLinearConv", *operands, strides=strides, group=group)
    path = tmp_path / "net.onnx"
    path.write_bytes(graph.model(node).SerializeToString())
    program, target = passes.optimize(trimtab.load(path)), Target.of("x86_64")
    (op,) = (op for op in program.ops if op.type.startswith("qlinear_conv"))
    lowered = algorithms.registry()["quantized_winograd"].lower(program, op, target)
    assert (lowered is not None) == fits


@pytest.mark.parametrize(("weight", "steps"), [(1, 4), (64, 4), (65, 8), (127, 8), (-128, 8)])
def test_weights_too_large_to_pair_take_a_step_for_each_half_of_its_elements(
    weight: int, steps: int, tmp_path: Path
) -> None:
    """A step has 8 pairs. 2 x 64 x 255 fits in 16 bits; a larger weight is paired with 0."""
    graph = QuantizedGraph()
    w = graph.constant(np.full((COLUMNS, DEPTH, 1, 1), weight, np.int8))
    x = graph.quantize(graph.input(1, DEPTH, 6, 6), 0.04, 9)
    operands = (x, *graph.scale(0.04, 9), w, *graph.scale(0.002, 0), *graph.scale(0.1, 0))
    path = tmp_path / "net.onnx"
    path.write_bytes(graph.model(graph.node("QLinearConv", *operands)).SerializeToString())
    target = Target.of("x86_64")
    program = planner.decide(passes.optimize(trimtab.load(path)), target, Plan())
    (op,) = (op for op in program.ops if op.type == "qlinear_conv")
    kernel = kernels.kernel(PAIRED)
    gemm = algorithms.registry()["quantized"]
    chosen = replace(op, attributes={**op.attributes, "kernel": PAIRED})
    assert gemm.block_sizes(program, chosen, target)["steps"] == steps
    assert gemm.work(program, chosen, kernel, target).operations >= ROWS * COLUMNS * steps * 16
