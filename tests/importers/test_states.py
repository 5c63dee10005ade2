"""States: a program that keeps them computes, frame by frame, what onnxruntime does whose caller
keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

import trimtab
from tests.importers import streams
from tests.small_programs import Net
from tests.some import some
from trimtab.errors import ImportModelError, ProgramError, UsageError
from trimtab.planner.plan_file import Plan

FRAMES = 5
Array = NDArray[np.float32]


def frames() -> list[Array]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(streams.INPUT).astype(np.float32) for _ in range(FRAMES)]


def expected(model: onnx.ModelProto) -> Iterator[Array]:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    inputs = {i.name: np.zeros(i.shape, np.float32) for i in session.get_inputs()}
    names = [output.name for output in session.get_outputs()]
    for frame in frames():
        outputs = dict(zip(names, session.run(None, inputs | {"x": frame}), strict=True))
        yield outputs["out"]
        inputs |= {name: outputs[mark[1:]] for name, mark in streams.STATES.items()}


@pytest.mark.parametrize(
    ("plan", "tolerance"),
    [(None, 1e-6), (Plan(precision="f16"), 2e-3), (Plan(weights_type="f16"), 1e-3)],
    ids=["f32", "f16", "weights-f16"],
)
def test_streams_frame_by_frame_until_it_is_reset(plan: Plan | None, tolerance: float) -> None:
    model = streams.recurrent()
    program = trimtab.load(model, streams.STATES)
    assert (program.inputs, program.outputs) == (["x"], ["out"])
    session, other = (trimtab.Session(program, plan=plan) for _ in range(2))
    for _ in range(2):
        for frame, want in zip(frames(), expected(model), strict=True):
            np.testing.assert_allclose(session.run(frame)["out"], want, atol=tolerance)
        session.reset()
    (first, *_) = expected(model)
    np.testing.assert_allclose(other.run(frames()[0])["out"], first, atol=tolerance)


def test_an_int8_network_keeps_its_states() -> None:
    model = streams.recurrent()
    program = trimtab.load(model, streams.STATES)
    samples = np.concatenate(frames())
    session = trimtab.Session(trimtab.quantize(program, {"x": samples}).program)
    for frame, want in some(zip(frames(), expected(model), strict=True)):
        np.testing.assert_allclose(session.run(frame)["out"], want, atol=0.03)


def test_a_saved_model_and_one_from_the_cache_have_states(tmp_path: Path) -> None:
    onnx.save(streams.recurrent(), tmp_path / "net.onnx")
    expectations = [*expected(streams.recurrent())]
    for _ in range(2):
        program = trimtab.load(tmp_path / "net.onnx", streams.STATES)
        program.save(tmp_path / "net.ttm")
        for session in trimtab.Session(program), trimtab.Session(tmp_path / "net.ttm"):
            for frame, want in some(zip(frames(), expectations, strict=True)):
                np.testing.assert_allclose(session.run(frame)["out"], want, atol=1e-6)


def test_the_only_output_may_be_the_next_value_of_a_state() -> None:
    session = trimtab.Session(trimtab.load(streams.counter(), {"n": "@next"}))
    by = np.arange(6).reshape(2, 3)
    for run in range(1, 4):
        np.testing.assert_array_equal(session.run(by)["next"], run * by)


def test_other_outputs_and_bounds_of_other_inputs_remain() -> None:
    states = streams.STATES | {"x": "1..4,1,7"}
    program = trimtab.load(streams.recurrent("steps"), states, ["out"])
    session = trimtab.Session(program)
    parts = np.concatenate(frames())
    whole = trimtab.Session(trimtab.load(streams.recurrent(), streams.STATES))
    want = np.concatenate([whole.run(frame)["out"] for frame in frames()], axis=2)
    parts_of_out, at = [], 0
    for steps in (1, 4, 2, 3, 1, 4):
        parts_of_out.append(session.run(parts[at : at + steps])["out"])
        at += steps
    np.testing.assert_allclose(np.concatenate(parts_of_out, axis=2), want, atol=1e-6)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"h1": "@hn"}, "there is no input 'h1' for a state"),
        ({"h0": "@h"}, "there is no output 'h' for a state"),
        ({"h0": "@out"}, r"f32\[1, 1, 13\], its next value 'out' is f32\[1, 4, 3\]"),
        ({"h0": "1..2,1,13@hn"}, "has bounds"),
        ({"h0": "2,1,13@hn"}, "does not fit"),
    ],
)
def test_a_state_that_does_not_fit_is_an_error(states: dict[str, str], message: str) -> None:
    with pytest.raises((ImportModelError, UsageError), match=message):
        trimtab.load(streams.recurrent(), states)


def test_a_state_may_leave_unchanged() -> None:
    model = streams.counter()
    same = onnx.helper.make_tensor_value_info("same", onnx.TensorProto.INT64, [2, 3])
    model.graph.node.append(onnx.helper.make_node("Identity", ["n"], ["same"]))
    model.graph.output.append(same)
    session = trimtab.Session(trimtab.load(model, {"n": "@next"}))
    assert session.output_names == ("same",)
    by = np.arange(6).reshape(2, 3)
    for run in range(4):
        np.testing.assert_array_equal(session.run(by)["same"], run * by)


def delays(first: str, second: str) -> onnx.ModelProto:
    """Two states, whose next values are `first` and `second`: names of x, a and b."""
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    infos = [info(n, onnx.TensorProto.FLOAT, [2, 3]) for n in ("x", "a", "b", "an", "bn", "y")]
    nodes = [
        node("Identity", [first], ["an"]),
        node("Identity", [second], ["bn"]),
        node("Sub", ["a", "b"], ["c"]),
        node("Add", ["c", "x"], ["y"]),
    ]
    graph = onnx.helper.make_graph(nodes, "delays", infos[:3], infos[3:])
    opsets = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(("first", "second"), [("x", "a"), ("b", "x"), ("b", "a"), ("a", "x")])
def test_a_state_may_take_the_value_of_another(first: str, second: str) -> None:
    session = trimtab.Session(trimtab.load(delays(first, second), {"a": "@an", "b": "@bn"}))
    values = {name: np.zeros((2, 3), np.float32) for name in "ab"}
    for number in range(1, 5):
        values["x"] = np.arange(number, number + 6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(
            session.run(values["x"])["y"], values["a"] - values["b"] + values["x"]
        )
        values |= {"a": values[first], "b": values[second]}


def test_the_engine_writes_no_constant_of_a_file() -> None:
    net = Net(x=(2, 3))
    y = net("update_state", np.zeros((2, 3), np.float32), "x")
    with pytest.raises(ProgramError, match="a constant is no state"):
        trimtab.Session(net.finish(y))
    net = Net(x=(2, 3), z=(2, 3))
    with pytest.raises(ProgramError, match="a weight must be constant"):
        trimtab.Session(net.finish(net("update_state", "z", "x")))


def test_a_reset_of_a_network_without_states_is_an_error() -> None:
    session = trimtab.Session(trimtab.load(streams.counter()))
    with pytest.raises(UsageError, match="the model keeps no states"):
        session.reset()
