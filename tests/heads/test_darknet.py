"""Boxes of Darknet's files beside OpenCV's reader and suppression."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import trimtab
from tests.heads import reference
from tests.importers.darknet_writer import net, section, values, weights, write
from trimtab.errors import UsageError
from trimtab.heads import HeadRequest, prove

SIDE, CLASSES = 64, 4


def detector(folder: Path, activation: str = "linear") -> Path:
    """Two layers [yolo], on grids of stride 8 and 16."""
    filters = 3 * (5 + CLASSES)
    layers, arrays = [], []
    for index, (step, mask) in enumerate(((8, "0,1,2"), (16, "3,4,5"))):
        if index:
            layers.append(section("route", layers=-3))
        convolution = {"filters": filters, "size": step, "stride": step, "pad": 0}
        layers.append(section("convolutional", **convolution, activation=activation))
        anchors = "8,9, 14,11, 20,24, 30,28, 36,50, 60,44"
        layers.append(section("yolo", mask=mask, anchors=anchors, num=6, classes=CLASSES))
        arrays += [values(filters, index), values(filters * 3 * step * step, 7 + index) / step]
    # The route reads the picture again: an identity convolution stands before the first layer.
    first = section("convolutional", filters=3, size=1, stride=1, pad=0, activation="linear")
    identity = [np.zeros(3, np.float32), np.eye(3, dtype=np.float32)]
    return write(folder, net(SIDE, SIDE, 3) + first + "".join(layers), weights(*identity, *arrays))


def test_the_rows_of_yolo_layers_are_boxes_that_opencv_keeps(tmp_path: Path) -> None:
    path = detector(tmp_path)
    image = np.random.default_rng(1).random((1, 3, SIDE, SIDE), np.float32) * 4 - 2
    program = trimtab.load(path)
    assert program.hints.heads == ("darknet",)
    boxes = trimtab.attach_head(program, "auto", score=0.3, max_boxes=500)
    results = trimtab.Session(boxes, cache=False).run(image)
    reader = cv2.dnn.readNetFromDarknet(str(path), str(path.with_suffix(".weights")))
    reader.setInput(image)
    rows = np.concatenate(reader.forward(reader.getUnconnectedOutLayersNames()))
    expected = reference.detections(
        reference.corners(rows[:, :4] * SIDE), rows[:, 5:], 0.3, limit=500
    )
    count = int(results["count"][0])
    assert count == len(expected) > 3
    np.testing.assert_allclose(results["boxes"][0, :count], expected, 1e-3, 1e-2)


def test_results_of_another_form_are_refused(tmp_path: Path) -> None:
    program = trimtab.load(detector(tmp_path))
    with pytest.raises(UsageError, match="rows"):
        prove(program, HeadRequest.parse("darknet:classes=3"))
    program.outputs = program.block.add_op("neg", [program.outputs[0]])
    with pytest.raises(UsageError, match="its sizes would be from 0"):
        prove(program, HeadRequest("darknet"))


def test_a_darknet_classifier_needs_no_such_head(tmp_path: Path) -> None:
    layers = section("connected", output=4, activation="linear") + section("softmax")
    data = weights(values(4), values(4 * 3 * 8 * 8))
    assert trimtab.load(write(tmp_path, net(8, 8, 3) + layers, data)).hints.heads == ()
