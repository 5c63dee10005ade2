"""Progress reports of long operations.

Functions report through a `Progress` argument, which is silent by default. Only the command line
draws one (`trimtab.cli._progress`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Step(Protocol):
    """One operation in progress."""

    def update(self, done: int, total: int = 0, detail: str = "") -> None:
        """Reports `done` of `total` units (0: unknown), and the item that is being processed."""


class Progress(Protocol):
    """A receiver of progress reports."""

    def note(self, text: str) -> None:
        """Prints a permanent line."""

    def step(
        self, title: str, unit: str = "", *, still: bool = False
    ) -> AbstractContextManager[Step]:
        """A context manager for one long operation; steps may be nested.

        `unit`: what `update` counts, in the plural; "bytes" are displayed as megabytes. `still`:
        this machine is being measured, so nothing may be drawn between updates.
        """


class Silent:
    """Ignores all reports."""

    def __repr__(self) -> str:
        return "SILENT"

    def note(self, text: str) -> None:
        """See `Progress`."""

    @contextmanager
    def step(self, title: str, unit: str = "", *, still: bool = False) -> Iterator[Step]:
        """See `Progress`."""
        yield self

    def update(self, done: int, total: int = 0, detail: str = "") -> None:
        """See `Step`."""


SILENT: Progress = Silent()


def format_duration(seconds: float) -> str:
    """A duration in one unit: "50 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
