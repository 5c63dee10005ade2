"""Values to test, of which there must be some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def some(values: Iterable[T]) -> list[T]:
    """The values; AssertionError if there are none: a loop over nothing would assert nothing.

    `tests/test_assertions.py` finds the tests that need it.
    """
    items = [*values]
    assert items, "there is nothing to test"
    return items
