"""A progress that remembers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trimtab.progress import Silent, Step


class RecordedProgress:
    """Every note and every title of a step, in order; and how far the last step came."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.still: list[str] = []
        self.last = (0, 0)

    def note(self, text: str) -> None:
        self.lines.append(text)

    @contextmanager
    def step(self, title: str, unit: str = "", *, still: bool = False) -> Iterator[Step]:
        self.lines.append(title)
        if still:
            self.still.append(title)
        yield self

    def update(self, done: int, total: int = 0, detail: str = "") -> None:
        assert not total or done <= total
        self.last = done, total


class Halfway(Silent):
    """Does something once, when half of a step is done."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act: Callable[[], None] | None = act

    def update(self, done: int, total: int = 0, detail: str = "") -> None:
        """See `Step`."""
        if self._act and 2 * done > total:
            act, self._act = self._act, None
            act()
