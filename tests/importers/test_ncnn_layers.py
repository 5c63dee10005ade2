"""Each supported ncnn layer against ncnn itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers import ncnn_cases, ncnn_rare_cases
from tests.importers.caffe_writer import random
from tests.importers.ncnn_convolution_cases import Case
from tests.importers.ncnn_writer import head, line, run_ncnn, write
from tests.ops.regions import roi_pooling
from trimtab.importers.ncnn_ops.layer import HANDLERS

CASES = [*ncnn_cases.cases(), *ncnn_rare_cases.cases()]

TOLERANCE = 3e-6  # relative to the largest value


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.type}-{case.id}")
def test_a_layer_computes_what_ncnn_computes(case: Case, tmp_path: Path) -> None:
    shapes = {name: value.shape for name, value in case.inputs.items()}
    names = ["y"] if case.tops == 1 else [f"y{i}" for i in range(case.tops)]
    layer = line(case.type, " ".join(shapes), " ".join(names), case.params)
    path = write(tmp_path, [*head(shapes), layer], case.weights)
    expected_values = run_ncnn(path, case.inputs, names)
    program = trimtab.load(path)
    assert program.outputs == names
    inputs = {name: value[np.newaxis] for name, value in case.inputs.items()}
    actual = trimtab.Session(program).run(inputs)
    for name, expected in zip(names, expected_values, strict=True):
        assert actual[name].shape == (1, *expected.shape)
        scale = max(float(abs(expected).max()), 1.0)
        np.testing.assert_allclose(actual[name][0], expected, 0, TOLERANCE * scale)


@pytest.mark.parametrize("region", [(3, 12, 51, 79), (-30, -20, 25, 30), (60, 50, 140, 125)])
def test_bins_of_whole_pixels_are_those_of_the_paper(
    region: tuple[int, ...], tmp_path: Path
) -> None:
    # ncnn begins some of them one pixel early, on some CPUs.
    pooling = line("ROIPooling", "x region", "y", {0: 2, 1: 3, 2: 0.11})
    path = write(tmp_path, [*head({"x": (6, 7, 9), "region": (4,)}), pooling])
    x, corners = random(1, 6, 7, 9), np.array([region], np.float32)
    actual = trimtab.Session(trimtab.load(path)).run({"x": x, "region": corners})["y"]
    expected = roi_pooling(x, np.array([[0, *region]], np.float32), 3, 2, 0.11)
    np.testing.assert_array_equal(actual.reshape(expected.shape), expected)


def test_argmax_matches_numpy(tmp_path: Path) -> None:
    # ncnn's own builds omit this layer.
    path = write(tmp_path, [*head({"x": (3, 4, 5)}), line("ArgMax", "x")])
    x = random(1, 3, 4, 5)
    actual = trimtab.Session(trimtab.load(path)).run({"x": x})["y"]
    assert actual.reshape(-1).tolist() == [float(x.argmax())]


@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 8, 8), (1, 3, 1)])
@pytest.mark.parametrize("kind", [0, 1])
def test_a_pyramid_has_the_bins_of_its_definition(
    kind: int, shape: tuple[int, ...], tmp_path: Path
) -> None:
    # ncnn's own builds omit this layer.
    path = write(tmp_path, [*head({"x": shape}), line("SPP", "x", "y", {0: kind, 1: 3})])
    x = random(1, *shape)
    expected = []
    for bins in (1, 2, 4):
        sides = [-(-n // bins) for n in shape[1:]]
        missing = [side * bins - n for side, n in zip(sides, shape[1:], strict=True)]
        border = [((n + 1) // 2, n // 2) for n in missing]
        grid = np.pad(x[0], [(0, 0), *border]).reshape(shape[0], bins, sides[0], bins, sides[1])
        expected.append((grid.mean((2, 4)) if kind else grid.max((2, 4))).reshape(-1))
    actual = trimtab.Session(trimtab.load(path)).run({"x": x})["y"]
    np.testing.assert_allclose(actual[0], np.concatenate(expected), 1e-6, 1e-6)


def test_every_handled_layer_type_has_a_case() -> None:
    elsewhere = {"ArgMax", "MemoryData", "Noop", "DeepCopy", "PriorBox", "DetectionOutput"}
    elsewhere |= {"YoloDetectionOutput", "Yolov3DetectionOutput", "Proposal", "SPP"}
    assert {case.type for case in CASES} | elsewhere == set(HANDLERS) | elsewhere
