"""Values beyond the range of float16, of numbers that are chosen."""

from __future__ import annotations

import numpy as np

from tests.small_programs import Net
from trimtab.program import Program
from trimtab.quantization.float16_range import overflows
from trimtab.quantization.samples import Samples

LARGEST = 65504.0  # of float16 (IEEE 754, binary16)


def doubled() -> Program:
    net = Net(x=(1, 4))
    net.program.outputs = [net("relu", net("mul", "x", 2.0))]
    return net.program


def beyond(*values: float) -> list[tuple[str, str, float]]:
    array = np.array([values], np.float32)
    rows = overflows(doubled(), Samples(1, lambda _: {"x": array}))
    return [(one.operator, one.type, one.largest) for one in rows]


def test_the_largest_number_of_float16_is_within_its_range() -> None:
    assert beyond(LARGEST / 2, 0, 0, 1) == []
    (mul, relu) = beyond(LARGEST / 2 + 1, 0, 0, 1)
    assert (mul[1:], relu[1:]) == (("mul", LARGEST + 2), ("relu", LARGEST + 2))


def test_an_input_beyond_the_range_comes_first() -> None:
    assert beyond(0, 1e5, 0, 0)[0][:2] == ("x", "input")
    assert beyond(0, -1e5, 0, 0)[0] == ("x", "input", 1e5)


def test_values_that_are_not_finite_do_not_count() -> None:
    assert beyond(np.inf, np.nan, 5, 6) == []
