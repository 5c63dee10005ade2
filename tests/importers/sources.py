"""Model files of every format: each test case of an operator, and a small network.

The damage tests and the seeds of the engine's fuzzing use them, so that both cover every layer with
a test case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from tests.importers import (
    caffe_cases,
    caffe_rare_cases,
    caffe_writer,
    darknet_writer,
    ncnn_cases,
    ncnn_rare_cases,
    ncnn_writer,
    pnnx_cases,
    pnnx_writer,
    test_caffe_detection,
    test_caffe_files,
    test_darknet_files,
    test_darknet_layers,
    test_ncnn_detection,
    test_ncnn_files,
    test_ncnn_regions,
    test_onnx_files,
    test_paddle_files,
    test_pnnx_files,
    test_pnnx_operators,
    test_tflite_files,
)
from tests.importers.paddle_record import CASES as PADDLE
from tests.importers.tflite_cases import CASES as TFLITE
from tests.ops.cases import all_cases
from tests.ops.cases.case import Array

NETWORK = "network"  # the name of the small network among the models

Write = Callable[[Path], Path]
"""Writes a model into a folder and returns the file to load."""


def _onnx() -> dict[str, Write]:
    models = {NETWORK: test_onnx_files.small_network()} | {c.id: c.model for c in all_cases()}
    return {name: _file("net.onnx", m.SerializeToString) for name, m in models.items()}


def _tflite() -> dict[str, Write]:
    models = {NETWORK: test_tflite_files._network(), **TFLITE}
    return {name: _file("net.tflite", model.bytes) for name, model in models.items()}


def _file(name: str, content: Callable[[], bytes]) -> Write:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content())
        return folder / name

    return write


def _caffe() -> dict[str, Write]:
    def write(text: str, blobs: caffe_writer.Blobs) -> Write:
        return lambda folder: caffe_writer.write(folder, text, blobs)

    result = {NETWORK: write(test_caffe_files._network(), {"conv": test_caffe_files.WEIGHTS})}
    for case in (*caffe_cases.cases(), *caffe_rare_cases.cases()):
        head = caffe_writer.head({name: value.shape for name, value in case.inputs.items()})
        result[case.id] = write(head + case.text, case.blobs)
    for i, param in enumerate(test_caffe_detection.SUPPRESSIONS):
        result[f"detector-{i}"] = write(test_caffe_detection._detector(1, 4, param), {})
    for kernel in (2, 3):
        result[f"unpooling-{kernel}"] = write(test_caffe_files.unpooling(kernel, 2), {})
    return result


def _darknet() -> dict[str, Write]:
    def write(text: str, data: bytes) -> Write:
        return lambda folder: darknet_writer.write(folder, text, data)

    result = {name: write(*head) for name, head in test_darknet_files.HEADS.items()}
    for name, (options, arrays) in test_darknet_layers.CONVOLUTIONS.items():
        text = test_darknet_layers.START + darknet_writer.section("convolutional", **options)
        result[name] = write(text, darknet_writer.weights(*arrays))
    return {NETWORK: result.pop("yolo"), **result}


def _ncnn() -> dict[str, Write]:
    def write(lines: list[str], arrays: tuple[Array | ncnn_writer.Tagged, ...]) -> Write:
        return lambda folder: ncnn_writer.write(folder, lines, arrays)

    result = {NETWORK: write(test_ncnn_files._lines(), test_ncnn_files.WEIGHTS)}
    for case in (*ncnn_cases.cases(), *ncnn_rare_cases.cases()):
        shapes = {name: value.shape for name, value in case.inputs.items()}
        tops = "y" if case.tops == 1 else " ".join(f"y{i}" for i in range(case.tops))
        layer = ncnn_writer.line(case.type, " ".join(shapes), tops, case.params)
        result[f"{case.type}-{case.id}"] = write([*ncnn_writer.head(shapes), layer], case.weights)
    head = ncnn_writer.head({"x0": (27, 5, 7), "x1": (27, 10, 14)})
    for type, params in test_ncnn_detection.YOLO.items():
        result[type] = write([*head, ncnn_writer.line(type, "x0 x1", "y", params)], ())
    result["Proposal"] = write(test_ncnn_regions.lines((2, 3)), ())
    result["SPP"] = write(
        [*ncnn_writer.head({"x": (3, 5, 7)}), ncnn_writer.line("SPP", "x", "y", {1: 3})], ()
    )
    return result


def _pnnx() -> dict[str, Write]:
    def network(folder: Path) -> Path:
        return pnnx_writer.write(folder, test_pnnx_files._lines(), test_pnnx_files.WEIGHTS)

    def write(case: pnnx_cases.Case) -> Write:
        return lambda folder: test_pnnx_operators._write(case, folder)

    return {NETWORK: network} | {case.name: write(case) for case in pnnx_cases.cases()}


def _paddle() -> dict[str, Write]:
    return {n: net.write for n, net in {NETWORK: test_paddle_files._net(), **PADDLE}.items()}


FORMATS: Mapping[str, Callable[[], dict[str, Write]]] = {
    "onnx": _onnx,
    "tflite": _tflite,
    "caffe": _caffe,
    "darknet": _darknet,
    "ncnn": _ncnn,
    "pnnx": _pnnx,
    "paddle": _paddle,
}


@cache
def models(format: str) -> dict[str, Write]:
    """The models of a format, by name; the network first."""
    return FORMATS[format]()
