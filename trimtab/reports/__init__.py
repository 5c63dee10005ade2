"""Reports of records, in formats found by their module names.

A format is a module of `trimtab.reports.formats`, or of a plug-in's folder `reports`, that provides
the members of `Format`. Reports read summaries of records, and never use a device.
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
from trimtab.reports.configurations import Configuration, configurations_of
from trimtab.reports.formats.html import page_of, site
from trimtab.reports.run_tables import precision, shipped
from trimtab.results.summary import Summary

__all__ = [
    "Configuration",
    "Format",
    "Overview",
    "by_suffix",
    "configurations_of",
    "find",
    "find_overview",
    "names",
    "page_of",
    "precision",
    "shipped",
    "site",
]


class Format(Protocol):
    """The members of a format's module."""

    SUFFIX: str
    """Suffix of a report's file, such as ".md"."""

    IS_WHOLE: bool
    """Whether a report has everything that is known about a run.

    A format of another program holds what that program supports, and raises UsageError for a run
    that it cannot represent at all.
    """

    def run(self, summary: Summary) -> str:
        """The complete report of one run, with a newline at the end."""

    def comparison(self, comparison: Comparison) -> str:
        """The report of two or more runs side by side."""


class Overview(Protocol):
    """The additional member of a format that can show many runs at a glance."""

    def cells(self, runs: Sequence[Summary]) -> str:
        """Cost against size of the newest run of each configuration, and the Pareto front."""


def names() -> list[str]:
    """The names of all formats, sorted: their modules' names, with dashes."""
    shipped = [info.name for info in pkgutil.iter_modules(formats.__path__)]
    return sorted(name.replace("_", "-") for name in {*shipped, *_from_plugins()})


def _from_plugins() -> dict[str, ModuleType]:
    members = ("SUFFIX", "IS_WHOLE", "run", "comparison")
    return plugins.modules("reports", Path(formats.__file__).parent, members)


def find(name: str) -> Format:
    """The format with this name. Raises UsageError, with the existing names, for any other."""
    if name not in names():
        raise UsageError(f"unknown report format {name!r}", hint=f"one of: {', '.join(names())}")
    module = name.replace("-", "_")
    from_plugin = _from_plugins().get(module)
    return cast(Format, from_plugin or importlib.import_module(f"{formats.__name__}.{module}"))


def by_suffix() -> dict[str, str]:
    """The names of formats by the suffix of their files; of several, the one with everything."""
    chosen = {find(name).SUFFIX: name for name in names()}
    return chosen | {find(name).SUFFIX: name for name in names() if find(name).IS_WHOLE}


def find_overview(name: str) -> Overview:
    """The format with this name; raises UsageError if it has no overview of many runs."""
    form = find(name)
    if not hasattr(form, "cells"):
        capable = [other for other in names() if hasattr(find(other), "cells")]
        raise UsageError(
            f"format {name} has no overview of all runs",
            hint=f"name the runs, or one of: {', '.join(capable)}",
        )
    return cast(Overview, form)
