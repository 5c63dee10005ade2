"""The walks through the code name files and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

WALKS = ("One build", "One inference", "A camera's frame", "A training step")


def walk(root: Path, title: str) -> str:
    """The section of a walk."""
    page = (root / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    (section,) = re.finditer(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return section[1]


@pytest.mark.parametrize("title", WALKS)
def test_every_file_of_a_walk_exists(root: Path, title: str) -> None:
    text = walk(root, title)
    paths = re.findall(r"`((?:[\w.]+/)+[\w.]*|CMakeLists\.txt)`", text)
    assert len({*paths}) > 9
    assert not [path for path in paths if not (root / path).exists()]


@pytest.mark.parametrize("title", WALKS)
def test_every_name_of_a_walk_is_in_its_file(root: Path, title: str) -> None:
    file = r"`?([\w./]+\.(?:py|h|cpp))"
    pairs = re.findall(rf"`(?:\w+::)?(\w+)` in {file}|`([A-Z]\w+)` \({file}", walk(root, title))
    assert pairs
    for name, path in ((a or c, b or d) for a, b, c, d in pairs):
        text = (root / path).read_text(encoding="utf-8")
        assert re.search(rf"\b{name}\b", text), f"{path} has no {name}"


def test_the_walks_are_those_of_the_page(root: Path) -> None:
    page = (root / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^## (.*)$", page, re.M)) == WALKS
