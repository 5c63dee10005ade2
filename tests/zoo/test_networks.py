"""Each network against its published size, and in onnxruntime."""

from __future__ import annotations

import math

import numpy as np
import onnx
import onnxruntime
import pytest

from trimtab import zoo

# Millions of parameters (running statistics not counted) and of multiply-accumulates, from the
# papers; mobilenet_v3_small and shufflenet_v2 from torchvision's model pages; yolo_* from
# the size of the authors' .weights files and darknet's BFLOPS / 2; detector_* from half of the
# authors' FLOPs; mobilenet_v4_small, mobilevit_xxs and vit_tiny from timm, without the 80 and 180
# of attention; posenet and recognizer_svtr from the size of published float32 files, of 13.3 and
# 8.97 MB, for which no multiply-accumulates are published.
PUBLISHED: dict[str, tuple[float, float | None]] = {
    "detector_nanodet_m": (0.95, 360),
    "detector_picodet_s": (0.99, 365),
    "detector_yolo11n": (2.624, 3250),
    "detector_yolo26n": (2.4, 2700),
    "detector_yolox_nano": (0.91, 540),
    "efficientnet_b0": (5.3, 390),
    "googlenet": (7.0, 1580),
    "mobilenet_v1": (4.2, 569),
    "mobilenet_v2": (3.5, 300),
    "mobilenet_v3_small": (2.54, 56),
    "mobilenet_v4_small": (3.77, 188),
    "mobilevit_xxs": (1.27, 340),
    "posenet": (3.32, None),
    "recognizer_svtr": (2.22, None),
    "resnet18": (11.69, 1814),
    "resnet50": (25.56, 4089),
    "shufflenet_v2": (2.28, 146),
    "squeezenet": (1.235, 349),
    "vit_tiny": (5.717, 1075),
    "yolo_fastest": (0.333, 126),
    "yolov3_tiny": (8.85, 2785),
}


# Some authors' FLOPs count normalization and activations, too.
WITH_OTHERS = {
    "detector_nanodet_m": 0.05,
    "detector_picodet_s": 0.045,
    "detector_yolox_nano": 0.035,
    "mobilevit_xxs": 0.035,
}


def macs(model: onnx.ModelProto) -> int:
    """Multiply-accumulates of Conv, Gemm and MatMul with weights, by onnx's shape inference."""
    graph = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    shapes = {
        info.name: [d.dim_value for d in info.type.tensor_type.shape.dim]
        for info in (*graph.value_info, *graph.output)
    }
    weights = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    inner = {"Conv": slice(1, None), "Gemm": slice(1, None), "MatMul": slice(0, 1)}
    return sum(
        math.prod(shapes[node.output[0]]) * math.prod(weights[node.input[1]][inner[node.op_type]])
        for node in graph.node
        if node.op_type in inner and node.input[1] in weights
    )


@pytest.mark.parametrize("name", zoo.names())
def test_a_network_has_the_published_size_and_computes_something(name: str) -> None:
    model = zoo.model(name)
    onnx.checker.check_model(model, full_check=True)

    learned = [t for t in model.graph.initializer if t.name.endswith((".weight", ".bias"))]
    parameters = sum(math.prod(tensor.dims) for tensor in learned)
    published_parameters, published_macs = PUBLISHED[name]
    assert parameters / 1e6 == pytest.approx(published_parameters, rel=0.01)
    if published_macs is not None:
        assert macs(model) / 1e6 == pytest.approx(published_macs, rel=WITH_OTHERS.get(name, 0.015))

    session = onnxruntime.InferenceSession(model.SerializeToString())
    first = session.run(None, zoo.sample_input(name))
    other = session.run(None, {k: v[..., ::-1].copy() for k, v in zoo.sample_input(name).items()})
    for output, other_output in zip(first, other, strict=True):
        assert np.isfinite(output).all()
        assert np.abs(output).max() < 100
        if model.graph.node[-2].op_type == "Softmax":
            assert output.max() < 0.5
        assert output.std() > 1e-4
        assert np.abs(output - other_output).max() > 0.01 * output.std()
