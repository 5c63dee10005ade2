"""Each supported Caffe layer against OpenCV or its formula."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers import caffe_cases, caffe_rare_cases
from tests.importers.caffe_case import Case
from tests.importers.caffe_writer import head, write
from tests.importers.opencv import opencv_caffe
from trimtab.importers.caffe_ops.layer import HANDLERS

CASES = [*caffe_cases.cases(), *caffe_rare_cases.cases()]

TOLERANCE = 2e-6  # relative to the largest value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_layer_computes_what_opencv_or_its_formula_says(case: Case, tmp_path: Path) -> None:
    text = head({name: value.shape for name, value in case.inputs.items()}) + case.text
    program = trimtab.load(write(tmp_path, text, case.blobs))
    assert program.outputs == ["y"]
    actual = trimtab.Session(program).run(case.inputs)["y"]
    if case.formula is None:
        (expected,) = opencv_caffe(text, case.blobs, case.inputs, ["y"])
    else:
        expected = case.formula(*(value.astype(np.float64) for value in case.inputs.values()))
    assert actual.dtype == np.float32
    assert actual.shape == expected.shape
    scale = float(abs(expected).max())
    np.testing.assert_allclose(actual, expected, 0, TOLERANCE * max(scale, 1.0))


def test_every_handled_layer_type_has_a_case() -> None:
    elsewhere = {"PriorBox", "DetectionOutput", "Slice", "Split"}
    assert {case.id.partition("-")[0] for case in CASES} | elsewhere == set(HANDLERS)
