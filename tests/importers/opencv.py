"""OpenCV's dnn module as the oracle for Caffe and Darknet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.importers.caffe_writer import Blobs, caffemodel
from tests.ops.cases.case import Array

_REASON = "opencv-python-headless is the oracle"


def opencv_caffe(
    text: str, blobs: Blobs, inputs: Mapping[str, Array], outputs: Sequence[str]
) -> list[Array]:
    """The named blobs of a Caffe network."""
    cv2 = pytest.importorskip("cv2", reason=_REASON)
    net = cv2.dnn.readNetFromCaffe(_bytes(text.encode()), _bytes(caffemodel(blobs)))
    for name, value in inputs.items():
        net.setInput(value, name)
    return [np.asarray(value) for value in net.forward(list(outputs))]


def opencv_darknet(text: str, weights: bytes, x: Array) -> list[Array]:
    """The results of a Darknet network, in the order of its layers."""
    cv2 = pytest.importorskip("cv2", reason=_REASON)
    net = cv2.dnn.readNetFromDarknet(_bytes(text.encode()), _bytes(weights))
    net.setInput(x)
    names = net.getUnconnectedOutLayersNames()
    return [np.asarray(value) for value in net.forward(names)]


def _bytes(data: bytes) -> Array:
    return np.frombuffer(data, np.uint8)
