"""Results beside those of a reference, from values that are drawn by hand."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.sight.difference import difference


def boxes(*rows: tuple[float, ...]) -> dict[str, np.ndarray]:
    table = np.zeros((1, 4, 6), np.float32)
    table[0, : len(rows)] = np.reshape(rows, (-1, 6))
    return {"boxes": table, "count": np.array([len(rows)], np.int32)}


def test_boxes_have_counterparts_of_their_class_that_overlap_most() -> None:
    expected = boxes((0, 0, 10, 10, 0.9, 1), (50, 50, 60, 60, 0.5, 0), (0, 0, 9, 9, 0.3, 2))
    # Of two that overlap with the first box the nearer one; the second one has another class.
    actual = boxes((0, 0, 10, 6, 0.8, 1), (0, 0, 10, 8, 0.7, 1), (50, 50, 60, 60, 0.5, 1))
    result = str(difference(expected, actual))
    assert result == "1 of 3 boxes, 2 others; overlap at least 0.8000, scores within 0.2000"
    assert str(difference(boxes(), actual)) == "0 of 0 boxes, 3 others"
    assert str(difference(expected, boxes())) == "0 of 3 boxes, 0 others"


def test_classes_are_compared_by_their_numbers() -> None:
    expected = {"classes": np.array([[4, 2, 7]]), "scores": np.array([[0.5, 0.3, 0.1]])}
    same = {"classes": np.array([[4, 7, 9]]), "scores": np.array([[0.4, 0.35, 0.1]])}
    assert str(difference(expected, same)) == "the same best class; scores within 0.2500"
    other = {"classes": np.array([[9, 8]]), "scores": np.array([[0.4, 0.35]])}
    assert str(difference(expected, other)) == "another best class; scores within inf"


def test_of_other_outputs_the_one_that_differs_most_counts() -> None:
    depth, classes = np.array([[3.0, 4.0]]), np.array([[[1, 2], [3, 4]]])
    result = difference({"a": depth, "b": depth}, {"a": depth, "b": depth[:, ::-1]})
    assert str(result) == f"b: cosine similarity {24 / 25:.6f}"
    result = difference({"classes": classes}, {"classes": np.array([[[1, 2], [3, 5]]])})
    assert str(result) == "classes: 75.00% of the values are equal"
    assert str(difference({"a": depth}, {"a": depth[:, :1]})) == "a: cosine similarity 0.000000"


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.bool_])
def test_whole_numbers_are_equal_or_not(dtype: type) -> None:
    assert "100.00%" in str(difference({"m": np.ones(3, dtype)}, {"m": np.ones(3, dtype)}))
