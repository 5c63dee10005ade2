"""Inputs of `Session.run`, and the errors for invalid ones."""

from __future__ import annotations

import copy
import math
import pickle
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net
from tests.some import some
from trimtab import zoo
from trimtab.errors import UsageError
from trimtab.planner import planner
from trimtab.program import Program


@pytest.fixture(scope="module")
def session() -> trimtab.Session:
    """sum = left + right."""
    program = Program("sum")
    for name in ("left", "right"):
        program.add_input(name, (2, 3))
    program.outputs = program.block.add_op("add", ["left", "right"])
    return trimtab.Session(program)


LEFT = np.arange(6, dtype=np.float32).reshape(2, 3)
RIGHT = np.array([[8, 4, 2], [1, 0.5, 0.25]], np.float32)


@pytest.mark.parametrize(
    "left",
    [
        LEFT,
        LEFT.tolist(),
        LEFT.astype(">f4"),
        np.asfortranarray(LEFT),
        np.repeat(LEFT, 2, axis=1)[:, ::2],
    ],
    ids=["float32", "lists", "other byte order", "columns first", "every other column"],
)
def test_array_likes_are_inputs(session: trimtab.Session, left: Any) -> None:
    outputs = session.run({"right": RIGHT, "left": left})
    assert list(outputs) == list(session.output_names)
    np.testing.assert_array_equal(outputs[session.output_names[0]], LEFT + RIGHT)


def test_a_session_is_called_as_one_of_onnxruntime(session: trimtab.Session) -> None:
    (name,), feeds = session.output_names, {"left": LEFT, "right": RIGHT}
    for names in (None, [name]):
        (result,) = session.run(names, feeds)
        np.testing.assert_array_equal(result, LEFT + RIGHT)
    with pytest.raises(UsageError, match="'total' is not an output"):
        session.run(["total"], feeds)


def test_an_image_in_the_other_order_is_told_to_be_transposed() -> None:
    program = Program("double")
    program.add_input("x", (1, 3, 4, 6))
    program.outputs = program.block.add_op("add", ["x", "x"])
    other = np.zeros((1, 4, 6, 3), np.float32)
    with pytest.raises(UsageError, match=r"numpy.transpose\(x, \(0, 3, 1, 2\)\)"):
        trimtab.Session(program).run(other)


def test_any_mapping_is_an_input_and_outputs_belong_to_the_caller(session: trimtab.Session) -> None:
    name = session.output_names[0]
    first = session.run(MappingProxyType({"left": LEFT, "right": RIGHT}))[name]
    session.run({"left": RIGHT, "right": RIGHT})
    np.testing.assert_array_equal(first, LEFT + RIGHT)


@pytest.mark.parametrize(
    ("inputs", "message", "hint"),
    [
        ({"left": LEFT}, "inputs are missing: right", "left, right"),
        ({}, "inputs are missing: left, right", "left, right"),
        ({"left": LEFT, "top": LEFT}, "unknown inputs: top", "left, right"),
        ({"left": LEFT, "right": LEFT, "top": LEFT}, "unknown inputs: top", "left, right"),
        (
            {"left": LEFT, "right": LEFT.T},
            r"input 'right' has shape \(3, 2\), the model expects \(2, 3\)",
            "inputs=",
        ),
        ({"left": 1, "right": LEFT}, r"input 'left' has shape \(\)", "inputs="),
        ({"left": LEFT[None], "right": LEFT}, r"has shape \(1, 2, 3\)", "inputs="),
    ],
)
def test_other_inputs_are_refused(
    session: trimtab.Session, inputs: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        session.run(inputs)
    assert hint in str(caught.value.hint)


def test_a_session_tells_its_inputs_and_outputs(session: trimtab.Session) -> None:
    assert list(session.inputs) == ["left", "right"] == list(session.input_names)
    assert list(session.outputs) == list(session.output_names)
    for tensor in (*session.inputs.values(), *session.outputs.values()):
        assert tensor == trimtab.TensorType((2, 3), np.dtype(np.float32))
        assert str(tensor) == "float32[2, 3]"
    text = repr(session)
    assert text.startswith("<Session sum: left float32[2, 3], right float32[2, 3] -> ")
    assert session.program.target in text


def test_an_array_alone_is_the_input_of_a_network_with_one(session: trimtab.Session) -> None:
    program = Program("twice")
    program.add_input("x", (2, 3))
    program.outputs = program.block.add_op("add", ["x", "x"])
    (y,) = trimtab.Session(program).run(LEFT).values()
    np.testing.assert_array_equal(y, 2 * LEFT)
    with pytest.raises(UsageError, match="are a ndarray, and the model has 2 inputs") as caught:
        session.run(LEFT)
    assert "left, right" in caught.value.hint


@pytest.mark.parametrize(("prefer", "fewer"), [("balanced", True), ("size", False)])
def test_a_session_counts_code_only_where_its_plan_prefers_size(
    monkeypatch: pytest.MonkeyPatch, prefer: str, fewer: bool
) -> None:
    plans = []
    decide = planner.decide

    def counted(*arguments: Any) -> Program:
        plans.append(arguments)
        return decide(*arguments)

    monkeypatch.setattr(planner, "decide", counted)
    program = trimtab.load("squeezenet")
    x = zoo.sample_input("squeezenet")
    (y,) = trimtab.Session(program, plan=trimtab.Plan(prefer=prefer)).run(x).values()
    assert (len(plans) == 1) == fewer
    plans.clear()
    built = trimtab.optimize(program, plan=trimtab.Plan(prefer=prefer))
    assert len(plans) > 1
    (expected,) = trimtab.Session(built).run(x).values()
    np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-6)


def test_a_session_can_be_copied_and_pickled(session: trimtab.Session) -> None:
    inputs = {"left": LEFT, "right": RIGHT}
    expected = session.run(inputs)
    for twin in (copy.copy(session), copy.deepcopy(session), pickle.loads(pickle.dumps(session))):
        for name, array in some(twin.run(inputs).items()):
            np.testing.assert_array_equal(array, expected[name])


def test_text_is_no_input(session: trimtab.Session) -> None:
    with pytest.raises(UsageError, match="not numbers"):
        session.run({"left": [["a", "b", "c"]] * 2, "right": RIGHT})


def test_outputs_are_written_into_arrays() -> None:
    net = Net(x=(3, 5))
    session = trimtab.Session(net.finish(net("exp", "x"), net("neg", "x")))
    first, second = session.output_names
    x, out = np.ones((3, 5), np.float32), np.zeros((3, 5), np.float32)
    results = session.run({"x": x}, out={second: x, first: out})  # an input may be one of them
    assert results[first] is out
    assert results[second] is x
    np.testing.assert_allclose(out, math.e, rtol=1e-6)
    np.testing.assert_array_equal(x, -1)
    fixed = np.zeros((3, 5), np.float32)
    fixed.setflags(write=False)
    for array in (np.zeros((3, 5)), np.zeros((5, 3), np.float32).T, fixed, out[:2]):
        with pytest.raises(UsageError, match=first):
            session.run({"x": x}, out={first: array})
    with pytest.raises(UsageError, match="'z', which is not an output"):
        session.run({"x": x}, out={"z": out})


def test_an_array_of_results_stays_as_it_was_returned() -> None:
    net = Net(x=(3, 4))
    y = net("exp", "x")
    # Two results in one memory, one that is an input, and one that is no view of either.
    session = trimtab.Session(
        net.finish(
            y, net("reshape", y, shape=(4, 3)), net("reshape", "x", shape=(12,)), net("neg", y)
        )
    )
    inputs = [np.full((3, 4), value, np.float32) for value in (1, 2)]
    first, second = (list(session.run({"x": x}).values()) for x in inputs)
    for x, results in zip(inputs, (first, second), strict=True):
        for result, expected in zip(results, (np.exp(x), np.exp(x), x, -np.exp(x)), strict=True):
            np.testing.assert_allclose(result, expected.reshape(result.shape), rtol=1e-6)
    for array in (*first, *second):
        assert sum(np.shares_memory(array, other) for other in (*first, *second, *inputs)) == 1
