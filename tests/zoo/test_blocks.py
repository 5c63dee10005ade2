"""Building blocks of the zoo's networks."""

from __future__ import annotations

from fractions import Fraction

import pytest

from trimtab.zoo import blocks


@pytest.mark.parametrize("by", [8, 16])
def test_channels_are_the_nearest_multiple_that_is_not_more_than_a_tenth_smaller(by: int) -> None:
    for value in range(1, 1000):
        lower = value // by * by
        allowed = [n for n in (lower, lower + by) if n and n >= Fraction(9, 10) * value]
        nearest = min(allowed, key=lambda n: (abs(n - value), -n))
        assert blocks.divisible(value, by) == nearest


def test_exactly_a_tenth_fewer_channels_are_allowed() -> None:
    assert blocks.divisible(80 / 9) == 8
    assert blocks.divisible(80 / 9 + 1e-9) == 16
