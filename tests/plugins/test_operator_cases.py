"""How a case of an operator describes a wrong result."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.operator_cases import OperatorCase

RIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)
CASE = OperatorCase("relu", [RIGHT], [RIGHT, RIGHT * 100], rtol=0, atol=1e-3)


def test_right_results_have_no_mismatch_and_the_tolerance_is_relative_to_the_largest() -> None:
    assert CASE.mismatch([RIGHT, RIGHT * 100]) == ""
    assert CASE.mismatch([RIGHT + 0.004, RIGHT * 100 + 0.4]) == ""
    assert CASE.mismatch([RIGHT + 0.006, RIGHT * 100]) != ""


def test_the_first_wrong_element_is_named_with_the_share_of_wrong_ones() -> None:
    wrong = RIGHT.copy()
    wrong[0, 2], wrong[1, 1] = 9, np.nan
    message = CASE.mismatch([RIGHT, wrong])
    assert "output 1: " in message
    one = OperatorCase("relu", [RIGHT], [RIGHT])
    assert one.mismatch([wrong]) == (
        "output 0: 2 of 6 elements differ, the first at (0, 2): 9.0, expected 2.0"
    )


def test_another_shape_is_a_mismatch() -> None:
    one = OperatorCase("relu", [RIGHT], lambda x: x)
    assert one.mismatch([RIGHT.T]) == "output 0 is [3, 2], expected [2, 3]"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_equal_values_that_are_not_finite_are_right(value: float) -> None:
    array = np.array([value, 1], np.float32)
    assert OperatorCase("relu", [array], [array]).mismatch([array.copy()]) == ""
