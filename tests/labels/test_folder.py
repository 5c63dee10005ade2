"""Folders of labeled pictures: both forms, and what is wrong with a file is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from trimtab import labels
from trimtab.errors import UsageError


def picture(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 6)).save(path)
    return path


def test_folders_are_classes_by_number_or_by_a_line_of_a_file(tmp_path: Path) -> None:
    seven, cat = picture(tmp_path / "7" / "a.png"), picture(tmp_path / "a cat" / "deep" / "b.jpg")
    (tmp_path / "labels.txt").write_text("dog\na cat\n")
    folder = labels.read(tmp_path)
    assert folder.classes == {seven: 7, cat: 1}
    assert folder.boxes == {}
    assert folder.top_class == 7


def test_boxes_are_beside_a_picture_or_in_the_folder_of_labels(tmp_path: Path) -> None:
    near = picture(tmp_path / "a.png")
    (tmp_path / "a.txt").write_text("2 0.5 0.5 0.5 1\n\n")
    far, bare = picture(tmp_path / "images" / "b.png"), picture(tmp_path / "images" / "c.png")
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "b.txt").write_text("4 0.25 0.5 0.5 0.5\n1 0.5 0.5 0.1 0.1\n")
    (tmp_path / "labels" / "c.txt").write_text("")
    folder = labels.read(tmp_path)
    assert folder.classes == {}
    assert {path: len(boxes) for path, boxes in folder.boxes.items()} == {near: 1, far: 2, bare: 0}
    assert folder.boxes[near][0].corners(8, 6) == (2, 0, 6, 6)
    assert folder.top_class == 4


@pytest.mark.parametrize(
    "line",
    [
        *("0 0.5 0.5 0.5", "cat 0.5 0.5 0.5 0.5", "-1 0 0 1 1", "0 0 0 nan 1", "0 9 0 1 1"),
        *("0 0.5 0.5 0 0.5", "0 0.5 0.5 0.5 0", "0 0.5 0.5 -0.1 0.5", "0 0.5 0.5 0.5 inf"),
        *("0 -0.1 0.5 0.5 0.5", "0 0.5 0.5 0.5 0.5 0.5"),
    ],
)
def test_a_line_that_is_no_box_is_named(tmp_path: Path, line: str) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "a.txt").write_text(f"0 0.5 0.5 0.5 0.5\n{line}\n")
    with pytest.raises(UsageError, match="is not a box") as refused:
        labels.read(tmp_path)
    assert str(refused.value.where).endswith("a.txt:2")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        labels.read(tmp_path / "none")
    with pytest.raises(UsageError, match="no pictures"):
        labels.read(tmp_path)
    picture(tmp_path / "a.png")
    with pytest.raises(UsageError, match="neither boxes"):
        labels.read(tmp_path)
    picture(tmp_path / "b.png")
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(UsageError, match="has no boxes"):
        labels.read(tmp_path)
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        labels.read(tmp_path)
