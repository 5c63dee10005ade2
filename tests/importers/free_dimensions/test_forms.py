from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from trimtab.importers.free_dimensions.bounds import Bounds
from trimtab.importers.free_dimensions.forms import (
    FixedSizeError,
    FreeForm,
    Occurrence,
    form,
    parts,
)
from trimtab.importers.free_dimensions.terms import REST, SizeTerm, TermFit
from trimtab.program import Op

LENGTHS = [8, 2, 5, 3, 4, 6, 7]
FIT = TermFit([Bounds(2, 8)], [(n,) for n in LENGTHS])
N = SizeTerm(0, 1, 0, 1)
ONE, TWO = SizeTerm(add=1), SizeTerm(add=2)


def of(
    type: str, x: Sequence[tuple[int, ...]], y: Sequence[tuple[int, ...]], **values: Any
) -> FreeForm:
    at = [
        {name: v[i] if isinstance(v, list) else v for name, v in values.items()}
        for i in range(len(LENGTHS))
    ]
    return form(Occurrence(Op(type, ["x"], ["y"], at[0]), at, x, y), FIT)


def test_a_reshape_has_sizes_that_follow_and_one_that_takes_the_rest() -> None:
    x = [(n, 6) for n in LENGTHS]
    shapes = [(2, 3 * n) for n in LENGTHS]
    terms = of("reshape", x, shapes, shape=shapes).terms
    assert terms == {"shape": (TWO, SizeTerm(0, 3, 0, 1))}
    odd = [(1, n * n) for n in LENGTHS]
    assert of("reshape", x, odd, shape=odd).terms == {"shape": (ONE, REST)}


@pytest.mark.parametrize(
    ("starts", "ends", "expected"),
    [
        ([(n - 1,) for n in LENGTHS], [(n,) for n in LENGTHS], ((-1,), (2**31 - 1,))),
        ((1,), [(n - 1,) for n in LENGTHS], ((1,), (-1,))),
    ],
)
def test_a_slice_counts_from_the_end_where_that_is_the_same(
    starts: object, ends: object, expected: tuple[object, object]
) -> None:
    x = [(n,) for n in LENGTHS]
    result = of("slice", x, [(1,)] * len(LENGTHS), starts=starts, ends=ends, axes=(0,), steps=(1,))
    assert (result.type, result.attributes["starts"], result.attributes["ends"]) == (
        "slice",
        *expected,
    )


def test_another_slice_has_a_first_index_and_a_length() -> None:
    x, y = [(n,) for n in LENGTHS], [(n - n // 2,) for n in LENGTHS]
    starts, ends = [(n // 2,) for n in LENGTHS], [(n,) for n in LENGTHS]
    result = of("slice", x, y, starts=starts, ends=ends, axes=(0,), steps=(1,))
    terms = {"starts": (SizeTerm(0, 1, 0, 2),), "ends": (SizeTerm(0, 1, 1, 2),)}
    assert result == FreeForm("slice", {"axes": (0,)}, terms)
    assert result.values == {"axes": (0,), "starts": (0, 1, 0, 2), "ends": (0, 1, 1, 2)}


def test_a_part_of_a_constant_is_cut_and_its_dimensions_of_1_are_repeated() -> None:
    cut, repeat = parts((8, 1, 3), [N, N, SizeTerm(add=3)])
    assert cut == FreeForm("slice", {"axes": (0,)}, {"starts": (SizeTerm(),), "ends": (N,)})
    assert repeat == FreeForm("expand", terms={"shape": (N, N, SizeTerm(add=3))})
    assert [form.type for form in parts((8,), [N])] == ["slice"]
    assert [form.type for form in parts((1, 3), [N, SizeTerm(add=3)])] == ["expand"]


def test_copies_of_a_dimension_of_1_are_those_of_expand() -> None:
    y = [(n, 3) for n in LENGTHS]
    result = of("tile", [(1, 3)] * len(LENGTHS), y, repeats=[(n, 1) for n in LENGTHS])
    assert result == FreeForm("expand", terms={"shape": (N, SizeTerm(add=3))})
    with pytest.raises(FixedSizeError, match="repeats"):
        of(
            "tile",
            [(2, 3)] * len(LENGTHS),
            [(2 * n, 3) for n in LENGTHS],
            repeats=[(n, 1) for n in LENGTHS],
        )


def test_a_pool_over_the_whole_image_is_a_global_one() -> None:
    x, y = [(1, 3, n, n) for n in LENGTHS], [(1, 3, 1, 1)] * len(LENGTHS)
    windows = [(n, n) for n in LENGTHS]
    values = {"kernel_shape": windows, "strides": windows, "pads": (0, 0, 0, 0)}
    assert of("average_pool", x, y, **values) == FreeForm("global_average_pool")
    with pytest.raises(FixedSizeError, match="kernel_shape"):
        of("average_pool", x, y, **values | {"pads": (0, 1, 0, 1)})
