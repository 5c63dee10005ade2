"""Strassen's algorithm for 1x1 convolutions against float64, within the bound of its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

import trimtab
from tests.ops import convolutions
from tests.ops.convolutions import UNIT, Array, activated
from trimtab import kernels
from trimtab.errors import ProgramError
from trimtab.planner.algorithms import strassen
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

FORCED = Plan(algorithms=("strassen",))  # weights are packed at load, which rounds more


@dataclass(frozen=True)
class Layer:
    """A 1x1 convolution. 64 output channels are two halves of a panel of every kernel."""

    c_in: int
    c_out: int
    h: int
    w: int
    n: int = 1
    bias: bool = True
    residual: bool = False
    activation: str = ""


LAYERS = {
    "whole tiles": Layer(64, 64, 12, 14),
    "odd rows": Layer(32, 128, 7, 7),
    "odd depth": Layer(70, 64, 6, 5),
    "one row": Layer(16, 64, 1, 1),
    "two channels": Layer(2, 64, 3, 3),
    "images": Layer(18, 64, 5, 3, n=3),
    "blocks of rows": Layer(72, 96, 61, 59),  # of fewer channels, planes
    "rows that share cache sets": Layer(1024, 64, 5, 5),
    "columns that are left": Layer(36, 100, 9, 7),
    "one remaining column": Layer(20, 65, 6, 6, residual=True, activation="relu"),
    "remaining columns, rows that share cache sets": Layer(1024, 84, 5, 5, bias=False),
    "no bias": Layer(22, 64, 9, 9, bias=False),
    "residual": Layer(34, 64, 11, 7, residual=True),
    "clamp": Layer(40, 192, 13, 9, residual=True, activation="relu"),
    "activation": Layer(26, 64, 10, 7, activation="sigmoid"),
    "all": Layer(130, 77, 61, 41, residual=True, activation="sigmoid"),
}


def program_of(layer: Layer) -> tuple[Program, dict[str, NDArray[np.float32]]]:
    """The layer and its inputs."""
    x, w = (layer.n, layer.c_in, layer.h, layer.w), (layer.c_out, layer.c_in, 1, 1)
    return convolutions.program_of(layer, x, w, {})


def gamma(roundings: int) -> float:
    """The error bound of this number of roundings, relative to the sum of absolute values."""
    return roundings * UNIT / (1 - roundings * UNIT)


def error_bound(a: Array, b: Array, bias: Array, residual: Array, upper: int, n: int) -> Array:
    """The bound of the float32 error of each element. a: [rows, k], b: [k, columns]; `upper` rows,
    k / 2 and n columns are the upper and left quadrants; columns after 2 n are multiplied directly.

    Every result is a sum of products of sums. An element passes at most 3 roundings in the sums of
    a, 1 in those of b (in float64) or 3 (in float32, at load), k / 2 + 1 in a product with its bias
    and 6 in the sum of products and residual. So the error is at most gamma(k / 2 + 13) times the
    algorithm's expression with absolute values (Higham 2002, section 3.1); section 23.2.2 has a
    similar bound for norms. The remaining columns have the k + 2 roundings of a sum.
    """
    k, lower = b.shape[0] // 2, len(a) - upper
    a, b, bias = np.abs(a), np.abs(b), np.abs(bias)
    rest = gamma(2 * k + 2) * (a @ b[:, 2 * n :] + bias[2 * n :] + np.abs(residual)[:, 2 * n :])
    a11, a12, a21, a22 = a[:upper, :k], a[:upper, k:], np.zeros((upper, k)), np.zeros((upper, k))
    a21[:lower], a22[:lower] = a[upper:, :k], a[upper:, k:]
    b11, b12, b21, b22 = b[:k, :n], b[:k, n : 2 * n], b[k:, :n], b[k:, n : 2 * n]
    s1, s3 = a21 + a22, a11 + a21
    s2, t1 = s1 + a11, b12 + b11
    s4, t2, t3 = a12 + s2, b22 + t1, b22 + b12
    t4 = t2 + b21
    u2 = a11 @ b11 + s2 @ t2
    u3, u4 = u2 + s3 @ t3, u2 + s1 @ t1 + bias[n : 2 * n]
    left = np.vstack([a11 @ b11 + a12 @ b21, (u3 + a22 @ t4)[:lower]]) + bias[:n]
    right = np.vstack([u4 + s4 @ b22, (u3 + u4 + u2)[:lower]])
    halves = gamma(k + 13) * (np.hstack([left, right]) + np.abs(residual)[:, : 2 * n])
    return np.hstack([halves, rest])


def rows_of(x: NDArray[np.float32]) -> Array:
    """[n, c, h, w] -> [n * h * w, c]."""
    return np.asarray(x.transpose(0, 2, 3, 1).reshape(-1, x.shape[1]), np.float64)


@pytest.mark.parametrize("name", LAYERS)
def test_the_error_is_within_the_bound_of_the_arithmetic_with_every_instruction_set(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = LAYERS[name]
    program, inputs = program_of(layer)
    a, w = rows_of(inputs["x"]), program.vars["w"].data
    assert w is not None
    b = np.asarray(w[:, :, 0, 0].T, np.float64)
    bias = np.zeros(layer.c_out)
    if layer.bias:
        bias = np.asarray(program.vars["b"].data, np.float64)
    residual = rows_of(inputs["residual"]) if layer.residual else np.zeros((len(a), layer.c_out))
    expected = a @ b + bias + residual
    for isa in Target.host().isas:
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for threads in (1, 2, 3):
            session = trimtab.Session(program, threads, FORCED)
            (op,) = (op for op in session.program.ops if op.type == "conv_strassen")
            nr = kernels.kernel(op.attributes["kernel"]).packing[1]
            n = strassen.half_columns(layer.c_out, nr)
            (actual,) = session.run(inputs).values()
            error, bound = errors(
                rows_of(actual), expected, a, b, bias, residual, n, layer.activation
            )
            assert np.all(error <= bound), f"{isa}: {np.max(error / bound)} of the bound"


def errors(
    actual: Array,
    expected: Array,
    a: Array,
    b: Array,
    bias: Array,
    residual: Array,
    n: int,
    activation: str,
) -> tuple[Array, Array]:
    """(error, bound). The engine chooses how rows are divided into halves, so the bound pairs each
    row with the worst one: the largest absolute value of each column.
    """
    worst = np.broadcast_to(np.abs(a).max(axis=0), a.shape)
    addend = np.broadcast_to(np.abs(residual).max(axis=0), residual.shape)
    both = np.vstack([worst, worst]), b, bias, np.vstack([addend, addend])
    whole = error_bound(*both, len(a), n)
    bound = np.maximum(whole[: len(a)], whole[len(a) :])
    expected, bound = activated(expected, bound, activation)
    return np.abs(actual - expected), bound


def test_the_right_hand_operands_give_the_product() -> None:
    rng = np.random.default_rng(0)
    a, w = rng.standard_normal((6, 8)), rng.standard_normal((10, 8))
    a11, a12, a21, a22 = a[:3, :4], a[:3, 4:], a[3:, :4], a[3:, 4:]
    s1, s3 = a21 + a22, a11 - a21
    s2 = s1 - a11
    left = [a11, s2, s3, s1, a22, a12 - s2, a12]
    p = [x @ b.T for x, b in zip(left, strassen.right_hand_operands(w), strict=True)]
    u2 = p[0] + p[1]
    u3, u4 = u2 + p[2], u2 + p[3]
    c = np.block([[p[0] + p[6], u4 + p[5]], [u3 + p[4], u3 + u4 - u2]])
    np.testing.assert_allclose(c, a @ w.T, atol=1e-12)


@pytest.mark.parametrize(
    ("attribute", "value", "complaint"),
    [
        ("sums_kernel", "", "no plan"),
        ("results_kernel", "strassen_sums_f32_portable", "another family"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(attribute: str, value: str, complaint: str) -> None:
    program, _ = program_of(Layer(16, 64, 4, 4))
    planned = trimtab.optimize(program, plan=FORCED)
    (op,) = (op for op in planned.ops if op.type == "conv_strassen")
    op.attributes[attribute] = value
    with pytest.raises(ProgramError, match=complaint):
        trimtab.Session(planned)


@pytest.mark.parametrize(
    ("operand", "name", "c_out"), [(1, "weights", 64), (1, "weights", 100), (2, "bias", 100)]
)
def test_constants_that_are_too_short_are_refused(operand: int, name: str, c_out: int) -> None:
    program, _ = program_of(Layer(16, c_out, 4, 4))
    planned = trimtab.optimize(program, plan=replace(FORCED, prefer="load"))
    (op,) = (op for op in planned.ops if op.type == "conv_strassen")
    constant = planned.vars[op.inputs[operand]]
    assert constant.data is not None
    constant.data = constant.data[:-1]
    with pytest.raises(ProgramError, match=f"packed {name} (is|are) too short"):
        trimtab.Session(planned)
