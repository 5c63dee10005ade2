"""Deviations from float32, also where values are not finite."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from tests.ops.cases.case import Array
from trimtab import strict_json
from trimtab.accuracy import Accuracy
from trimtab.quantization.accuracy import Deviation, noise

NAN, INF = math.nan, math.inf


def f32(*values: float) -> Array:
    return np.array(values, np.float32)


def test_values_that_are_not_finite_in_both_do_not_count() -> None:
    expected, actual = f32(1, NAN, -4, INF, -INF), f32(1, NAN, -3, INF, -INF)
    one = Deviation.of(expected, actual)
    assert (one.not_finite, one.elements) == (0, 5)
    assert (one.max_error, one.mean_error) == (0.25, 0.125)
    assert one.cosine == pytest.approx(13 / math.sqrt(17 * 10))
    assert noise([{"y": expected}], [{"y": actual}]) == {"y": pytest.approx(1 / 12.5)}


@pytest.mark.parametrize("pair", [(1, NAN), (INF, 1), (INF, -INF), (NAN, INF), (NAN, 0)])
def test_a_value_that_is_not_finite_in_one_makes_the_errors_infinite(
    pair: tuple[float, float],
) -> None:
    one = Deviation.of(f32(1, 2, pair[0]), f32(1, 2, pair[1]))
    assert one == Deviation(INF, INF, 0.0, 1, 3)


def test_an_output_without_finite_values_agrees_with_itself() -> None:
    assert Deviation.of(f32(NAN, INF), f32(NAN, INF)) == Deviation(0.0, 0.0, 1.0, 0, 2)


def test_an_infinite_error_is_null_in_json_and_is_read_back() -> None:
    accuracy = Accuracy(6, INF, INF, 0.0, None, INF, not_finite=300, elements=800)
    text = strict_json.dumps(asdict(accuracy))
    assert json.loads(text)["max_error"] is None
    assert Accuracy.of(json.loads(text)) == accuracy
    assert ("NaN or infinity, unlike float32", "300 of 800 values") in accuracy.rows()
    assert not any("nan" in figure or "inf%" in figure for _, figure in accuracy.rows())
