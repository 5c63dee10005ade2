"""The measurements of `bench.accuracy`: cosines beside onnxruntime's quantizer, and boxes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from lab.accuracy import detectors, figures, measure
from lab.peers import quantized as qdq
from tests.ops.cases.case import Array
from trimtab import paths
from trimtab.errors import CalibrationError, UsageError
from trimtab.program import Program
from trimtab.quantization.calibration import Observed, observe
from trimtab.quantization.samples import Samples
from trimtab.tables import Table
from trimtab.target import Target

RNG = np.random.default_rng(12)


@pytest.fixture
def detector(tmp_path: Path) -> Path:
    """A file with a detector of 4 rows [x, y, w, h, objectness, class] of an image of 8 by 8."""
    weights = RNG.normal(0, 0.4, (6, 3, 4, 4)).astype(np.float32)
    bias = np.array([0, 0, 1, 1, 2, 1], np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[4, 4]),
        helper.make_node("Sigmoid", ["c"], ["s"]),
        helper.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["t", "shape"], ["y"]),
    ]
    constants = {"w": weights, "b": bias, "shape": np.array([4, 6])}
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 8, 8))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4, 6))],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "net.onnx")
    path = tmp_path / "detectors.toml"
    path.write_text(
        '[net]\nmodel = "net.onnx"\nhead = "rows"\nscore = 0.5\noverlap = 0.9\n'
        "pictures = { mean = 127, scale = 0.0078125 }\n"
    )
    return path


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    folder = tmp_path / "photographs"
    folder.mkdir()
    for name in "abcd":
        noise = RNG.integers(0, 256, (5, 7, 3), np.uint8)
        Image.fromarray(noise).resize((70, 50)).save(folder / f"{name}.png")
    return folder


def test_each_method_and_the_peer_are_calibrated_with_the_same_images(
    detector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "cache", lambda: tmp_path)
    calibrated: list[Array] = []

    def watched(program: Program, samples: Samples) -> Observed:
        calibrated.extend(feed["x"] for feed in samples)
        return observe(program, samples)

    monkeypatch.setattr("lab.accuracy.measure.observe", watched)
    rows = measure.cosines([str(detector.with_name("net.onnx"))], ["mse", "min_max"])
    assert [row.method for row in rows] == ["onnxruntime", "mse", "min_max"]
    assert all(row.cosine > 0.999 for row in rows)
    expected = [feed["x"] for feed in qdq.pictures({"x": (1, 3, 8, 8)})[0]]
    np.testing.assert_array_equal(calibrated, expected)
    words, table = figures.cosine_page(rows)
    assert "`mse`: 1 of 1" in str(words)
    assert isinstance(table, Table)
    assert len(table.rows) == 1
    with pytest.raises(UsageError, match="unknown calibration method"):
        measure.cosines([], ["guess"])


def test_boxes_are_counted_on_other_photographs_than_those_of_calibration(
    detector: Path, photographs: Path
) -> None:
    targets = [Target.host(), Target.of("aarch64", "cortex-a76")]
    work = measure.BoxRequest(
        detectors.read(detector), photographs, ["min_max"], ["cosine >= 0.5"], targets
    )
    rows, notes = measure.boxes(work)
    assert [(row.method, row.target) for row in rows] == [
        (method, target.name)
        for method in ("int8, min_max", "mixed, cosine >= 0.5")
        for target in targets
    ]
    for row in rows:
        assert row.images == 2 * 12
        assert 0 < row.boxes <= 4 * row.images
        assert row.recall_90 <= row.recall_50 <= 1
        assert row.recall_50 > 0.9
        assert row.cycles > 0
    note, settings = notes
    assert "net (net.onnx, rows, score 0.5, overlap 0.9, mean 127, scale 0.0078125)" in settings
    before, after = note.split("; ")
    assert "a.png" in before
    assert "c.png" in before
    assert "b.png" in after
    assert "d.png" in after
    assert len(figures.BoxScoreRow.table(rows).rows) == 4


def test_photographs_that_cannot_be_used_are_refused(detector: Path, photographs: Path) -> None:
    def count(folder: Path) -> None:
        chosen = detectors.read(detector)
        measure.boxes(measure.BoxRequest(chosen, folder, [], [], [Target.host()]))

    with pytest.raises(UsageError, match="not a folder"):
        count(photographs / "absent")
    (photographs / "c.png").write_bytes(b"no picture")
    with pytest.raises(CalibrationError, match="not an image"):
        count(photographs)
    for path in [*photographs.iterdir()][1:]:
        path.unlink()
    with pytest.raises(UsageError, match="fewer than two photographs"):
        count(photographs)


def test_the_summary_has_the_median_ratio_of_the_distances() -> None:
    networks = {
        "a": {"onnxruntime": 0.9, "mse": 0.95},
        "b": {"onnxruntime": 0.8, "mse": 0.98},
        "c": {"onnxruntime": 0.99, "mse": 0.98},
    }
    assert "2 of 3, 0.50 (not c)" in figures.summary(networks)
