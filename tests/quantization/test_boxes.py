"""Boxes that a quantized detector keeps, counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from trimtab.accuracy import Accuracy, parse_budget
from trimtab.errors import UsageError
from trimtab.heads import HeadRequest
from trimtab.program import Program
from trimtab.quantization import boxes
from trimtab.quantization.accuracy import Reference
from trimtab.quantization.samples import Samples

HEAD = HeadRequest.parse("yolov5")


def box(x: float, size: float = 10, index: int = 0) -> list[float]:
    return [x, 0, x + size, size, 0.9, index]


def rows(*values: list[float]) -> Any:
    return np.array(values, float).reshape(-1, 6)


@pytest.mark.parametrize(
    ("expected", "actual", "share"),
    [
        ([rows(box(0), box(50))], [rows(box(1), box(50))], 1),
        ([rows(box(0), box(50))], [rows(box(9), box(50))], 0.5),  # it has moved by nine tenths
        ([rows(box(0), box(50))], [rows(box(0, index=1), box(50))], 0.5),
        ([rows(box(0))], [rows(box(0), box(0), box(90))], 1 / 3),  # two are false
        ([rows(box(0), box(0))], [rows(box(0))], 0.5),  # a box counts once
        ([rows(box(0)), rows()], [rows(), rows()], 0),
        ([rows()], [rows(box(0))], None),
    ],
)
def test_kept_boxes_are_pairs_of_the_same_class_and_place(
    expected: list[Any], actual: list[Any], share: float | None
) -> None:
    assert boxes.kept(expected, actual) == share


def detector(*places: float, output: str = "out") -> Program:
    """A decoded YOLOv5 output [1, n, 5 + 2] with boxes of 8 pixels, to which the input adds its
    mean.
    """
    program = Program("boxes")
    program.add_input("x", (1, 3, 64, 64))
    block = program.block
    values = np.array([[[x, 32, 8, 8, 1, 0, 0.9] for x in places]], np.float32)
    constant = block.add_constant(values)
    block.ops = [
        block.make_op("global_average_pool", ["x"], {}, ["mean"]),
        block.make_op("reduce_mean", ["mean"], {"axes": (1,)}, ["one"]),
        block.make_op("reshape", ["one"], {"shape": (1, 1, 1)}, ["scalar"]),
        block.make_op("add", [constant, "scalar"], {}, [output]),
    ]
    program.outputs = [output]
    return program


def test_a_reference_with_a_head_counts_boxes_beside_the_errors_of_raw_outputs() -> None:
    samples = Samples(2, lambda number: {"x": np.zeros((1, 3, 64, 64), np.float32)})
    reference = Reference(detector(10, 30, 50), samples, HEAD)
    assert reference.compare(detector(10, 30, 50)).boxes == 1
    moved = reference.compare(detector(10, 31, 57))
    assert moved.boxes == pytest.approx(2 / 3)
    assert moved.max_error == pytest.approx(7 / 50)
    assert ("boxes that both have", "66.7%") in moved.rows()
    assert Reference(detector(10), samples).compare(detector(10)).boxes is None


def test_a_network_whose_own_output_is_called_boxes_is_compared_by_that_output() -> None:
    samples = Samples(1, lambda number: {"x": np.zeros((1, 3, 64, 64), np.float32)})
    reference = Reference(detector(10, 30, 50, output="boxes"), samples, HEAD)
    moved = reference.compare(detector(10, 31, 57, output="boxes"))
    assert moved.boxes == pytest.approx(2 / 3)
    assert moved.max_error == pytest.approx(7 / 50)


def test_a_budget_of_boxes_holds_or_says_what_is_missing() -> None:
    (bound,) = parse_budget("boxes >= 95 %")
    accuracy = Accuracy(4, 0.1, 0.01, 0.99, None, boxes=0.96)
    assert bound.holds(accuracy)
    assert not bound.holds(Accuracy(4, 0.1, 0.01, 0.99, None, boxes=0.94))
    with pytest.raises(UsageError, match="no boxes to count"):
        bound.holds(Accuracy(4, 0.1, 0.01, 0.99, None))
    with pytest.raises(UsageError, match="bounded with >="):
        parse_budget("boxes <= 0.9")
    images = {"x": np.zeros((5, 3, 64, 64), np.float32)}
    with pytest.raises(UsageError, match="which outputs are boxes"):
        trimtab.quantize(detector(10), images, budget="boxes >= 95 %")
