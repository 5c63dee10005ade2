"""The entropy code of stored weights, beside a decoder of its own, and its rate and error."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.planner import planner
from trimtab.planner.packing import Array, coding, gemm
from trimtab.planner.plan_file import Plan
from trimtab.profile import find_profile
from trimtab.program import Program
from trimtab.target import Target


def decoded(code: bytes, sizes: list[int], columns: int) -> tuple[list[int], Array]:
    """The steps of all panels, and the scales, by docs/model-format.md."""
    places = np.frombuffer(code, "<u4", len(sizes))
    at = 4 * len(sizes)
    halves = np.frombuffer(code, "<u2", columns, at)
    scales = (halves.astype(np.uint32) << 16).view(np.float32)
    at += 2 * columns
    lowest = int.from_bytes(code[at : at + 1], "little", signed=True)
    further, at = code[at + 1], at + 2
    slots: list[int] = []
    for _ in range(further + 1):
        high, at = code[at], at + 1
        if high & 128:
            high, at = (high & 127) * 256 + code[at], at + 1
        slots.append(high)
    assert sum(slots) == 4096
    by_slot = [symbol for symbol, count in enumerate(slots) for _ in range(count)]
    steps: list[int] = []
    for place, size in zip(places.tolist(), sizes, strict=True):
        words = iter(np.frombuffer(code, "<u2", offset=place).tolist())
        state = next(words) * 65536 + next(words)
        for _ in range(size):
            slot = state % 4096
            symbol = by_slot[slot]
            steps.append(lowest + symbol)
            state = slots[symbol] * (state // 4096) + slot - sum(slots[:symbol])
            if state < 65536:
                state = state * 65536 + next(words)
        assert state == 65536  # as the coder began
    return steps, scales


def weights(*shape: int) -> Array:
    rng = np.random.default_rng(8)
    w = rng.standard_normal(shape).astype(np.float32)
    w *= rng.uniform(0.1, 2, (len(w), *[1] * (w.ndim - 1))).astype(np.float32)
    return w


CASES = {
    "normal": weights(20, 7, 5),
    "long tails": weights(20, 35) ** 5,
    "tiny": weights(9, 40) * np.float32(1e-39),
    "huge": weights(9, 40) * np.float32(1e37),
    "one value": np.full((17, 30), 3.0, np.float32),
    "zeros": np.zeros((5, 30), np.float32),
}


@pytest.mark.parametrize("form", coding.FORMS)
@pytest.mark.parametrize("name", CASES)
def test_coded_steps_are_decoded_by_the_page_of_the_format(name: str, form: str) -> None:
    w = CASES[name]
    steps, scales = coding.to_steps(w, 0, coding.FORMS[form])
    sizes = gemm.panel_sizes(1, len(w), [w[0].size], 8)
    flat = gemm.store_conv(steps.reshape(len(w), -1), 1, 8)
    result, stored = decoded(coding.coded(flat, scales, sizes).tobytes(), sizes, len(w))
    np.testing.assert_array_equal(result, flat)
    np.testing.assert_array_equal(stored, scales)


@pytest.mark.parametrize("bits", coding.FORMS.values())
@pytest.mark.parametrize("name", CASES)
def test_values_that_others_rounded_to_steps_are_coded_exactly(name: str, bits: int) -> None:
    steps, scales = coding.to_steps(CASES[name], 0, bits)
    along = scales.reshape(-1, *[1] * (steps.ndim - 1))
    moved = np.random.default_rng(5).integers(-1, 2, steps.shape) * (steps != 0)
    values = (steps + moved).clip(-127, 127).astype(np.float32) * along
    again, others = coding.to_steps(values, 0, bits)
    np.testing.assert_array_equal(again * others.reshape(along.shape), values)
    if name in ("normal", "zeros"):  # in a network that computes in f16
        half = coding.to_steps(values.astype(np.float16), 0, bits)
        np.testing.assert_array_equal(half[0], again)
        np.testing.assert_array_equal(half[1], others)


def test_values_of_finer_steps_are_rounded_to_those_of_the_form() -> None:
    w = CASES["normal"]
    steps, scales = coding.to_steps(w, 0, 6)
    again = coding.to_steps(steps * scales[:, None, None], 0, 3)[1]
    np.testing.assert_allclose(again, coding.to_steps(w, 0, 3)[1], rtol=0.02)


@pytest.mark.parametrize(("form", "bits"), coding.FORMS.items())
def test_normal_weights_take_these_bits_with_the_error_of_equal_steps(form: str, bits: int) -> None:
    w = weights(64, 256, 3)
    steps, scales = coding.to_steps(w, 0, bits)
    order = gemm.panels(1, 16)
    assert order.sizes
    code = coding.coded(order.run(steps), scales, order.sizes(steps.shape))
    assert 8 * code.size == pytest.approx((bits + 0.05) * w.size, rel=0.02)
    assert code.size == pytest.approx(coding.estimated_bytes(steps, len(w)), rel=0.01)
    error = np.square(steps * scales[:, None, None] - w).sum() / np.square(w).sum()
    # The least possible error at these bits is 2^(-2 bits), and 1.53 dB more with equal steps.
    assert 10 * np.log10(error) < -6.02 * bits + 1.53 + 0.5


@pytest.mark.parametrize(("profile", "dtype"), [("float32", "i8"), ("full", "u8")])
def test_a_profile_without_u8_has_int8_in_place_of_coded_weights(profile: str, dtype: str) -> None:
    program = Program("gemm")
    program.add_input("x", (1, 40))
    w = program.block.add_constant(weights(30, 40), "w")
    program.outputs = program.block.add_op("gemm", ["x", w])
    target = Target.of("aarch64", "cortex-a53").with_profile(find_profile(profile))
    planned = planner.plan(program, target, Plan(weights_type="bits4"))
    assert [planned.vars[op.inputs[0]].dtype for op in planned.ops[:1]] == [dtype]
