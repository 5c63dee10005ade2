"""Damaged files of every format: a model, or an error of ours, and nothing else.

`./inv fuzz sources` runs this with other damage each time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers import (
    caffe_writer,
    damage,
    ncnn_writer,
    pnnx_writer,
    test_caffe_files,
    test_darknet_files,
    test_ncnn_files,
    test_onnx_files,
    test_paddle_files,
    test_pnnx_files,
    test_tflite_files,
)
from trimtab import importers
from trimtab.errors import TrimtabError

Files = Mapping[str, bytes]


def _onnx(_: Path) -> Files:
    return {"net.onnx": test_onnx_files.small_network().SerializeToString()}


def _tflite(_: Path) -> Files:
    return {"net.tflite": test_tflite_files._network().bytes()}


def _caffe(_: Path) -> Files:
    weights = caffe_writer.caffemodel({"conv": test_caffe_files.WEIGHTS})
    return {"net.prototxt": test_caffe_files._network().encode(), "net.caffemodel": weights}


def _darknet(_: Path) -> Files:
    text, weights = test_darknet_files.HEADS["yolo"]
    return {"net.cfg": text.encode(), "net.weights": weights}


def _ncnn(_: Path) -> Files:
    text = ncnn_writer.network(test_ncnn_files._lines())
    return {"net.param": text.encode(), "net.bin": ncnn_writer.binary(test_ncnn_files.WEIGHTS)}


def _pnnx(folder: Path) -> Files:
    path = pnnx_writer.write(folder, test_pnnx_files._lines(), test_pnnx_files.WEIGHTS)
    return {file.name: file.read_bytes() for file in (path, folder / "net.pnnx.bin")}


def _paddle(folder: Path) -> Files:
    path = test_paddle_files._net().write(folder)
    return {file.name: file.read_bytes() for file in (path, folder / "net.pdiparams")}


# The file to load comes first. What else than bytes is damaged goes by what its name ends with.
FORMATS: Mapping[str, Callable[[Path], Files]] = {
    "onnx": _onnx,
    "tflite": _tflite,
    "caffe": _caffe,
    "darknet": _darknet,
    "ncnn": _ncnn,
    "pnnx": _pnnx,
    "paddle": _paddle,
}
STRUCTURES: Mapping[str, damage.Damage] = {
    "net.onnx": damage.of_protobuf,
    "net.tflite": damage.of_words,
    "net.prototxt": damage.of_text,
    "net.caffemodel": damage.of_protobuf,
    "net.cfg": damage.of_text,
    "net.param": damage.of_text,
    "net.pnnx.param": damage.of_text,
    "net.pnnx.bin": damage.of_zip,
    "net.pdmodel": damage.of_protobuf,
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_files_to_damage_are_a_model(name: str, tmp_path: Path) -> None:
    files = FORMATS[name](tmp_path)
    for file, content in files.items():
        (tmp_path / file).write_bytes(content)
    importers.load(tmp_path / next(iter(files)))


@pytest.mark.parametrize("name", FORMATS)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_a_model_or_an_error_of_ours(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    files = FORMATS[name](tmp_path)
    victim = data.draw(st.sampled_from(sorted(files)))
    kinds = [damage.of_bytes, *([STRUCTURES[victim]] if victim in STRUCTURES else [])]
    content, kind = files[victim], data.draw(st.sampled_from(kinds))
    for _ in range(data.draw(st.integers(1, 3))):
        content = kind(data, content) if content else b""
    for file, whole in files.items():
        (tmp_path / file).write_bytes(content if file == victim else whole)
    with contextlib.suppress(TrimtabError):
        importers.load(tmp_path / next(iter(files)))


def test_every_format_is_damaged() -> None:
    # What damage does to a .ttm is the affair of tests/engine and of the fuzz targets.
    assert {*FORMATS, "ttm"} == set(importers.importers())
