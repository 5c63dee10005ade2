"""Class names: each occurs once in trimtab and lab."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("trimtab", "lab")


def classes() -> Iterator[tuple[str, str]]:
    """(name without leading underscores, module) of every class in trimtab and lab."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "_resources" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    yield node.name.strip("_"), str(path.relative_to(ROOT))


def test_no_class_name_occurs_twice() -> None:
    modules = defaultdict(list)
    for name, module in classes():
        modules[name].append(module)
    assert not {name: places for name, places in modules.items() if len(places) > 1}
