"""Reports of result records: one format per module, found by its file name.

A format is a module of this package (names with a leading underscore are helpers) that has what
`Format` asks for; that is all there is to adding one. Reports read summaries of records and never a
device.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from trimtab import plugins
from trimtab.bench.summary import Comparison, Summary
from trimtab.errors import UsageError
from trimtab.reports._cells import Cell, cells_of
from trimtab.reports._tables import precision, shipped
from trimtab.reports.html import page_of, site

__all__ = [
    "Cell",
    "Format",
    "Overview",
    "cells_of",
    "find",
    "find_overview",
    "names",
    "page_of",
    "precision",
    "shipped",
    "site",
]


class Format(Protocol):
    """What a module of this package provides."""

    SUFFIX: str
    """Of a file that holds such a report, e.g. ".md"."""

    IS_WHOLE: bool
    """Whether it says all that is known of a run. The format of another program says what that has
    a place for, and refuses a run that it has no place for at all (UsageError).
    """

    def run(self, summary: Summary) -> str:
        """The report of one run, whole and ending in a newline."""

    def comparison(self, comparison: Comparison) -> str:
        """The report of two or more runs side by side."""


class Overview(Protocol):
    """What a format provides that shows many runs at a glance, too."""

    def cells(self, runs: Sequence[Summary]) -> str:
        """Cost against bytes of the newest run of each configuration, and which are best."""


def names() -> list[str]:
    """The names of all formats, sorted: those of their modules, with dashes."""
    found = [info.name for info in pkgutil.iter_modules(__path__)]
    own = {name for name in found if not name.startswith("_")}
    return sorted(name.replace("_", "-") for name in own | _of_plugins().keys())


def _of_plugins() -> dict[str, ModuleType]:
    needs = ("SUFFIX", "IS_WHOLE", "run", "comparison")
    return plugins.modules("reports", Path(__file__).parent, needs)


def find(name: str) -> Format:
    """The format of that name; raises UsageError with the known names."""
    if name not in names():
        raise UsageError(f"unknown report format {name!r}", hint=f"one of: {', '.join(names())}")
    module = name.replace("-", "_")
    theirs = _of_plugins().get(module)
    return cast(Format, theirs or importlib.import_module(f"{__name__}.{module}"))


def find_overview(name: str) -> Overview:
    """The format of that name, as one that shows many runs; raises UsageError where it does not."""
    found = find(name)
    if not hasattr(found, "cells"):
        having = [other for other in names() if hasattr(find(other), "cells")]
        raise UsageError(
            f"format {name} shows no overview of all runs",
            hint=f"name the runs, or one of: {', '.join(having)}",
        )
    return cast(Overview, found)
