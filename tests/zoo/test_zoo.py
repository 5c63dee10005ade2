"""The files of the zoo: look-up by name, atomic writes, caching."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from trimtab import zoo
from trimtab.errors import ModelFileError, UsageError


def test_every_network_of_the_zoo_is_documented(root: Path) -> None:
    page = (root / "docs" / "zoo.md").read_text()
    documented = set(re.findall(r"`([a-z0-9_]+)`", page.partition("|--:|")[2].partition("\n\n")[0]))
    assert documented >= set(zoo.names())
    assert zoo.names() == tuple(sorted(zoo.names()))


def test_the_same_network_has_the_same_bytes_every_time() -> None:
    first, second = (zoo.model("yolo_fastest").SerializeToString(deterministic=True) for _ in "12")
    assert first == second


def test_a_network_is_written_once(tmp_path: Path) -> None:
    path = zoo.write("yolo_fastest", tmp_path / "deep" / "er")
    written = path.stat().st_mtime_ns
    assert path.name == "yolo_fastest.onnx"
    assert zoo.write("yolo_fastest", path.parent).stat().st_mtime_ns == written
    assert [entry.name for entry in path.parent.iterdir()] == ["yolo_fastest.onnx"]
    onnx.checker.check_model(onnx.load(path), full_check=True)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"", lambda data: b"x" * 99]
)
def test_a_damaged_file_is_written_again(tmp_path: Path, damage: object) -> None:
    path = zoo.write("yolo_fastest", tmp_path)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))  # type: ignore[operator]
    assert zoo.write("yolo_fastest", tmp_path).read_bytes() == whole


def test_an_unknown_network_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(UsageError, match="no network 'alexnet'") as caught:
        zoo.model("alexnet")
    assert "squeezenet" in str(caught.value)


def test_a_directory_that_cannot_be_created_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelFileError, match="cannot be written") as caught:
        zoo.write("yolo_fastest", tmp_path / "file")
    assert str(tmp_path / "file") in str(caught.value)


def test_the_sample_input_is_seeded_and_has_the_network_s_shape() -> None:
    data = zoo.sample_input("yolo_fastest")["data"]
    assert data.shape == (1, 3, 320, 320)
    assert data.dtype == np.float32
    np.testing.assert_array_equal(data, zoo.sample_input("yolo_fastest")["data"])
