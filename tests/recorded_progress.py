"""A progress that remembers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.progress import Step


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
