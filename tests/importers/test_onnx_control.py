"""Scan, Loop and If, which the importer expands into the nodes of their bodies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import trimtab
from tests.ops.cases.case import normal
from trimtab.errors import UnsupportedOperatorError
from trimtab.importers import _budget

HEADER = '<ir_version: 8, opset_import: ["" : 17]> '

SCAN = """
net (float[3, 5, 4] x, float[4] start, float[5, 3, 2] z, float[4] w)
    => (float[4] last, float[2] sum, float[2, 5, 4] ys, float[4, 5] totals) {
  zero = Constant <value = float[2] {0, 0}> ()
  last, sum, ys, totals = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0],
    scan_input_directions = [1, 0], scan_output_axes = [1, -1], scan_output_directions = [1, 0],
    body = step (float[4] a, float[2] b, float[3, 4] row, float[3, 2] pair)
        => (float[4] a1, float[2] b1, float[2, 4] y, float[4] total)
        <float[2] one = {1, 1}> {
      pairs = ReduceMax <axes = [0], keepdims = 0> (pair)
      b0 = Add (b, pairs)
      b1 = Add (b0, one)
      rows = ReduceMean <axes = [0], keepdims = 0> (row)
      scaled = Mul (rows, w)
      a1 = Tanh (scaled)
      more = Add (a, a1)
      total = Identity (more)
      two = Constant <value = int64[2] {2, 4}> ()
      y = Expand (more, two)
    }> (start, zero, x, z)
}
"""

LOOP = """
net (float[3, 4] x) => (float[3, 4] y, float[n, 4] rows) {
  trips = Constant <value = int64 {7}> ()
  go = Constant <value = bool {1}> ()
  y, rows = Loop <body = step (int64 i, bool before, float[3, 4] a)
      => (bool after, float[3, 4] b, float[4] row) {
    two = Constant <value = int64 {2}> ()
    after = Less (i, two)
    even = Mod (i, two)
    odd = Cast <to = 9> (even)
    b = If <then_branch = t () => (float[3, 4] p) { p = Add (a, x) },
            else_branch = e () => (float[3, 4] q) { q = Mul (a, x) }> (odd)
    row = Gather <axis = 0> (b, i)
  }> (trips, go, x)
}
"""

COMPUTED = """
net (float[3, 4] x, bool go) => (float[3, 4] y, int64 count) {
  trips = Constant <value = int64 {6}> ()
  zero = Constant <value = int64 {0}> ()
  y, count = Loop <body = step (int64 i, bool before, float[3, 4] a, int64 n)
      => (bool after, float[3, 4] b, int64 m) {
    one = Constant <value = int64 {1}> ()
    limit = Constant <value = float {40}> ()
    m = Add (n, one)
    b = Add (a, x)
    s = ReduceSum <keepdims = 0> (b)
    after = Less (s, limit)
  }> (trips, go, x, zero)
}
"""

TRIPS = COMPUTED.replace("bool go)", "bool go, int64[1] wanted)").replace(
    "trips = Constant <value = int64 {6}> ()",
    """most = Constant <value = int64[1] {6}> ()
  some = Min (wanted, most)
  trips = Squeeze (some)""",
)

IF = """
net (float[2, 3] x, bool[1] c) => (float[2, 3] y, int64[2] n) {
  y, n = If <
    then_branch = t () => (float[2, 3] a, int64[2] k) <int64[2] k = {1, 2}> { a = Exp (x) },
    else_branch = e () => (float[2, 3] b, int64[2] m) <int64[2] m = {3, 4}> { b = Neg (x) }> (c)
}
"""


def save(folder: Path, text: str) -> Path:
    path = folder / "net.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text), path)
    return path


def check(path: Path, feeds: Mapping[str, Any]) -> None:
    """The engine's results are those of onnxruntime."""
    expected = onnxruntime.InferenceSession(path).run(None, dict(feeds))
    results = trimtab.Session(path, cache=False).run(feeds)
    for result, want in zip(results.values(), expected, strict=True):
        assert (result.dtype, result.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-6)


def test_scan_in_both_directions_along_any_axes(tmp_path: Path) -> None:
    feeds = {"x": normal(3, 5, 4), "start": normal(4), "z": normal(5, 3, 2), "w": normal(4)}
    check(save(tmp_path, SCAN), feeds)


def test_a_loop_ends_by_its_constant_condition(tmp_path: Path) -> None:
    check(save(tmp_path, LOOP), {"x": normal(3, 4)})


def test_a_loop_ends_by_its_trip_count(tmp_path: Path) -> None:
    endless = LOOP.replace("after = Less (i, two)", "after = Identity (before)")
    check(save(tmp_path, endless.replace("{7}", "{2}")), {"x": normal(3, 4)})


@pytest.mark.parametrize("go", [False, True])
@pytest.mark.parametrize("value", [-1.0, 0.1, 1.0, 9.0])
def test_a_loop_with_a_bound_ends_by_its_computed_condition(
    tmp_path: Path, value: float, go: bool
) -> None:
    feeds = {"x": np.full((3, 4), value, np.float32), "go": np.array(go)}
    check(save(tmp_path, COMPUTED), feeds)


@pytest.mark.parametrize("count", [-2, 0, 1, 5, 6, 9])
@pytest.mark.parametrize("value", [-1.0, 1.0])
def test_a_loop_ends_by_its_computed_trip_count(tmp_path: Path, value: float, count: int) -> None:
    x = np.full((3, 4), value, np.float32)
    feeds = {"x": x, "go": np.array(True), "wanted": np.array([count])}
    check(save(tmp_path, TRIPS), feeds)


def test_a_state_that_nobody_reads_is_left_out(tmp_path: Path) -> None:
    path = save(tmp_path, COMPUTED)
    feeds = {"x": np.ones((3, 4), np.float32), "go": np.array(True)}
    _, count = onnxruntime.InferenceSession(path).run(None, feeds)
    model = onnx.load(path)
    (loop,) = (node for node in model.graph.node if node.op_type == "Loop")
    loop.output[0] = ""  # onnxruntime crashes at that
    del model.graph.output[0]
    onnx.save(model, path)
    np.testing.assert_equal(trimtab.Session(path, cache=False).run(feeds), {"count": count})


@pytest.mark.parametrize("condition", [False, True])
def test_a_computed_condition_selects_a_branch(tmp_path: Path, condition: bool) -> None:
    check(save(tmp_path, IF), {"x": normal(2, 3), "c": np.array([condition])})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            LOOP.replace(
                "after = Less (i, two)",
                "s = ReduceSum <keepdims = 0> (a) "
                "z = Constant <value = float {0}> () after = Less (s, z)",
            ),
            "its last iteration is computed, and so the length of its results",
        ),
        (TRIPS.replace("Min (", "Max ("), "its trip count is computed, and has no constant bound"),
        (COMPUTED.replace("(trips, go,", "(, go,"), "is computed, and it has no trip count"),
        (
            LOOP.replace("after = Less (i, two)", "after = Identity (before)").replace(
                "{7}", "{700000}"
            ),
            "it would expand to 700000 times",
        ),
        (
            IF.replace("a = Exp (x)", "a = ReduceSum <keepdims = 0> (x)"),
            "results of different types or ranks",
        ),
        (SCAN.replace("a1 = Tanh (scaled)", "a1 = Unknown (scaled)"), "no such operator"),
    ],
)
def test_other_forms_are_refused_by_name(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=reason):
        trimtab.load(save(tmp_path, text))


def test_a_loop_without_a_trip_count_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_budget, "MAX_EXPANDED", 50)
    endless = LOOP.replace("after = Less (i, two)", "after = Identity (before)")
    endless = endless.replace("(trips, go, x)", "(, go, x)").replace(
        "Gather <axis = 0> (b, i)", "ReduceSum (b)"
    )
    with pytest.raises(UnsupportedOperatorError, match="it would expand to"):
        trimtab.load(save(tmp_path, endless))
