"""Options that the tasks of experiments share. Imports no heavy package: every `./inv` reads it."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import option
from trimtab.cli._options import WAIT_HELP


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where the figures go."""

    json: bool = option("print JSON: the rows of the result file", False)
    update: bool = option("write the figures to the experiment's result file in lab/", False)


@dataclass(frozen=True, kw_only=True)
class CheckedOptions:
    """Where the figures go, if they do not depend on the load of the machine."""

    json: bool = option("print JSON: the rows of the result file", False)
    check: bool = option("fail when a figure is more than 2 % above the committed one", False)
    update: bool = option(
        "write the figures to the experiment's result file in lab/; those of a selection replace "
        "only its own",
        False,
    )


@dataclass(frozen=True, kw_only=True)
class TimedOptions:
    """Where the figures go, if other measurements on this machine would disturb them."""

    wait: str = option(WAIT_HELP, bare=True)
    json: bool = option("print JSON: the rows of the result file", False)
    update: bool = option("write the figures to the experiment's result file in lab/", False)
