"""Gradient rules against central differences in float64, and against recorded ones of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from tests.gradients.case import Case, factors
from tests.gradients.cases import cases
from tests.gradients.torch_record import recorded_gradients
from tests.small_programs import Net
from trimtab.errors import ProgramError
from trimtab.gradients import OpBuilder, rules
from trimtab.learning.backward import Differentiable

CASES = {case.id: case for case in cases()}
STEP = 1e-5
BOUND = 1e-4  # of the largest element
RECORDED = recorded_gradients()


def computed(case: Case) -> list[np.ndarray[Any, Any]]:
    """The gradients of the engine."""
    net = Net()
    block = net.program.block
    names = [block.add_constant(x, f"operand{i}") for i, x in enumerate(case.operands)]
    results = net.many(case.op, case.outputs, *names, **case.attributes)
    trained = {names[i]: case.operands[i] for i in case.trained}
    for name in trained:
        block.vars[name].data = None
        net.program.inputs.append(name)
    graph = Differentiable(block, [*trained], results)
    builder, first = OpBuilder(block, "loss"), len(block.ops)
    terms = [
        builder.total(builder.add("mul", graph.name(y), builder.constant(factor)))
        for y, factor in zip(results, factors(case), strict=True)
    ]
    total = terms[0]
    for term in terms[1:]:
        total = builder.add("add", total, term)
    graph.extend(first)
    gradients = graph.add_gradients(total, [*trained])
    results = [builder.add("reshape", g, shape=builder.shape(g)) for g in gradients.values()]
    session = trimtab.Session(net.finish(*results))
    outputs = session.run(trained)
    return [outputs[name] for name in results]


def differences(case: Case) -> list[np.ndarray[Any, Any]]:
    """Central differences of the forward computation in float64."""
    weights = factors(case)

    def loss(operands: list[np.ndarray[Any, Any]]) -> float:
        results = case.forward(*operands)
        results = results if isinstance(results, list) else [results]
        return float(sum(np.sum(y * w) for y, w in zip(results, weights, strict=True)))

    operands = [x.astype(np.float64) for x in case.operands]
    gradients = []
    for x in (operands[i] for i in case.trained):
        gradient = np.zeros(x.shape)
        for place in np.ndindex(x.shape):
            value = x[place]
            x[place] = value + STEP
            above = loss(operands)
            x[place] = value - STEP
            below = loss(operands)
            x[place] = value
            gradient[place] = (above - below) / (2 * STEP)
        gradients.append(gradient)
    return gradients


@pytest.mark.parametrize("id", CASES)
def test_a_gradient_equals_central_differences_and_that_of_pytorch(id: str) -> None:
    assert_gradients_agree(CASES[id], computed(CASES[id]))


def assert_gradients_agree(case: Case, actual: list[np.ndarray[Any, Any]]) -> None:
    """Compares gradients with central differences and with those that are recorded."""
    for source in (differences(case), RECORDED.get(case.id)):
        for own, expected in zip(actual, source or (), strict=source is not None):
            assert own.shape == expected.shape
            assert np.abs(own - expected).max() <= BOUND * max(np.abs(expected).max(), 1e-3)


def test_every_rule_has_a_case() -> None:
    exempt = {"where", "cast"}  # tests of losses and of the training program cover them
    assert set(rules()) - exempt <= {case.op for case in CASES.values()} | exempt


def test_copies_around_a_crop_have_no_gradient() -> None:
    net = Net(x=(1, 2, 5, 5))
    y = net("mul", "x", np.ones((1, 2, 1, 1), np.float32))
    pads = (0, 0, 1, -1, 0, 0, 0, 2)
    program = net.finish(net("pad", y, pads=pads, mode="reflect"))
    with pytest.raises(ProgramError, match="a negative padding with copies"):
        trimtab.training(program, loss=trimtab.Loss("sum"), trainable=["constant"])
