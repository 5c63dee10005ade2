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
from trimtab.compare.side_by_side import Comparison
from trimtab.errors import UsageError
from trimtab.reports import formats
from trimtab.reports.configurations import Cell, cells_of
from trimtab.reports.formats.html import page_of, site
from trimtab.reports.run_tables import precision, shipped
from trimtab.results.summary import Summary

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
    found = [info.name for info in pkgutil.iter_modules(formats.__path__)]
    return sorted(name.replace("_", "-") for name in {*found, *_of_plugins()})


def _of_plugins() -> dict[str, ModuleType]:
    needs = ("SUFFIX", "IS_WHOLE", "run", "comparison")
    return plugins.modules("reports", Path(formats.__file__).parent, needs)


def find(name: str) -> Format:
    """The format of that name; raises UsageError with the known names."""
    if name not in names():
        raise UsageError(f"unknown report format {name!r}", hint=f"one of: {', '.join(names())}")
    module = name.replace("-", "_")
    theirs = _of_plugins().get(module)
    return cast(Format, theirs or importlib.import_module(f"{formats.__name__}.{module}"))


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
