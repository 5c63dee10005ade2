"""The laboratory: experiments on trimtab itself, and the tools of its developers. Not in the wheel.

Each folder is one experiment: `tasks.py` has its tasks, `result.json` (and files beside it) its
committed figures, `page.py` the parts of pages made from them. Tasks and page parts are found by
these file names. The dataclass of the rows, from which most follows, is described in
`experiment.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent


def modules(name: str) -> Iterator[ModuleType]:
    """The module `name` of each experiment that has one, in the order of their folders."""
    for path in sorted(FOLDER.glob(f"*/{name}.py")):
        yield importlib.import_module(f"{__name__}.{path.parent.name}.{name}")
