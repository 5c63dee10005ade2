"""Reports of result records: one format per module, found by its file name.

A format is a module of this package (names with a leading underscore are helpers) that has what
`Format` asks for; that is all there is to adding one. Reports read summaries of records and never a
device.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Protocol, cast

from trimtab import plugins
from trimtab.bench.summary import Comparison, Summary
from trimtab.errors import UsageError
from trimtab.reports._tables import precision, shipped

__all__ = ["Format", "find", "names", "precision", "shipped"]


class Format(Protocol):
    """What a module of this package provides."""

    SUFFIX: str
    """Of a file that holds such a report, e.g. ".md"."""

    def run(self, summary: Summary) -> str:
        """The report of one run, whole and ending in a newline."""

    def comparison(self, comparison: Comparison) -> str:
        """The report of two or more runs side by side."""


def names() -> list[str]:
    """The names of all formats, sorted."""
    found = [info.name for info in pkgutil.iter_modules(__path__)]
    own = {name for name in found if not name.startswith("_")}
    return sorted(own | plugins.modules("reports").keys())


def find(name: str) -> Format:
    """The format of that name; raises UsageError with the known names."""
    if name not in names():
        raise UsageError(f"unknown report format {name!r}", hint=f"one of: {', '.join(names())}")
    module = plugins.modules("reports").get(name)
    return cast(Format, module or importlib.import_module(f"{__name__}.{name}"))
