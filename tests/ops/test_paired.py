"""Paired int8 multiplication (`vpmaddubsw`): exactly onnxruntime's values, for any weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from tests.ops.quantized import QuantizedGraph, onnxruntime_of
from trimtab.errors import ProgramError
from trimtab.planner.packing import weight_pairs
from trimtab.planner.plan_file import Choice, Plan, operator_keys
from trimtab.program import Op
from trimtab.target import Target

pytestmark = pytest.mark.bounds

KERNEL = "paired_gemm_i8_6x16c4_avx2"

# id: input, weights, attributes. Depths with and without a partial step, contiguous and separate
# taps, rows copied by im2col, and columns with a partial panel.
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "one-step": ((1, 16, 7, 5), (16, 16, 1, 1), {}),
    "half-a-step-on": ((2, 24, 3, 5), (5, 24, 1, 1), {}),
    "many-steps": ((1, 212, 4, 4), (35, 212, 1, 1), {}),
    "odd-channels": ((1, 67, 5, 4), (17, 67, 1, 1), {}),
    "window": ((1, 20, 6, 7), (18, 20, 3, 3), {"pads": [1, 1, 1, 1]}),
    "strides": ((1, 32, 9, 8), (48, 32, 3, 3), {"pads": [0, 1, 2, 1], "strides": [2, 2]}),
    "dilations": ((1, 16, 9, 9), (7, 16, 3, 2), {"dilations": [2, 3]}),
    "first-layer": ((1, 3, 11, 9), (24, 3, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "groups": ((1, 72, 5, 5), (40, 36, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "groups-of-odd-channels": ((1, 54, 5, 5), (12, 27, 1, 1), {"group": 2}),
}

WEIGHTS: dict[str, Any] = {
    "any": lambda rng, shape: rng.integers(-128, 128, shape),
    "few-large": lambda rng, shape: np.clip(np.rint(rng.normal(0, 30, shape)), -127, 127),
    "least": lambda rng, shape: np.full(shape, -128),
    "most": lambda rng, shape: np.full(shape, 127),
}

needs_avx2 = pytest.mark.skipif("avx2" not in Target.host().isas, reason="this CPU has no AVX2")


def is_convolution(op: Op) -> bool:
    return op.type in {"qlinear_conv", "qlinear_conv_winograd"}


def convolution(name: str, weights: str, dtype: type[Any]) -> tuple[QuantizedGraph, str]:
    """A graph with a QLinearConv, and its output."""
    shape, dims, attributes = CASES[name]
    graph = QuantizedGraph(dtype, seed=len(name))
    w = WEIGHTS[weights](graph.rng, dims).astype(np.int8)
    scales = graph.rng.uniform(0.001, 0.004, dims[0]).astype(np.float32)
    bias = graph.rng.integers(-3000, 3000, dims[0]).astype(np.int32)
    q = graph.quantize(graph.input(*shape), 0.04, 9)
    y = graph.node(
        "QLinearConv",
        *(q, *graph.scale(0.04, 9)),
        *(graph.constant(w), graph.constant(scales)),
        graph.constant(np.zeros(dims[0], np.int8)),
        *graph.scale(0.11, -21),
        graph.constant(bias),
        **attributes,
    )
    return graph, y


def paired(program: trimtab.Program) -> Plan:
    """The plan that uses paired multiplication for the program's only convolution."""
    planned = trimtab.optimize(program)
    (key,) = (
        k for k, op in zip(operator_keys(planned), planned.ops, strict=True) if is_convolution(op)
    )
    return Plan(operators={key: Choice("quantized", {"kernel": KERNEL})})


@needs_avx2
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", CASES)
def test_a_convolution_is_that_of_onnxruntime_to_the_last_integer(
    name: str, weights: str, dtype: type[Any]
) -> None:
    graph, y = convolution(name, weights, dtype)
    model, feeds = graph.model(y), graph.feeds()
    (want,) = onnxruntime_of(model, feeds)
    program = trimtab.load(model)
    plan = paired(program)
    for threads in (1, 3):
        session = trimtab.Session(program, threads, plan=plan)
        (conv,) = (op for op in session.program.ops if is_convolution(op))
        assert conv.attributes["kernel"] == KERNEL
        np.testing.assert_array_equal(session.run(feeds)[y], want)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", CASES)
def test_paired_sums_never_saturate_and_every_element_occurs_once(name: str, weights: str) -> None:
    _, dims, attributes = CASES[name]
    groups, nr = attributes.get("group", 1), 16
    w = WEIGHTS[weights](np.random.default_rng(7), dims).astype(np.int8)
    order = weight_pairs.order(w, groups, nr)
    panels = groups * -(-(dims[0] // groups) // nr)
    taps, depth = weight_pairs.rows(w)
    packed = weight_pairs.pack(w, groups, nr).reshape(panels, order.steps, -1)
    assert packed.shape[2] == weight_pairs.HEADER_BYTES + weight_pairs.DEPTH * nr
    body = (
        packed[:, :, weight_pairs.HEADER_BYTES :]
        .reshape(panels, order.steps, 4, nr, 2, 2)
        .astype(int)
    )
    assert np.maximum(body, 0).sum(axis=-1).max() <= 128
    assert np.minimum(body, 0).sum(axis=-1).min() >= -128

    # Each step reads one tap, and unpacking the packed weights gives the original ones.
    assert (np.diff(order.starts.astype(int), axis=1) >= 0).all()
    assert (order.starts % depth + weight_pairs.DEPTH <= depth).all()
    back = np.zeros((panels, nr, taps * depth), int)
    counts = np.zeros((panels, taps * depth), int)
    by_slot = body.transpose(0, 1, 2, 4, 5, 3).reshape(panels, order.steps, weight_pairs.DEPTH, nr)
    for panel, step in np.ndindex(panels, order.steps):
        if step >= order.counts[panel]:
            assert not by_slot[panel, step].any()
            continue
        for slot in np.flatnonzero(order.used[panel, step]):
            at = int(order.starts[panel, step]) + int(order.index[panel, step, slot])
            counts[panel, at] += 1
            back[panel, :, at] = by_slot[panel, step, slot]
    assert (counts == 1).all()
    columns = dims[0] // groups
    flat = np.moveaxis(w, 1, -1).reshape(groups, columns, -1)
    whole = back.reshape(groups, -1, taps * depth)
    np.testing.assert_array_equal(whole[:, :columns, : flat.shape[2]], flat)
    assert not whole[:, columns:].any()


def test_normally_distributed_weights_need_few_additional_steps() -> None:
    w = np.random.default_rng(1).normal(size=(64, 512, 1, 1))
    w = np.rint(w / np.abs(w).max(axis=1, keepdims=True) * 127).astype(np.int8)
    steps = weight_pairs.order(w, 1, 16).counts
    assert (steps >= 512 // 16).all()
    assert steps.mean() < 1.05 * 512 / 16


@needs_avx2
@pytest.mark.parametrize("broken", ["place", "next-tap", "order", "tap", "count", "index"])
def test_steps_that_read_outside_of_their_rows_are_refused(broken: str) -> None:
    graph, y = convolution("window", "few-large", np.int8)
    program = trimtab.load(graph.model(y))
    planned = trimtab.optimize(program, plan=paired(program))
    (conv,) = (op for op in planned.ops if is_convolution(op))
    w = planned.vars[conv.inputs[1]]
    assert w.data is not None
    steps = int(conv.attributes["steps"])
    packed = np.array(w.data).view(np.uint8).reshape(-1, steps, weight_pairs.HEADER_BYTES + 256)
    words = packed[0, 1, :8].view("<u4")
    if broken == "place":
        packed[0, -1, :8].view("<u4")[0] = 9 * 20 - 15
    elif broken == "next-tap":
        packed[0, -1, :8].view("<u4")[0] = 9 * 20  # the first step of a tap behind the last
    elif broken == "order":
        packed[0, 2, :8].view("<u4")[0] = 0
    elif broken == "tap":
        words[0] = 5  # 20 channels: to the first of the next tap
    elif broken == "count":
        words[1] = steps + 1
    else:
        packed[0, 1, -257] = 16
    trimtab.Session(planned)
    w.data = packed.view(np.int8).reshape(-1)
    with pytest.raises(ProgramError, match="a step of paired weights lies outside of the rows"):
        trimtab.Session(planned)
