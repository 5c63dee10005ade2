"""Rounding errors of algorithms beside float64, and the accuracy that bounds them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import trimtab
from tests.small_programs import Net
from trimtab.errors import PlanError
from trimtab.planner import algorithms, planner, rounding
from trimtab.planner.alternatives import DecidedPlan
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

# Of one operator: input, weights and strides. The channels are those of a middle layer.
LAYERS = {
    "1x1": ((1, 128, 14, 14), (128, 128, 1, 1), 1),
    "2x2": ((1, 64, 21, 22), (64, 64, 2, 2), 1),
    "3x3": ((1, 64, 31, 29), (64, 64, 3, 3), 1),
    "3x3 with strides": ((1, 32, 31, 29), (64, 32, 3, 3), 2),
    "4x4": ((1, 64, 27, 26), (48, 64, 4, 4), 1),
    "5x5": ((1, 48, 27, 26), (48, 48, 5, 5), 1),
}


def _layer(name: str) -> tuple[Program, NDArray[np.float32], NDArray[np.float64]]:
    """A convolution, its input without negative values as after a ReLU, and the exact result."""
    shape, of_weights, stride = LAYERS[name]
    rng = np.random.default_rng(7)
    x = np.maximum(rng.standard_normal(shape), 0).astype(np.float32)
    w = rng.standard_normal(of_weights).astype(np.float32)
    height, width = ((s - of_weights[2]) // stride + 1 for s in shape[2:])
    exact = np.zeros((1, of_weights[0], height, width))
    for i, j in np.ndindex(of_weights[2:]):
        rows = slice(i, i + stride * (height - 1) + 1, stride)
        columns = slice(j, j + stride * (width - 1) + 1, stride)
        exact += np.einsum("oc,nchw->nohw", w[:, :, i, j], x[:, :, rows, columns], dtype=np.float64)
    program = Program("layer")
    program.add_input("x", shape)
    inputs = ["x", program.block.add_constant(w, "w"), ""]
    attributes = {"strides": (stride, stride)}
    program.outputs = program.block.add_op("conv", inputs, attributes, ["y"], "op")
    return program, x, exact


def _error(
    program: Program, x: NDArray[np.float32], exact: NDArray[np.float64], name: str
) -> float:
    plan = Plan(algorithms=(name,), accuracy="fast")
    session = trimtab.Session(program, plan=plan)
    used = {algorithms.algorithm_of(op) for op in session.program.steps}
    assert algorithms.registry()[name] in used
    (y,) = session.run(x).values()
    return float(np.sqrt(np.mean((y - exact) ** 2)))


def test_the_errors_of_all_algorithms_are_as_declared() -> None:
    measured = set()
    for layer in LAYERS:
        program, x, exact = _layer(layer)
        direct = _error(program, x, exact, algorithms.DIRECT)
        for name, op in algorithms.lower(program, program.ops[0], Target.host()).items():
            algorithm = algorithms.registry()[name]
            if isinstance(algorithm, algorithms.Inexact):
                ratio = _error(program, x, exact, name) / direct
                declared = algorithm.error(program, op)
                assert declared / 1.6 < ratio < declared * 1.6, f"{layer}, {name}: {ratio:.2f}"
                measured.add(name)
    inexact = {n for n, a in algorithms.registry().items() if isinstance(a, algorithms.Inexact)}
    assert measured == inexact


def test_the_accuracy_bounds_the_error_of_each_operator() -> None:
    program, *_ = _layer("3x3")
    machine = Target.of("aarch64", "cortex-a53")
    errors: list[float] = []
    for accuracy in ("strict", "balanced", "fast"):
        (op,) = planner.decide(program, machine, Plan(accuracy=accuracy)).ops
        algorithm = algorithms.algorithm_of(op)
        assert isinstance(algorithm, algorithms.Inexact)
        errors.append(algorithm.error(program, op))
        assert errors[-1] <= rounding.bound(accuracy)
    assert errors == sorted({*errors}), "a laxer bound admits a larger tile"


def test_a_named_algorithm_is_used_whatever_its_error() -> None:
    program, *_ = _layer("3x3")
    only = Plan(algorithms=("winograd_6",), accuracy="strict")
    (op,) = planner.decide(program, Target.host(), only).ops
    assert op.attributes["tile"] == 6


@pytest.mark.parametrize(("accuracy", "is_tried"), [("balanced", False), ("fast", True)])
def test_alternatives_are_as_exact_as_the_plan(accuracy: str, *, is_tried: bool) -> None:
    program, *_ = _layer("3x3")
    machine, plan = Target.of("aarch64", "cortex-a53"), Plan(accuracy=accuracy)
    decided = DecidedPlan(program, machine, plan, planner.plan(program, machine, plan))
    algorithm_names = {one.choices["y"].algorithm for one in decided.alternatives()}
    present = decided.choices["y"].algorithm
    assert ("winograd_6" in algorithm_names | {present}) == is_tried


def test_an_unknown_accuracy_is_refused() -> None:
    with pytest.raises(PlanError, match="accuracy cannot be 'exact'") as e:
        Plan(accuracy="exact")
    assert e.value.hint == "use balanced, strict, fast"


@pytest.mark.parametrize("accuracy", rounding.ACCURACIES)
def test_sums_that_become_integers_are_exact_in_every_accuracy(accuracy: str) -> None:
    target, plan = Target.of("x86_64", "zen4"), Plan(accuracy=accuracy)
    is_inexact = []
    for becomes_integer in (False, True):
        net = Net(x=(1, 64, 56, 56))
        y = net.conv("x", 64, 3)
        program = net.finish(net("cast", y, to="i32") if becomes_integer else y)
        planned = trimtab.optimize(program, target, plan)
        is_inexact.append(any(op.type == "conv_winograd" for op in planned.ops))
    assert is_inexact == [True, False]
