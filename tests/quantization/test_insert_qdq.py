"""Scales, zero points and bias correction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.small_programs import Net
from trimtab.program import Program
from trimtab.quantization import insert_qdq
from trimtab.quantization.insert_qdq import mean_error, quantization, weight_scales
from trimtab.quantization.observer import Range
from trimtab.session import Session

# What integers stand for.


@given(st.floats(-1e30, 1e30, allow_subnormal=False), st.floats(-1e30, 1e30, allow_subnormal=False))
def test_int8_values_cover_a_range_and_represent_zero(a: float, b: float) -> None:
    least, most = min(a, b), max(a, b)
    q = quantization(Range(least, most))
    q.check("x", (1,), "i8")
    (scale,), (point,) = q.scale, q.zero_point
    assert (-128 - point) * scale <= least + scale
    assert (127 - point) * scale >= most - scale


def test_weights_have_a_scale_per_channel_and_room_for_the_bias() -> None:
    weights = np.random.default_rng(6).normal(0, 1, (4, 3, 3, 3)).astype(np.float32)
    weights[1] = 0
    weights[2] *= 1e-9
    bias = np.array([1, 0, 1, 1e-3], np.float32)
    scales = weight_scales(weights, bias, 0.05)
    np.testing.assert_allclose(scales[[0, 3]], abs(weights[[0, 3]]).max((1, 2, 3)) / 127, rtol=1e-6)
    assert scales[1] == 1
    steps = bias.astype(np.float64) / (scales * 0.05)
    assert (abs(steps) < 2**31).all()


@pytest.mark.parametrize("group", [1, 2, 4])
def test_the_bias_corrects_the_mean_rounding_error(group: int) -> None:
    rng = np.random.default_rng(7)
    rounding, means = rng.normal(0, 1, (8, 4 // group, 3, 3)), rng.normal(0, 1, 4)
    x = np.broadcast_to(means.reshape(1, 4, 1, 1), (1, 4, 3, 3)).astype(np.float32)
    block = Program("conv")
    block.add_input("x", x.shape)
    weights = block.block.add_constant(rounding.astype(np.float32))
    block.outputs = block.block.add_op("conv", ["x", weights], {"group": group})
    (expected,) = Session(block).run({"x": x}).values()
    np.testing.assert_allclose(
        mean_error(rounding.sum((2, 3)), means), expected[0, :, 0, 0], rtol=1e-5, atol=1e-5
    )


def test_a_slope_belongs_to_an_operator_with_weights_that_nothing_else_reads() -> None:
    net = Net(x=(1, 4, 6, 6))
    alone, shared = net.conv("x", 4), net.conv("x", 4)
    slopes = [net("leaky_relu", y, alpha=0.25) for y in (alone, shared, net("relu", "x"), "x")]
    program = net.finish(*slopes, net("add", shared, "x"))
    before = [
        insert_qdq.weighted_before(program, op) for op in program.ops if op.type == "leaky_relu"
    ]
    assert [op and op.outputs[0] for op in before] == [alone, None, None, None]
