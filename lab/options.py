"""Options that the tasks of experiments share, and lists in options.

Imports no heavy package: every `./inv` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import option
from trimtab.cli._options import WAIT_HELP
from trimtab.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Options of every experiment: the form of its figures."""

    json: bool = option("print JSON: the rows of the result file", False)
    update: bool = option("write the figures to the experiment's result file in lab/", False)


@dataclass(frozen=True, kw_only=True)
class CheckedOptions:
    """The same, for figures that do not depend on the load of the machine."""

    json: bool = option("print JSON: the rows of the result file", False)
    check: bool = option("fail when a figure is more than 2 % above the committed one", False)
    update: bool = option(
        "write the figures to the experiment's result file in lab/; those of a selection replace "
        "only its own",
        False,
    )


@dataclass(frozen=True, kw_only=True)
class TimedOptions:
    """The same, for figures that other measurements on this machine would disturb."""

    wait: str = option(WAIT_HELP, bare=True)
    json: bool = option("print JSON: the rows of the result file", False)
    update: bool = option("write the figures to the experiment's result file in lab/", False)


def names_in(words: str) -> list[str]:
    """The names of a comma-separated list, which may be empty."""
    return [name for name in words.split(",") if name]


def thread_counts(words: str) -> list[int]:
    """The thread counts of a comma-separated list; UsageError when malformed."""
    counts = [int(word) for word in words.split(",") if word.isdecimal()]
    if not counts or 0 in counts or len(counts) != words.count(",") + 1:
        raise UsageError(f"bad thread counts {words!r}", hint="write them as 1,2")
    return counts
