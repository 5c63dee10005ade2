"""Values of inputs that are given when the network is loaded, as the rate of a voice detector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import trimtab
from tests.importers.onnx_text import model_of
from tests.ops.cases.case import normal
from trimtab.bench import oracle
from trimtab.errors import ImportModelError, UnsupportedOperatorError

# As Silero VAD: each rate has frames of its own length, which do not fit the other branch.
TEXT = """
net (float[n, m] x, float[n, 4] state, int64 rate) => (float[n, k] y, float[n, 4] next) {
  is_fast = Equal (rate, fast)
  y, next = If (is_fast) <
    then_branch = t () => (float[n, k] a, float[n, 4] b) {
      frames = Constant <value = int64[3] {-1, 4, 128}> ()
      parts = Reshape (x, frames)
      a = ReduceSum <keepdims = 0> (parts, last)
      b = Neg (state)
    },
    else_branch = e () => (float[n, k] c, float[n, 4] d) {
      short = Constant <value = int64[3] {-1, 3, 50}> ()
      pieces = Reshape (x, short)
      c = ReduceMean <keepdims = 0> (pieces, last)
      d = Exp (state)
    }
  >
}
"""
CONSTANTS = {"fast": np.int64(16000), "last": np.array([2])}


def network() -> onnx.ModelProto:
    return model_of(TEXT, CONSTANTS, 18)


def shapes(length: int, **values: Any) -> dict[str, Any]:
    return {"x": (1, length), "state": (1, 4), **values}


@pytest.mark.parametrize(("rate", "length"), [(16000, 512), (8000, 150)])
@pytest.mark.parametrize("form", [int, str, lambda rate: (rate,)])
def test_a_number_for_an_input_without_dimensions_is_its_value(
    rate: int, length: int, form: Any
) -> None:
    feeds = {"x": normal(1, length), "state": normal(1, 4)}
    reference = onnxruntime.InferenceSession(network().SerializeToString())
    expected = reference.run(None, {**feeds, "rate": np.array(rate)})
    program = trimtab.load(network(), shapes(length, rate=form(rate)), cache=False)
    assert program.inputs == ["x", "state"]
    for result, want in zip(trimtab.Session(program).run(feeds).values(), expected, strict=True):
        np.testing.assert_allclose(result, want, 1e-5, 1e-5)


def test_a_given_value_goes_with_bounds_of_another_input() -> None:
    free: dict[str, Any] = {"x": "1..4,512", "state": "1..4,4", "rate": 16000}
    session = trimtab.Session(trimtab.load(network(), free, cache=False))
    x = normal(3, 512)
    result = session.run({"x": x, "state": normal(3, 4)})["y"]
    np.testing.assert_allclose(result, x.reshape(3, 4, 128).sum(2), 1e-4, 1e-4)


def test_the_message_names_the_input_that_decides_between_branches() -> None:
    with pytest.raises(UnsupportedOperatorError) as caught:
        trimtab.load(network(), shapes(512), cache=False)
    text = str(caught.value)
    assert "a branch does not fit the sizes of its operands: [1, 512] cannot be reshaped" in text
    assert "it follows from the input 'rate' alone: give the value (--input rate=NUMBER)" in text


def test_a_condition_that_follows_from_data_names_no_input_to_give() -> None:
    model = network()
    condition = onnx.parser.parse_node("is_fast = Greater (total, zero)")
    model.graph.node[0].CopyFrom(condition)
    model.graph.node.insert(0, onnx.parser.parse_node("total = ReduceSum <keepdims = 0> (x)"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0, np.float32), "zero"))
    with pytest.raises(UnsupportedOperatorError, match="a branch does not fit") as caught:
        trimtab.load(model, shapes(512), cache=False)
    assert "give the value" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [((1, 2), r"'rate' is \[\], the given shape \(1, 2\)"), (2**70, "int64, which cannot be")],
)
def test_other_values_are_refused(value: Any, reason: str) -> None:
    with pytest.raises(ImportModelError, match=reason) as caught:
        trimtab.load(network(), shapes(512, rate=value), cache=False)
    assert "one number, its value" in caught.value.hint


def test_the_reference_gets_the_value_and_the_program_does_not(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(network(), path)
    golden = oracle.onnx_golden(path, shapes(512, rate=(16000,)))
    assert [x.shape for x in golden.inputs] == [(1, 512), (1, 4)]
    x = golden.inputs[0].reshape(1, 4, 128)
    np.testing.assert_allclose(golden.outputs[0], x.sum(2), 1e-4, 1e-4)
