from __future__ import annotations

import pytest

from trimtab.errors import UsageError
from trimtab.importers.free_dimensions.bounds import (
    Bounds,
    FreeDimensions,
    fixed,
    largest,
    parsed,
)


def test_bounds_have_a_smallest_a_largest_and_a_step() -> None:
    assert Bounds.parse("64..640") == Bounds(64, 640)
    assert [*Bounds.parse("8 .. 30/8").sizes] == [8, 16, 24]
    assert Bounds.parse("8..30/8").maximum == 24


TEXTS = ("9..8", "0..8", "1..8/0", "1..", "..8", "1...8", "a", "1..2147483648")


@pytest.mark.parametrize("text", TEXTS)
def test_text_that_holds_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"bounds|size"):
        parsed(f"1,{text}")


def test_a_shape_is_numbers_and_bounds() -> None:
    shape = parsed("1..8,3,64..64")
    assert shape == ("1..8", 3, 64)
    assert parsed(("1..8", 3, 64)) == shape
    assert fixed({"x": shape}) is None
    assert fixed({"x": (1, 3)}) == {"x": (1, 3)}
    assert largest({"x": shape}) == {"x": (8, 3, 64)}


def test_free_dimensions_are_numbered_and_shared_between_inputs() -> None:
    free = FreeDimensions({"b": ("1..4", "2..9"), "a": ("1..4", 3, "2..9", "2..9")}, ["a", "b"])
    assert free.bounds == [Bounds(1, 4), Bounds(2, 9), Bounds(2, 9)]
    assert free.at((2, 5, 7)) == {"a": (2, 3, 5, 7), "b": (2, 5)}
    assert free.attributes()["free"] == (0, -1, 1, 2, 0, 1)
    points = list(free.points())
    assert points[:2] == [(4, 9, 9), (1, 2, 2)]
    assert all(size in b.sizes for p in points for size, b in zip(p, free.bounds, strict=True))
