"""Caffe files: variants of network and weights, phases, pairs of files, damage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers import caffe_cases, caffe_rare_cases, damage, test_caffe_detection
from tests.importers.caffe_writer import Blobs, caffemodel, head, layer, random, write
from tests.importers.formats import (
    MISSING,
    SHAPE,
    Format,
    Layer,
    Write,
    damaged,
    edited,
    fault,
    texts,
)
from tests.importers.models import assert_close
from tests.importers.opencv import opencv_caffe
from tests.ops.cases.case import Array
from trimtab.errors import (
    ImportModelError,
    UnsupportedOperatorError,
)

WEIGHTS = (random(4, 3, 3, 3, seed=1), random(4, seed=2))
CONV = "convolution_param { num_output: 4 kernel_size: 3 }"
X = random(1, 3, 6, 8, seed=3)

TRAINING = """
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  data_param { source: "a" batch_size: 9 } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
  transform_param { crop_size: 6 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 2 } }
layer { name: "noise" type: "DummyData" top: "noise" exclude { phase: TEST } }
layer { name: "late" type: "Unheard" bottom: "ip" top: "late" include { min_level: 1 } }
layer { name: "stage" type: "Unheard" bottom: "ip" top: "stage" include { stage: "deploy" } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


def _network() -> str:
    """A network with an in-place layer, a slice and a concat."""
    text = head({"data": X.shape})
    text += layer("Convolution", "data", "conv", CONV)
    text += layer("ReLU", "conv", "conv", name="relu")
    text += layer("Slice", "conv", "a b", "slice_param { slice_point: 1 }", name="slice")
    text += layer("Split", "a", "c d", name="split")
    return text + layer("Concat", "b c d", "joined")


def _written(text: str, blobs: Blobs | None = None) -> Write:
    """Writes a text and its weights."""
    return lambda folder: write(folder, text, blobs)


def _training(folder: Path) -> Path:
    """Writes a network for training, whose input has no shape."""
    return write(folder, TRAINING, {"ip": (random(2, 108, seed=1), random(2, seed=2))})


def unpooling(kernel: int, stride: int) -> str:
    """A pool of x and its reversal."""
    pool = f"pooling_param {{ kernel_size: {kernel} stride: {stride} }}"
    up = "upsample_param { upsample_h: 7 upsample_w: 10 }"
    text = head({"x": (2, 5, 7, 10)}) + layer("Pooling", "x", "pool mask", pool)
    return text + layer("Upsample", "pool mask", "y", up)


def _expected(_: Path) -> Mapping[str, Array]:
    (joined,) = opencv_caffe(_network(), {"conv": WEIGHTS}, {"data": X}, ["joined"])
    return {"joined": joined}


def _layers(folder: Path, layers: Sequence[Layer], outputs: Sequence[str]) -> Path:
    lines = (layer(one.type, one.reads, one.writes, name=one.name) for one in layers)
    return write(folder, head({"x": SHAPE}) + "".join(lines))


def _unsupported(folder: Path) -> Path:
    text = head({"data": X.shape}) + layer("Unheard", "data", "a")
    text += layer("ReLU", "a", "b") + layer("LSTM", "b", "c", "recurrent_param { num_output: 2 }")
    text += layer("Pooling", "data", "d", "pooling_param { pool: STOCHASTIC kernel_size: 2 }")
    text += layer("Convolution", "data", "e", CONV.replace("}", "pad_type: 1 }"))
    text += layer("PReLU", "data", "f", "prelu_param { unknown_option: 1 channel_shared: true }")
    return write(folder, text, {"f": (np.ones(1, np.float32),), "e": WEIGHTS})


def _unfilled(content: bytes) -> bytes:
    """Another shape of a blob."""
    return content.replace(b"\x0a\x04\x04\x03\x03\x03", b"\x0a\x04\x7f\x7f\x7f\x7f")


def _models() -> Mapping[str, Write]:
    result = {}
    for case in (*caffe_cases.cases(), *caffe_rare_cases.cases()):
        inputs = head({name: value.shape for name, value in case.inputs.items()})
        result[case.id] = _written(inputs + case.text, case.blobs)
    for i, param in enumerate(test_caffe_detection.SUPPRESSIONS):
        result[f"detector-{i}"] = _written(test_caffe_detection.detector(1, 4, param))
    for kernel in (2, 3):
        result[f"unpooling-{kernel}"] = _written(unpooling(kernel, 2))
    return result


_net = _written(_network(), {"conv": WEIGHTS})
_TEXTS = [
    ("layer {", "line|1:"),
    ("layer { name: }", "expected a value"),
    ('layer { name: "a" type: "ReLU" bottom: "x" top: "y" }', "bottom 'x' is not defined"),
    ('layer { name: "a" }', "has no type"),
    ('layer { type: "ReLU" bottom: {} }', "is a message"),
    ("layer: 5", "not a message"),
    ('input: "x" input_dim: five layer { type: "ReLU" }', "not an integer"),
    ('input: "x" layer { type: "ReLU" bottom: "x" top: "y" }', "unknown"),
    ('input: "x" input_dim: -4 layer { type: "ReLU" bottom: "x" top: "y" }', "-4"),
    ("layer " + "{ a " * 500, "nested more than"),
    ("layers { layer { name: 'a' type: 'conv' } }", "before V1"),
    ('net: "net.prototxt"\nbase_lr: 0.1\n', "no layers"),
]
_EDITS = [
    ("num_output: 4", "num_output: 5", "weights has shape"),
    ("num_output: 4", "num_output: 1000000000000", "weights has shape|out of range"),
    ("num_output: 4", "num_output: -4", "groups do not divide"),
    ("kernel_size: 3", "kernel_size: 3 group: 0", "groups do not divide"),
    ("kernel_size: 3", "kernel_size: 3 stride: 0", "strides"),
    ("kernel_size: 3", "kernel_size: 3 pad: 4000000000", "pads"),
    ("kernel_size: 3", "", "kernel_size"),
    ("slice_point: 1", "slice_point: 9", "layer 'slice'"),
    ("slice_point: 1", "slice_point: 1 axis: 7", "axis 7"),
    ("dim: 8", "dim: 2000000000", "too large|negative|illegal"),
]

FORMAT = Format(
    network=_net,
    feeds={"data": X},
    expected=_expected,
    layers=_layers,
    relu="ReLU",
    resized=(_net, (2, 3, 9, 9), (2, 5, 7, 7)),
    unsupported=fault(
        _unsupported,
        *(r"5 layers are", r"'a' \(Unheard\), line 2", r"'c' \(LSTM\)", "STOCHASTIC"),
        *("'unknown_option'", "'pad_type'"),
        never="'b'",
    ),
    free=fault(_training, "'data'"),
    mistakes=texts(_net, _TEXTS) | edited(_net, _EDITS, ImportModelError),
    weights=[
        fault(_written(_network()), MISSING, hint=".caffemodel", kind=ImportModelError),
        fault(damaged(_net, "net.caffemodel", _unfilled), re.escape("[127, 127, 127, 127]")),
    ],
    models=_models,
    structures={"net.prototxt": damage.of_text, "net.caffemodel": damage.of_protobuf},
    declares_outputs=False,
)


def test_an_in_place_result_has_the_name_of_its_blob(tmp_path: Path) -> None:
    text = head({"data": X.shape}) + layer("Convolution", "data", "conv", CONV)
    text += layer("ReLU", "conv", "conv", name="relu")
    program = trimtab.load(write(tmp_path, text, {"conv": WEIGHTS}))
    assert program.outputs == ["conv"]
    assert trimtab.Session(program).run({"data": X})["conv"].min() >= 0


@pytest.mark.parametrize("form", ["current", "legacy", "double", "half"])
def test_weights_are_read_in_every_form(form: str, tmp_path: Path) -> None:
    folder = tmp_path / form
    folder.mkdir()
    program = trimtab.load(write(folder, _network(), {"conv": WEIGHTS}, form))
    weights = {v.name: v.data for v in program.constants()}
    for name, expected in zip(("conv.weight", "conv.bias"), WEIGHTS, strict=True):
        array = weights[name]
        assert array is not None
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, expected, 0, 1e-3 if form == "half" else 0)


V1 = """
name: "old"   # a comment
input: "data" input_dim: 1 input_dim: 3 input_dim: 6 input_dim: 8
layers { name: "conv" type: CONVOLUTION bottom: "data" top: "conv" blobs_lr: 1 weight_decay: 1
  convolution_param < num_output: 4, kernel_size: 3;
    weight_filler { type: 'gaussian' std: 1e-2 } > }
layers { name: "relu" type: 18 bottom: "conv" top: "conv" }
layers { name: "pool" type: POOLING bottom: "conv" top: "pool"
  pooling_param: { pool: MAX kernel_size: 3 stride: 2 } }
layers { name: "prob" type: SOFTMAX bottom: "pool" top: "prob" }
"""
LOSS = """
layers { name: "loss" type: SOFTMAX_LOSS bottom: "pool" bottom: "label" top: "loss"
  include: { phase: TRAIN } }
"""


def test_networks_of_the_first_version_compute_what_opencv_computes(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(V1 + LOSS)
    (tmp_path / "net.caffemodel").write_bytes(caffemodel({"conv": WEIGHTS}, "legacy", v1=True))
    program = trimtab.load(tmp_path / "net.prototxt")
    assert program.outputs == ["prob"]
    actual = trimtab.Session(program).run({"data": X})["prob"]
    (expected,) = opencv_caffe(V1, {"conv": WEIGHTS}, {"data": X}, ["prob"])
    assert_close(actual, expected, 1e-5)


def test_a_network_for_training_is_imported_in_its_test_phase(tmp_path: Path) -> None:
    program = trimtab.load(_training(tmp_path), {"data": (1, 3, 6, 6)})
    assert (program.inputs, program.outputs) == (["data"], ["ip"])


def _unpooled(x: Array, kernel: int, stride: int) -> Array:
    """Maxima at their positions, 0 elsewhere, in the order of Caffe's loops."""
    n, channels, height, width = x.shape
    y = np.zeros_like(x)
    rows, columns = (-(-(size - kernel) // stride) + 1 for size in (height, width))
    for i, c, row, column in np.ndindex(n, channels, rows, columns):
        top, left = row * stride, column * stride
        window = x[i, c, top : top + kernel, left : left + kernel]
        down, right = np.unravel_index(window.argmax(), window.shape)
        y[i, c, top + down, left + right] = window.max()
    return y


def test_a_solver_beside_a_network_is_not_the_network_of_weights(tmp_path: Path) -> None:
    text = write(tmp_path, _network(), {"conv": WEIGHTS})
    other = (tmp_path / "net.caffemodel").rename(tmp_path / "iteration_9000.caffemodel")
    (tmp_path / "solver.prototxt").write_text('net: "net.prototxt"\n')
    assert trimtab.load(text).outputs == trimtab.load(other).outputs


@pytest.mark.parametrize(("kernel", "stride"), [(2, 2), (3, 2)])
def test_max_unpooling_restores_maxima_at_their_positions(
    kernel: int, stride: int, tmp_path: Path
) -> None:
    x = random(2, 5, 7, 10, seed=4)
    program = trimtab.load(write(tmp_path, unpooling(kernel, stride)))
    assert program.outputs == ["y"]
    actual = trimtab.Session(program, threads=2).run({"x": x})["y"]
    np.testing.assert_array_equal(actual, _unpooled(x, kernel, stride))


def test_only_upsample_may_read_the_mask_of_a_pool(tmp_path: Path) -> None:
    text = head({"x": X.shape})
    text += layer("Pooling", "x", "pool mask", "pooling_param { kernel_size: 2 stride: 2 }")
    assert trimtab.load(write(tmp_path, text)).outputs == ["pool"]
    with pytest.raises(UnsupportedOperatorError, match="positions of a pool's maxima"):
        trimtab.load(write(tmp_path, text + layer("ReLU", "mask", "y")))
