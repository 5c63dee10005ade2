"""LiteRT as a peer: the files that are written of ONNX networks compute what these do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from lab.peers import worker
from lab.peers.litert_file import File
from lab.peers.litert_network import Network
from lab.peers.litert_writer import Writer
from lab.peers.quantized import quantized
from trimtab.bench.golden import Golden
from trimtab.bench.oracle import onnx_golden
from trimtab.zoo.blocks import squeeze_excite
from trimtab.zoo.builder import INPUT, Net

runtime = pytest.importorskip("ai_edge_litert.interpreter")
pytest.importorskip("onnxruntime")


@pytest.fixture(name="model", scope="module")
def network_of_all_operators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each operator on its own or behind a convolution, each with an output; sizes are odd, and
    neither those of SAME nor those of VALID everywhere.
    """
    net = Net("all", (1, 6, 12, 11))
    made = {
        "strided": (linear := net.conv_bn(INPUT, 8, 3, 2, "linear")),
        "wide": net.conv_bn(INPUT, 5, 7, 2),
        "depthwise": (deep := net.conv_bn(INPUT, 6, 5, 2, "relu6", groups=6)),
        "multiplied": net.conv_bn(INPUT, 12, 3, 1, "linear", groups=6),
        "grouped": net.conv_bn(INPUT, 10, 3, 1, "relu", groups=2),
        "hard_swish": net.act(linear, "hard_swish"),
        "silu": net.act(linear, "silu"),
        "leaky": net.act(linear, "leaky"),
        "excited": squeeze_excite(net, deep, 4, "relu", "hard_sigmoid"),
        "sum": net.add(linear, net.conv_bn(INPUT, 8, 1, 2)),
        "pool_of_any_sign": net.max_pool(linear, 3, 2, 1),
        "pool_of_positive": net.max_pool(deep, 3, 2, 1),
        "pool_to_the_last_pixel": net.max_pool(INPUT, 3, 2, ceil_mode=True),
        "concat": (both := net.concat(linear, deep)),
        "beside_a_sigmoid": net.concat(net.act(deep, "sigmoid"), deep),
        "twice_as_large": net.upsample(deep, 2),
        "logits": net.linear(net.global_pool(deep), 7),
        "softmax": net.softmax(net.linear(net.global_mean(linear), 3)),
    }
    shuffled = net.op("Transpose", [net.reshape(both, (1, 2, 7, 6, 6))], perm=[0, 2, 1, 3, 4])
    made["a"], made["b"] = net.halves(net.reshape(shuffled, (1, 14, 6, 6)))
    rows = net.op("Flatten", [linear], 8 * 36, axis=1)
    made["of_pixels"] = net.linear(rows, 4)
    made["to_pixels"] = net.reshape(net.linear(rows, 24), (1, 6, 2, 2))
    for name, value in made.items():
        net.output(value, name)
    path = tmp_path_factory.mktemp("litert") / "all.onnx"
    onnx.save(net.model(""), path)
    return path


def run(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Golden, list[Any], Counter[str]]:
    """What onnxruntime says without optimizations, what LiteRT does, and the file's operators."""
    monkeypatch.syspath_prepend(Path(worker.__file__).parent)  # as it is for a script
    golden = onnx_golden(model, {})
    names = list(golden.output_names)
    job = worker.Job(model, folder, 1, {INPUT: golden.inputs[0]}, names, "")
    worker.litert_convert(job)
    outputs = list(worker.litert(job, runtime)())
    interpreter = runtime.Interpreter(
        str(job.converted(".tflite")),
        experimental_op_resolver_type=runtime.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    return golden, outputs, Counter(step["op_name"] for step in interpreter._get_ops_details())


def test_real_numbers_are_those_of_onnxruntime(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden, outputs, operators = run(model, tmp_path, monkeypatch)
    for name, found, expected in zip(golden.output_names, outputs, golden.outputs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5, err_msg=name)
    assert (operators["HARD_SWISH"], operators["DEPTHWISE_CONV_2D"]) == (1, 2)


def test_integers_are_those_of_the_qdq_file(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = quantized(model, tmp_path / "twins")
    golden, outputs, operators = run(twin, tmp_path, monkeypatch)
    steps = output_steps(twin)
    errors = {
        name: float(np.abs(found - expected).max()) / steps[name]
        for name, found, expected in zip(golden.output_names, outputs, golden.outputs, strict=True)
    }
    # One step where LiteRT rounds to a scale that it demands, in the place of the file's or before
    # it, and one more where what follows multiplies that.
    assert {name: error for name, error in errors.items() if error > 2.01} == {}
    # Where nothing of that is, only what lies halfway between two integers may differ.
    for name in ("strided", "wide", "multiplied", "grouped", "sum", "of_pixels", "to_pixels"):
        assert errors[name] < 1.01, name
    # Real numbers are where they come in and go out, and nowhere else; one sigmoid is rescaled.
    assert (operators["QUANTIZE"], operators["DEQUANTIZE"]) == (1 + 1, len(outputs))


def output_steps(twin: Path) -> dict[str, float]:
    """Of the integers that the outputs of a QDQ file stand for."""
    graph = onnx.load(twin).graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    makers = {node.output[0]: node for node in graph.node}
    steps = {}
    for output in graph.output:
        maker = makers[output.name]
        while maker.op_type == "Identity":
            maker = makers[maker.input[0]]
        steps[output.name] = float(numpy_helper.to_array(constants[maker.input[1]]))
    return steps


@pytest.mark.parametrize(
    ("op", "attributes", "reason"),
    [
        ("Erf", {}, "nothing is written for Erf"),
        ("HardSigmoid", {"alpha": 0.2}, "another slope than 1 / 6"),
        ("Softmax", {"axis": 2}, "no softmax over the channels"),
        ("MaxPool", {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER"}, "pads by auto_pad"),
    ],
)
def test_what_tflite_cannot_express_is_refused_with_the_reason(
    op: str, attributes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, 5, 5]) for name in "xy"]
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    graph = helper.make_graph([node], "refused", values[:1], values[1:])
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset]), tmp_path / "refused.onnx")
    with pytest.raises(ValueError, match=reason):
        Writer(Network(tmp_path / "refused.onnx"), File()).content()
