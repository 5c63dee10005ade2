"""A network with what it has learned, written for other engines: they compute what ours does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

import trimtab
from tests.exporters.round_trip import assert_close, from_ncnn, from_opencv, written
from tests.ops import oracle
from tests.small_programs import Net, normal
from trimtab.program import Program


def learned() -> Program:
    """A convolutional network with depthwise weights and learned batch statistics, after a few
    steps, for one image.
    """
    net = Net(data=(1, 3, 9, 9))
    x = net("relu", net.conv("data", 6, 3, strides=(2, 2)))
    statistics = normal(6), np.abs(normal(6)) + np.float32(0.5)
    x = net("batch_normalization", x, normal(6), normal(6), *statistics)
    x = net("prelu", net.conv(x, 6, 3, group=6), np.full((6, 1, 1), 0.2, np.float32))
    x = net("max_pool", x, kernel_shape=(2, 2), strides=(2, 2), pads=(0, 0, 1, 1))
    x = net("reshape", x, shape=(1, 54))
    program = net.finish(net("gemm", x, normal(4, 54) / np.float32(7), normal(4)))
    built = trimtab.training(program, batch_statistics=["*"], optimizer="adam")
    trainer = trimtab.Trainer(built)
    for step in range(5):
        trainer.step({"data": normal(1, 3, 9, 9), "label": np.array([step % 4])})
    network = trainer.network()
    changed = [v.name for v in network.constants() if np.any(v.data != program.vars[v.name].data)]
    assert len(changed) == 4 + 2 + 3 + 2  # weights, biases, slopes, and statistics
    return network


def test_other_engines_read_a_learned_network(tmp_path: Path) -> None:
    network = learned()
    inputs = {"data": normal(1, 3, 9, 9)}
    expected = trimtab.Session(network).run(inputs)
    caffe = written(network, tmp_path / "net.caffemodel").with_suffix(".prototxt")
    assert_close(from_opencv(caffe, inputs, network.outputs), expected)
    ncnn = written(network, tmp_path / "net.param")
    assert_close(from_ncnn(ncnn, inputs, network.outputs), expected)
    model = onnx.load(written(network, tmp_path / "net.onnx"))
    assert_close(oracle.run(model, inputs), expected)
    network.save(tmp_path / "net.ttm")
    for path in (caffe, ncnn, tmp_path / "net.onnx", tmp_path / "net.ttm"):
        assert_close(trimtab.Session(trimtab.load(path)).run(inputs), expected)
