"""Networks with sizes that depend on data: what follows them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import trimtab
from tests.ops.cases.case import normal
from tests.ops.cases.counted import BRANCHES, DETECTOR, boxes, model
from trimtab import schema
from trimtab.errors import ProgramError, TrimtabError, UnsupportedOperatorError
from trimtab.importers.onnx_ops import counted


def check(text: str, *runs: dict[str, Any]) -> None:
    """Every run of one session has the results of onnxruntime."""
    proto = model(text)
    reference = onnxruntime.InferenceSession(proto.SerializeToString())
    session = trimtab.Session(proto, cache=False)
    for feeds in runs:
        expected = reference.run(None, feeds)
        for result, want in zip(session.run(feeds).values(), expected, strict=True):
            assert result.shape == want.shape
            np.testing.assert_allclose(result, want, 1e-5, 1e-6)


def test_each_run_has_the_sizes_of_its_data_and_an_empty_one_takes_the_other_branch() -> None:
    scores = np.array([0.9, 0.1, 0.8, 0.7, 0.2, 0.6], np.float32)
    runs = [scores, scores * 0, scores + 1, -scores, scores * 0.7]
    check(DETECTOR, *({"boxes": boxes(), "scores": one} for one in runs))


def test_a_condition_selects_a_branch_whose_result_has_another_size() -> None:
    feeds = [{"x": normal(3, 4), "c": np.array([c])} for c in (True, False, True)]
    check(BRANCHES, *feeds)


def test_a_result_may_be_several_outputs() -> None:
    text = """
    net (float[5] x) => (int64[1, n] y, int64[1, n] again) { y = NonZero (x) again = Identity (y) }
    """
    check(text, *({"x": np.array([1, 0, n, 2, n], np.float32)} for n in (0, 3)))


FUNCTIONS = [op.onnx for op in schema.operators().values() if op.kind == "unary" and op.onnx]


@pytest.mark.parametrize("type", [type for type in FUNCTIONS if onnx.defs.has(type, 17)])
def test_every_function_of_one_operand_follows_its_sizes(type: str) -> None:
    text = f"net (float[5] x, bool[5] c) => (float[n] y) {{ v = Compress (x, c) y = {type} (v) }}"
    x, flags = np.abs(normal(5)) + np.float32(0.5), np.array([[1, 0, 1, 1, 0], [0] * 5], bool)
    check(text, *({"x": x, "c": c} for c in flags))


PADDED = """
net (float[6, 4] x, bool[6] c) => (float[1, 8, 4] y, float[n, m] inside) {
  rows = Compress <axis = 0> (x, c)
  sizes = Shape (rows)
  first = Constant <value = int64[1] {0}> ()
  n = Gather (sizes, first)
  eight = Constant <value = int64[1] {8}> ()
  missing = Sub (eight, n)
  none = Constant <value = int64[3] {0, 0, 0}> ()
  pairs = Concat <axis = 0> (none, missing)
  by_axis = Constant <value = int64[2] {-1, 2}> ()
  table = Reshape (pairs, by_axis)
  last = Constant <value = int64[1] {-1}> ()
  end = Constant <value = int64[1] {-9223372036854775807}> ()
  turned = Slice (table, last, end, first, last)
  columns = Transpose <perm = [1, 0]> (turned)
  pads = Reshape (columns, last)
  padded = Pad (rows, pads)
  y = Unsqueeze (padded, first)
  around = Constant <value = int64[4] {1, 0, 2, 3}> ()
  value = Constant <value = float {-7}> ()
  inside = Pad (rows, around, value)
}
"""


def test_rows_are_padded_to_a_fixed_number_as_ultralytics_exports_do() -> None:
    flags = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 1, 0]], bool)
    check(PADDED, *({"x": normal(6, 4), "c": one} for one in flags))
    session = trimtab.Session(model(PADDED), cache=False)
    assert session.outputs["y"].shape == (1, 8, 4)
    assert session.outputs["inside"].shape == (9, 7)


def test_the_program_has_the_largest_sizes() -> None:
    session = trimtab.Session(model(DETECTOR), cache=False)
    assert session.outputs["kept"].shape == (6, 4)
    assert all(n >= 0 for n in session.memory.values())


def test_a_planned_file_keeps_its_sizes(tmp_path: Path) -> None:
    path = tmp_path / "net.ttm"
    trimtab.optimize(trimtab.load(model(DETECTOR))).save(path)
    scores = np.array([0.9, 0.1, 0.2, 0.3, 0.2, 0.1], np.float32)
    results = trimtab.Session(path).run({"boxes": boxes(), "scores": scores})
    np.testing.assert_array_equal(results["best"], scores[:1])


REFUSED = {
    "a handler that takes sizes for constant": (
        "net (float[5] x) => (float[n] y) { i = NonZero (x) t = Transpose (i) v = GatherND (x, t)"
        " axis = Constant <value = int64 {0}> () y = CumSum (v, axis) }",
        "it reads a value whose size depends on data",
    ),
    "a size that is no size of a value": (
        "net (float[1] x, int64[2] n) => (float[a, b] y) { y = Expand (x, n) }",
        "its shape must be constant",
    ),
    "a constant of a shape that is an input": (
        "net (int64[2] n) => (float[a, b] y) { y = ConstantOfShape (n) }",
        "its shape is computed from data, so that its result has no largest size",
    ),
    "a reshape within a handler": (
        "net (float[4, 2, 6] x, bool[4] c) => (float[n, 3, 4] y) {"
        " v = Compress <axis = 0> (x, c) w = Constant <value = float[3, 2, 3] {"
        + ", ".join(["1"] * 18)
        + "}> () y = Conv (v, w) }",
        "it needs the size of its operand",
    ),
    "a border that is no constant": (
        "net (float[5] x) => (int64[m, n] y) { i = NonZero (x)"
        ' p = Constant <value = int64[4] {0, 1, 0, 1}> () y = Pad <mode = "edge"> (i, p) }',
        "it reads a value whose size depends on data",
    ),
    "the size of all dimensions": (
        "net (float[5] x) => (int64 y) { i = NonZero (x) y = Size (i) }",
        "the size of its operand depends on data",
    ),
    "axes that follow sizes": (
        "net (float[5] x) => (int64[n] y) { i = NonZero (x) y = Squeeze (i) }",
        "its axes follow from sizes",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_follow_a_size_is_refused_by_name(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(UnsupportedOperatorError, match=reason):
        trimtab.load(model(text))


def test_coordinates_that_would_need_too_much_memory_are_refused() -> None:
    size = counted.MAX_COORDINATES // 2 + 1
    text = f"net (float[{size}, 1] x) => (int64[2, n] y) {{ y = NonZero (x) }}"
    with pytest.raises(UnsupportedOperatorError, match=r"there may be .* coordinates"):
        trimtab.load(model(text))


def test_a_size_that_a_run_cannot_have_is_an_error_and_the_next_run_is_not() -> None:
    text = """
    net (float[5] x) => (float[3] y, int64[3] i) {
      found = NonZero (x)
      places = Transpose <perm = [1, 0]> (found)
      values = GatherND (x, places)
      three = Constant <value = int64[1] {3}> ()
      y, i = TopK (values, three)
    }
    """
    session = trimtab.Session(model(text), cache=False)
    with pytest.raises(ProgramError, match="k exceeds the number of elements"):
        session.run(np.array([0, 1, 0, 2, 0], np.float32))
    result = session.run(np.array([5, 1, 0, 2, 9], np.float32))
    np.testing.assert_array_equal(result["y"], np.array([9, 5, 2], np.float32))


def test_an_array_takes_an_output_only_if_it_has_its_size() -> None:
    session = trimtab.Session(model("net (float[4] x) => (int64[1, n] y) { y = NonZero (x) }"))
    out = {"y": np.zeros((1, 4), np.int64)}
    assert session.run(np.ones(4, np.float32), out=out)["y"] is out["y"]
    with pytest.raises(TrimtabError, match="cannot take its output"):
        session.run(np.zeros(4, np.float32), out=out)


AT_MOST_ONE = {
    "a sum that keeps its dimension": "y = ReduceSum <keepdims = 1> (c, zero)",
    "a sum": "y = ReduceSum <keepdims = 0> (c, zero)",
    "a transpose": "y = Transpose <perm = [1, 0]> (c)",
    "two transposes and a sum": (
        "t = Transpose <perm = [1, 0]> (c) s = ReduceSum <keepdims = 1> (t, one)"
        " y = Transpose <perm = [1, 0]> (s)"
    ),
    "coordinates of those that are selected": "i = NonZero (c) y = Transpose <perm = [1, 0]> (i)",
    "a GEMM of a sum": (
        "s = ReduceSum <keepdims = 1> (c, zero) f = Transpose <perm = [1, 0]> (c) y = MatMul (s, f)"
    ),
    "a matrix of a stack": "u = Unsqueeze (c, one) y = Flatten <axis = 1> (u)",
    "a matrix of all": "u = Unsqueeze (c, one) y = Flatten <axis = -1> (u)",
    "a place among others": "u = Unsqueeze (c, zero) y = Transpose <perm = [1, 0, 2]> (u)",
    "a sum of both": "s = ReduceSum <keepdims = 1> (c, zero) y = Add (s, c)",
}


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", AT_MOST_ONE)
def test_at_most_one_row_may_also_be_none(name: str, width: int) -> None:
    body = AT_MOST_ONE[name]
    head = f"net (float[1, {width}] x) => (" + ("int64" if "NonZero" in body else "float")
    text = f"""
    {head}[a, b] y) {{
      zero = Constant <value = int64[1] {{0}}> () one = Constant <value = int64[1] {{1}}> ()
      low = Constant <value = float {{0}}> () m = ReduceMax <axes = [1], keepdims = 0> (x)
      g = Greater (m, low) c = Compress <axis = 0> (x, g)
      {body}
    }}"""
    selected = 1 + normal(1, width) ** 2
    check(text, *({"x": sign * selected} for sign in (1, -1, 1)))


def test_the_only_box_of_a_detector_may_be_none() -> None:
    text = """
    net (float[1, 5, 4] boxes, float[1, 1, 5] scores) => (float[1, 4] y) {
      zero = Constant <value = int64[1] {0}> () axis = Constant <value = int64[1] {2}> ()
      limit = Constant <value = float[1] {0.5}> () most = Constant <value = int64[1] {1}> ()
      shape = Constant <value = int64[2] {-1, 4}> () two = Constant <value = int64 {2}> ()
      found = NonMaxSuppression (boxes, scores, most, limit, limit)
      places = Gather <axis = 1> (found, two) rows = Reshape (boxes, shape)
      chosen = Gather (rows, places) y = ReduceSum <keepdims = 1> (chosen, zero)
    }
    """
    scores = np.array([[[0.1, 0.2, 0.9, 0.3, 0.4]]], np.float32)
    check(text, *({"boxes": boxes()[:, :5], "scores": scores * on} for on in (1, 0, 1)))


def test_a_sum_of_integers_along_a_size_that_may_be_0_is_refused() -> None:
    text = """
    net (int64[1, 3] x, bool[1] c) => (int64[a, b] y, int64[n] z) {
      zero = Constant <value = int64[1] {0}> () one = Constant <value = int64[1] {1}> ()
      v = Compress <axis = 0> (x, c) z = ReduceSum <keepdims = 0> (v, one)
      y = ReduceSum <keepdims = 1> (v, zero)
    }
    """
    with pytest.raises(UnsupportedOperatorError, match="a size that is 0 or may be 0"):
        trimtab.load(model(text))
