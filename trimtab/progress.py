"""What long work says of itself while it goes on.

Every room reports through a `Progress` that it is given; only the top, which knows of terminals,
draws one (`trimtab.cli._progress`). Who gives none hears nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Step(Protocol):
    """Work that goes on."""

    def update(self, done: int, total: int = 0, detail: str = "") -> None:
        """So many of `total` (0: nobody knows how many) in the unit of the step, and with what it
        is busy right now.
        """


class Progress(Protocol):
    """Takes what is said."""

    def note(self, text: str) -> None:
        """A line that stays."""

    def step(
        self, title: str, unit: str = "", *, still: bool = False
    ) -> AbstractContextManager[Step]:
        """Work that takes a while, for the time of a `with`; steps may hold others.

        `unit`: what `update` counts, in the plural; of "bytes" megabytes are shown. `still`: this
        machine is measured meanwhile, so that nothing may happen between updates.
        """


class Silent:
    """Says nothing."""

    def note(self, text: str) -> None:
        """See `Progress`."""

    @contextmanager
    def step(self, title: str, unit: str = "", *, still: bool = False) -> Iterator[Step]:
        """See `Progress`."""
        yield self

    def update(self, done: int, total: int = 0, detail: str = "") -> None:
        """See `Step`."""


SILENT: Progress = Silent()
