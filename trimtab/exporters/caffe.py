"""Writes Caffe networks: a .prototxt (text) with its .caffemodel (weights).

Layers are those of caffe.proto, with ReLU6, Permute, Interp, ShuffleChannel, Mish and Swish of its
forks and `ceil_mode` of pools where a network needs them; OpenCV reads all of these. What Caffe has
no layer for is composed: asymmetric padding by taps of 0, repeated pixels by a Deconvolution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.exporters.caffe_ops.graph import CaffeGraph, CaffeOp
from trimtab.program import Program

__all__ = ["PEER", "SUFFIXES", "encode", "run_peer"]

SUFFIXES = (".prototxt", ".caffemodel")
PEER = "cv2"


def encode(program: Program) -> Mapping[str, bytes]:
    """Both files. ExportModelError if Caffe cannot express an operator."""
    graph = CaffeGraph(program)
    graph.build(CaffeOp)
    return {".prototxt": graph.text().encode(), ".caffemodel": graph.weights()}


def run_peer(
    path: Path, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str]
) -> list[NDArray[Any]]:
    """Computes the outputs by OpenCV, which raises errors of its own for layers that it lacks."""
    import cv2

    net = cv2.dnn.readNetFromCaffe(str(path), str(path.with_suffix(SUFFIXES[1])))
    for name, value in inputs.items():
        net.setInput(value, name)
    return [np.asarray(value) for value in net.forward(list(outputs))]
