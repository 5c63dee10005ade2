"""A small network that sees pictures, and pictures for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def picture(width: int, height: int) -> np.ndarray:
    return np.random.default_rng(width).integers(0, 256, (height, width, 3)).astype(np.uint8)


def classifier(folder: Path, shape: tuple[int, ...] = (1, 3, 16, 16)) -> Path:
    """The mean of each channel, and their sums in twos, as four classes."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["image"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["classes"]),
    ]
    weights = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0]], np.float32)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        for name, dims in (("image", shape), ("classes", (1, 4)))
    ]
    constants = [numpy_helper.from_array(weights, "weights")]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], constants)
    opset = [helper.make_opsetid("", 17)]
    path = folder / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path
