"""The folder of a new plug-in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trimtab.errors import UsageError
from trimtab.plugin_kit import scaffold


@pytest.mark.parametrize(
    ("name", "op", "framework", "problem"),
    [
        ("Mine", "twist", "onnx", "the plug-in's name is 'Mine'"),
        ("mine", "2twist", "onnx", "the operator's name is '2twist'"),
        ("mine", "twist", "pickle", "there is no format 'pickle'"),
        ("mine", "conv", "onnx", "there is already an operator conv"),
    ],
)
def test_an_invalid_name_is_refused_and_nothing_is_written(
    name: str, op: str, framework: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=re.escape(problem)):
        scaffold.write(name, op, framework, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_stays_as_it_is(tmp_path: Path) -> None:
    notes = tmp_path / "mine" / "notes"
    notes.parent.mkdir()
    notes.write_text("mine")
    with pytest.raises(UsageError, match="the folder exists already"):
        scaffold.write("mine", "twist", "onnx", tmp_path)
    assert [*notes.parent.iterdir()] == [notes]


def test_every_word_of_the_templates_is_replaced_in_texts_and_file_names(tmp_path: Path) -> None:
    folder = scaffold.write("mine", "double_twist", "ncnn", tmp_path)
    assert folder == tmp_path / "mine"
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert any("double_twist" in path.name for path in written)
    for path in written:
        assert not re.search(r"@\w+@", path.name + path.read_text())
        assert path.suffix != ".in"
    assert any("DoubleTwist" in path.read_text() for path in written)
