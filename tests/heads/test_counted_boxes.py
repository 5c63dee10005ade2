"""Exports that suppress boxes themselves, so that the number of rows depends on the picture."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import trimtab
from tests.heads import reference
from tests.heads.test_proof import SIDE
from tests.importers.onnx_text import model_of
from trimtab.sight import run as show

PLACES, ROWS = 84, 40
CHOOSE = """
  mean = ReduceMean <keepdims = 0> (images)
  nothing = Mul (mean, zero)
  moved = Add (best, nothing)
  is_above = Greater (moved, threshold)
  coordinates = NonZero (is_above)
  places = Transpose <perm = [1, 0]> (coordinates)
  box = GatherND (corners, places)
  score = GatherND (moved, places)
  class = GatherND (numbers, places)
  column = Unsqueeze (class, last)
  away = Mul (column, far)
  apart = Add (box, away)
  batch = Unsqueeze (apart, first)
  all_scores = Unsqueeze (score, both)
  chosen = NonMaxSuppression (batch, all_scores, most, iou)
  index = Gather <axis = 1> (chosen, two)
  flat = Squeeze (index, last)
  keep = Slice (flat, first, rows, first)
  boxes = Gather <axis = 0> (box, keep)
  scores = Gather <axis = 0> (score, keep)
  class_left = Gather <axis = 0> (class, keep)
"""
ENDS = {
    "ultralytics": """
  score_column = Unsqueeze (scores, last)
  class_column = Unsqueeze (class_left, last)
  table = Concat <axis = 1> (boxes, score_column, class_column)
  size = Shape (table)
  count = Gather <axis = 0> (size, index_zero)
  missing = Sub (limit, count)
  values = Mul (missing, six)
  end = Unsqueeze (values, first)
  pads = Concat <axis = 0> (first, end)
  line = Reshape (table, all)
  padded = Pad (line, pads)
  result = Reshape (padded, shape)
  output0 = ScatterND (blank, start, result)
""",
    "torchvision": "  labels = Cast <to = 7> (class_left)",
}
"""The nodes of `nms=True`, NMSModel of ultralytics/engine/exporter.py, and those of torchvision."""
GRAPHS = {
    "ultralytics": "(float[1,3,64,64] images) => (float[1,40,6] output0)",
    "torchvision": "(float[3,64,64] images)"
    " => (float[n,4] boxes, float[n] scores, int64[n] labels)",
}


@pytest.mark.parametrize("threshold", [0.7, 1.1])
@pytest.mark.parametrize("origin", GRAPHS)
def test_boxes_are_those_that_the_file_has_in_onnxruntime(origin: str, threshold: float) -> None:
    """With a high threshold there are none."""
    rng = np.random.default_rng(5)
    middles = np.concatenate([rng.uniform(8, 56, (PLACES, 2)), rng.uniform(3, 12, (PLACES, 2))], 1)
    integers: dict[str, object] = {"last": [1], "first": [0], "both": [0, 1], "two": [2]}
    integers |= {"rows": [ROWS], "all": [-1], "shape": [1, ROWS, 6], "start": [[0]], "most": [99]}
    integers |= {"limit": ROWS, "six": 6, "index_zero": 0}
    reals: dict[str, object] = {"zero": 0, "threshold": threshold, "far": 640, "iou": [0.45]}
    reals |= {"best": rng.random(PLACES), "numbers": rng.integers(0, 3, PLACES)}
    reals |= {"corners": reference.corners(middles), "blank": np.zeros((1, ROWS, 6))}
    constants = {name: np.array(value, np.int64) for name, value in integers.items()}
    constants |= {name: np.array(value, np.float32) for name, value in reals.items()}
    text = f"net {GRAPHS[origin]} {{{CHOOSE}{ENDS[origin]}}}"
    used = {name: value for name, value in constants.items() if name in text}
    model = model_of(text, used, opset=13)
    names, is_of_file = "{0: 'cat', 1: 'dog', 2: 'cow'}", origin == "ultralytics"
    for key, value in {"task": "detect", "names": names, "args": "{'nms': True}"}.items():
        if is_of_file:
            model.metadata_props.add(key=key, value=value)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    shape = session.get_inputs()[0].shape
    results = session.run(None, {"images": np.zeros(shape, np.float32)})
    rows = results[0][0] if is_of_file else np.column_stack(results)
    expected = rows[rows[:, 4] > 0]
    assert (5 < len(expected) < ROWS) == (threshold < 1)
    expected[:, :4] = expected[:, :4].clip(0, SIDE)
    steps, head = ("auto", "auto") if is_of_file else ("resize(auto)", "torchvision")
    program = trimtab.load(model, cache=False)
    sight = show(program, np.zeros((SIDE, SIDE, 3), np.uint8), steps, head)
    boxes = sight.results["boxes"][0, : int(sight.results["count"][0])]
    np.testing.assert_allclose(boxes, expected, 1e-5, 1e-4)
