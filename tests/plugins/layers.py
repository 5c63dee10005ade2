"""One network with a single layer in each format, for tests of parsers: y of x [1, 3, 4, 5]."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

from tests.importers import (
    caffe_writer,
    darknet_writer,
    ncnn_writer,
    paddle_writer,
    pnnx_writer,
    tflite_writer,
)
from tests.ops.cases.case import Array
from trimtab.importers import importers

FRAMEWORKS = tuple(name for name in importers() if name != "ttm")
SHAPE = (1, 3, 4, 5)
NHWC = (1, 4, 5, 3)
WEIGHTS = caffe_writer.random(2, 3, 1, 1, seed=5)
"""Of a convolution [2, 3, 1, 1]."""

SEED, RATIO = 2**64 - 1, 0.1  # no int64 holds the one, no float32 the other
BANDS = [{"offset": 0.5, "width": [2, 1]}, {"offset": -1.0, "width": [3]}]
NUMBERS = {"count": 0, "ratio": 1, "seed": 2, "offsets": 3, "mode": 4, "table": 5, "bands": 6}
"""What ncnn calls parameters."""


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


# Parameters by format: `count` an integer, `ratio` a double, `seed` a uint64, `offsets` numbers,
# `mode` a text, `table` JSON, `bands` messages, or JSON in formats without messages.
_PLAIN = {"count": 7, "offsets": [0.5, -1.5], "mode": "wide", "table": _compact({"a": [1, 2]})}
_ALL: dict[str, dict[str, Any]] = {
    "onnx": _PLAIN | {"ratio": str(RATIO), "seed": str(SEED), "bands": _compact(BANDS)},
    "tflite": _PLAIN | {"ratio": RATIO, "seed": SEED, "bands": BANDS},
    "paddle": _PLAIN | {"ratio": np.float64(RATIO), "seed": str(SEED), "bands": _compact(BANDS)},
    "pnnx": _PLAIN | {"ratio": RATIO, "seed": SEED, "bands": _compact(BANDS[1])},
    "ncnn": _PLAIN | {"ratio": str(RATIO), "seed": str(SEED), "bands": _compact(BANDS)},
    "darknet": _PLAIN
    | {"ratio": RATIO, "seed": SEED, "bands": _compact(BANDS), "offsets": "0.5,-1.5"},
    "caffe": _PLAIN | {"ratio": RATIO, "seed": SEED, "bands": BANDS},
}


def every_parameter(framework: str) -> dict[str, Any]:
    """A parameter of each type that the tests ask for."""
    return _ALL[framework]


def bands(framework: str) -> list[dict[str, Any]]:
    """The messages in them; of PNNX one, whose lists hold neither."""
    return BANDS[1:] if framework == "pnnx" else BANDS


def name(framework: str, parameter: str) -> str | int:
    """The name of a parameter in a format."""
    return NUMBERS[parameter] if framework == "ncnn" else parameter


def write(
    framework: str, folder: Path, type: str, parameters: Mapping[str, Any], weighted: bool = False
) -> Path:
    """A network whose layer of that type has these parameters, and `WEIGHTS` if it is weighted."""
    return _WRITERS[framework](folder, type, parameters, weighted)


def _onnx(folder: Path, type: str, parameters: Mapping[str, Any], weighted: bool) -> Path:
    domain, _, short = type.rpartition(".")
    inputs = ["x", "w"] if weighted else ["x"]
    node = helper.make_node(short, inputs, ["y"], domain=domain, **parameters)
    infos = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
        for n, s in (("x", SHAPE), ("y", None))
    ]
    weights = [numpy_helper.from_array(WEIGHTS, "w")] if weighted else []
    graph = helper.make_graph([node], "net", infos[:1], infos[1:], weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    save(helper.make_model(graph, opset_imports=opsets), folder / "net.onnx")
    return folder / "net.onnx"


def _tflite(folder: Path, type: str, parameters: Mapping[str, Any], weighted: bool) -> Path:
    model = tflite_writer.Model()
    inputs = [model.input(np.zeros(NHWC, np.float32))]
    result, options = NHWC, ""
    if weighted:
        inputs.append(model.constant(np.ascontiguousarray(WEIGHTS.transpose(0, 2, 3, 1))))
        result, options = (*NHWC[:3], 2), "Conv2DOptions"
    type = type.removeprefix("custom ")
    model.outputs = model.add(type, inputs, [result], options, **parameters)
    (folder / "net.tflite").write_bytes(model.bytes())
    return folder / "net.tflite"


def _paddle(folder: Path, type: str, parameters: Mapping[str, Any], weighted: bool) -> Path:
    net = paddle_writer.Net(feeds={"x": np.zeros(SHAPE, np.float32)}, fetches=["y"])
    if weighted:
        net.parameters["w"] = WEIGHTS
        net.add(type, {"Input": "x", "Filter": "w"}, {"Output": "y"}, **parameters)
    else:
        net.add(type, {"X": "x"}, {"Out": "y"}, **parameters)
    return net.write(folder)


def _pnnx(folder: Path, type: str, parameters: Mapping[str, Any], weighted: bool) -> Path:
    weights = {"weight": WEIGHTS} if weighted else {}
    texts = {k: str(v) if isinstance(v, float) else v for k, v in parameters.items()}
    lines = [
        pnnx_writer.input_line("x", "0", SHAPE),
        pnnx_writer.line(type, "layer", "0", "1", texts, weights=weights),
        pnnx_writer.output_line("y", "1"),
    ]
    return pnnx_writer.write(folder, lines, {f"layer.{k}": v for k, v in weights.items()})


def _ncnn(folder: Path, type: str, parameters: Mapping[str, Any], weighted: bool) -> Path:
    numbers = {NUMBERS[k] if k in NUMBERS else int(k): v for k, v in parameters.items()}
    words = [f"{k}={v}" for k, v in numbers.items() if isinstance(v, str)]
    rest = {k: v for k, v in numbers.items() if not isinstance(v, str)}
    line = " ".join([ncnn_writer.line(type, "x", "y", rest), *words])
    weights = [ncnn_writer.Tagged(WEIGHTS)] if weighted else []
    return ncnn_writer.write(folder, [*ncnn_writer.head({"x": SHAPE[1:]}), line], weights)


def _darknet(folder: Path, type: str, parameters: Mapping[str, Any], weighted: bool) -> Path:
    text = darknet_writer.net(*SHAPE[:1:-1], SHAPE[1]) + darknet_writer.section(type, **parameters)
    return darknet_writer.write(folder, text, darknet_writer.weights(WEIGHTS) if weighted else None)


def _caffe(folder: Path, type: str, parameters: Mapping[str, Any], weighted: bool) -> Path:
    fields = f"any_param {{ {_fields(parameters)} }}"
    text = caffe_writer.head({"x": SHAPE}) + caffe_writer.layer(type, "x", "y", fields)
    return caffe_writer.write(folder, text, {"y": [WEIGHTS]} if weighted else None)


def _fields(values: Mapping[str, Any]) -> str:
    """A message in protobuf's text form."""
    words = []
    for key, value in values.items():
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, Mapping):
                words.append(f"{key} {{ {_fields(element)} }}")
            else:
                words.append(f"{key}: {_compact(element)}")
    return " ".join(words)


_WRITERS: dict[str, Callable[[Path, str, Mapping[str, Any], bool], Path]] = {
    "onnx": _onnx,
    "tflite": _tflite,
    "paddle": _paddle,
    "pnnx": _pnnx,
    "ncnn": _ncnn,
    "darknet": _darknet,
    "caffe": _caffe,
}
assert {*_WRITERS} == {*FRAMEWORKS}, "a new format needs a network here"


def convolved(x: Array) -> Array:
    """The convolution of x [1, 3, 4, 5] with `WEIGHTS`, of one pixel."""
    return np.asarray(np.einsum("oc,nchw->nohw", WEIGHTS[:, :, 0, 0], x))
