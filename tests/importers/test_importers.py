"""The contract of all importers, and the choice of the importer of a file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest

from tests.importers import sources
from tests.ops.cases.case import Graph, normal
from trimtab import importers
from trimtab.errors import (
    ImportModelError,
    ModelFileError,
    SchemaError,
    TtmError,
    UnsupportedOperatorError,
)
from trimtab.importers import _parsers
from trimtab.importers._graph import Value
from trimtab.importers.onnx_ops.node import HANDLERS, OnnxNode

GARBAGE = (b"", b"\x00", b"not a model at all\n" * 20, bytes(range(256)) * 4)


@pytest.mark.parametrize("name", importers.importers())
def test_every_importer_names_its_suffixes_and_recognizes_no_garbage(
    name: str, tmp_path: Path
) -> None:
    importer = importers.importers()[name]
    assert importer.SUFFIXES
    for garbage in GARBAGE:
        path = tmp_path / f"garbage{importer.SUFFIXES[0]}"
        path.write_bytes(garbage)
        assert not importer.sniff(path)
        with pytest.raises((ModelFileError, TtmError)) as caught:
            importer.load(path, {})
        assert str(path) in str(caught.value)
    assert not importer.sniff(tmp_path / "missing")


def test_a_missing_file_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file") as caught:
        importers.load(tmp_path / "net.onnx")
    assert str(tmp_path / "net.onnx") in str(caught.value)
    with pytest.raises(ModelFileError, match="no such file"):
        importers.load(tmp_path / f"{'n' * 300}.onnx")  # which no file system can have


def test_a_missing_file_names_the_model_beside_it_with_nearly_that_name(tmp_path: Path) -> None:
    for name in ("net.onnx", "net.txt", "other.onnx"):
        (tmp_path / name).touch()
    with pytest.raises(ModelFileError) as caught:
        importers.load(tmp_path / "net.onx")
    assert caught.value.hint == f"check the path, or did you mean {str(tmp_path / 'net.onnx')!r}?"
    with pytest.raises(ModelFileError) as caught:
        importers.load(Path("resnet81"))
    assert caught.value.hint == "check the path, or did you mean the zoo's 'resnet18'?"


def test_an_unknown_format_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "net.weights2"
    path.write_bytes(b"whatever")
    with pytest.raises(ModelFileError, match="format is not known") as caught:
        importers.load(path)
    assert ".onnx" in str(caught.value)


def test_a_model_with_a_foreign_suffix_is_recognized_by_its_content(tmp_path: Path) -> None:
    graph = Graph()
    graph.node("Relu", normal(1, 2))
    path = tmp_path / "model.bin.backup"
    onnx.save(graph.model(), path)
    assert importers.find(path) is importers.importers()["onnx"]


@pytest.fixture
def networks(tmp_path: Path) -> dict[str, Path]:
    """A file of every format by the name of the importer."""
    files = {name: tmp_path / name for name in sources.FORMATS}
    for name, folder in files.items():
        folder.mkdir()
        files[name] = sources.FORMATS[name].network(folder)
    files["ttm"] = tmp_path / "net.ttm"
    importers.load(files["onnx"]).save(files["ttm"])
    return {name: files[name] for name in importers.importers()}


def run(code: str, *arguments: str, without: Sequence[str]) -> list[str]:
    """The output lines of a new process without some packages."""
    head = f"import sys\nsys.modules |= dict.fromkeys({list(without)})\n"
    command = [sys.executable, "-c", head + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_missing_package_affects_its_formats_alone(networks: dict[str, Path]) -> None:
    code = """
from trimtab import importers
for path in sys.argv[1:]:
    try:
        print(bool(importers.load(path).ops))
    except importers.MissingRequirementError as e:
        print(e.where == path, e.what.split(",")[0], e.hint, sep="; ")
"""
    needed = {"onnx": "onnx", "tflite": "tflite", "caffe": "protobuf", "paddle": "protobuf"}
    lines = run(code, *map(str, networks.values()), without=("onnx", "tflite", "google"))
    assert dict(zip(networks, lines, strict=True)) == {
        name: f"True; the package {package}; pip install {package}"
        if (package := needed.get(name))
        else "True"
        for name in networks
    }
    # The package onnx reads its files with protobuf.
    (line,) = run(code, str(networks["onnx"]), without=("google",))
    assert line.endswith("pip install protobuf")


def test_a_format_is_recognized_without_the_packages_that_read_it(
    networks: dict[str, Path], tmp_path: Path
) -> None:
    copies = []
    for name, path in networks.items():
        copies.append(tmp_path / f"{name}.unknown")
        copies[-1].write_bytes(path.read_bytes())
    code = """
import pathlib
from trimtab import importers
for path in sys.argv[1:]:
    print(importers.find(pathlib.Path(path)).__name__.split(".")[-1])
"""
    lines = run(code, *map(str, copies), without=("onnx", "tflite", "google"))
    assert lines == list(networks)


def test_a_handler_that_a_script_adds_is_used_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = Graph()
    graph.node("Relu", normal(1, 2))
    model = graph.model()
    model.graph.node[0].op_type, model.graph.node[0].domain = "Fancy", "com.acme"
    model.opset_import.add(domain="com.acme", version=1)
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    monkeypatch.setattr(_parsers, "foreign", [])
    with pytest.raises(UnsupportedOperatorError, match=r"com\.acme\.Fancy"):
        importers.load(path)

    with HANDLERS.restored():

        @HANDLERS.handles("com.acme.Fancy")
        def fancy(node: OnnxNode) -> Value:
            return node.add("relu", node.x())

        assert [op.type for op in importers.load(path).ops] == ["relu"]
    assert _parsers.are_extended()
    with pytest.raises(UnsupportedOperatorError, match=r"com\.acme\.Fancy"):
        importers.load(path)


def test_a_second_handler_of_a_type_is_an_error_that_names_both() -> None:
    def mine(node: OnnxNode) -> Value:
        return node.x()

    for type, place in (("Conv", "convolution.conv"), ("Relu", "elementwise.Relu")):
        with pytest.raises(SchemaError, match=f"'{type}' has two handlers") as caught:
            HANDLERS.handles(type)(mine)
        assert f"trimtab.importers.onnx_ops.{place} and {__name__}.mine" in str(caught.value)
    assert not _parsers.are_extended()


def test_a_saved_program_is_loaded_again_with_its_shapes_and_no_others(tmp_path: Path) -> None:
    graph = Graph()
    graph.node("Relu", normal(1, 2))
    onnx.save(graph.model(), tmp_path / "net.onnx")
    importers.load(tmp_path / "net.onnx").save(tmp_path / "net.ttm")
    program = importers.load(tmp_path / "net.ttm", {"x0": (1, 2)})
    assert (program.inputs, program.outputs) == (["x0"], ["n0"])
    assert [op.type for op in program.ops] == ["relu"]
    with pytest.raises(ImportModelError, match="shapes of a"):
        importers.load(tmp_path / "net.ttm", {"x0": (2, 2)})
