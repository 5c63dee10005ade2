"""The commands of docs/training.md, as they are on the page."""

from __future__ import annotations

import re
from typing import Any

from trimtab import paths


def test_the_tutorial_does_what_it_says() -> None:
    page = (paths.root() / "docs" / "training.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert names["accuracy"] >= 0.98
    assert names["trainer"].iteration == 100
