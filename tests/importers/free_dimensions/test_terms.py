from __future__ import annotations

import itertools

import pytest

from trimtab.importers.free_dimensions.bounds import Bounds, Point
from trimtab.importers.free_dimensions.terms import AmbiguousError, SizeTerm, TermFit

BOUNDS = [Bounds(1, 8), Bounds(17, 330), Bounds(32, 640, 32)]


@pytest.mark.parametrize(
    "term",
    [
        SizeTerm(number, p, add, q)
        for number, (p, q, add) in itertools.product(
            range(3),
            [(1, 1, 0), (12, 1, 3), (1, 2, 1), (1, 4, 3), (1, 32, 31), (3, 8, -2), (2, 1, -1)],
        )
    ],
    ids=str,
)
def test_a_term_is_found_and_has_its_values_at_all_sizes(term: SizeTerm) -> None:
    points: list[Point] = [(8, 330, 640), (1, 17, 32), (4, 201, 96), (6, 99, 320)]

    def value(point: Point) -> int:
        return (point[term.free] * term.multiply + term.add) // term.divide

    while True:
        fit = TermFit(BOUNDS, points)
        try:
            result = fit.term([value(point) for point in points])
            break
        except AmbiguousError as error:
            points.append(error.point)
    assert len(points) == len(set(points))
    assert result is not None
    assert len(points) < 20
    for size in BOUNDS[term.free].sizes:
        point = tuple(size if i == term.free else b.maximum for i, b in enumerate(BOUNDS))
        free = 0 if result.free < 0 else point[result.free]
        assert (free * result.multiply + result.add) // result.divide == value(point)


def test_a_product_of_two_dimensions_has_no_term() -> None:
    points = [(8, 330, 640), (1, 17, 32), (4, 201, 96), (6, 99, 320)]
    assert TermFit(BOUNDS, points).term([a * b for a, b, _ in points]) is None
