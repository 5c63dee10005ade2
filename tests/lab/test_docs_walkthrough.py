"""The walk through the code names files and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path


def test_every_file_of_the_walkthrough_exists(root: Path) -> None:
    page = (root / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:[\w.]+/)+[\w.]*|CMakeLists\.txt)`", page)
    assert len(paths) > 30
    assert not [path for path in paths if not (root / path).exists()]


def test_every_function_of_the_walkthrough_is_in_its_file(root: Path) -> None:
    page = (root / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    pairs = re.findall(r"`(?:\w+::)?([A-Z]\w+)`(?: in| \() ?`?([\w./]+\.(?:py|h|cpp))", page)
    assert len(pairs) >= 8
    for name, path in pairs:
        assert name in (root / path).read_text(encoding="utf-8"), f"{path} has no {name}"
