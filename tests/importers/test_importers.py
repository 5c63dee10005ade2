"""What every importer owes, and how one is chosen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.ops.cases.case import Graph, normal
from trimtab import importers
from trimtab.errors import ImportModelError, ModelFileError, TtmError

GARBAGE = (b"", b"\x00", b"not a model at all\n" * 20, bytes(range(256)) * 4)


@pytest.mark.parametrize("name", importers.importers())
def test_every_importer_names_its_suffixes_and_recognises_no_garbage(
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


def test_an_unknown_format_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "net.weights2"
    path.write_bytes(b"whatever")
    with pytest.raises(ModelFileError, match="format is not known") as caught:
        importers.load(path)
    assert ".onnx" in str(caught.value)


def test_a_model_with_a_foreign_suffix_is_recognised_by_its_content(tmp_path: Path) -> None:
    graph = Graph()
    graph.node("Relu", normal(1, 2))
    path = tmp_path / "model.bin.backup"
    onnx.save(graph.model(), path)
    assert importers.find(path) is importers.importers()["onnx"]


def test_a_format_does_without_the_packages_of_the_others(tmp_path: Path) -> None:
    graph = Graph()
    graph.node("Relu", normal(1, 2))
    onnx.save(graph.model(), tmp_path / "net.onnx")
    importers.load(tmp_path / "net.onnx").save(tmp_path / "net.ttm")
    code = """
import sys
sys.modules["onnx"] = sys.modules["tflite"] = None
from trimtab import importers
print(importers.load(sys.argv[1] + "/net.ttm").outputs)
try:
    importers.load(sys.argv[1] + "/net.onnx")
except importers.MissingRequirementError as e:
    print(e)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("['n0']\nthe importer of onnx cannot be loaded: import of onnx")


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
