"""Ranges of inputs by the operators that normalize them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.small_programs import Net, normal
from trimtab.quantization.input_ranges import input_ranges


@pytest.mark.parametrize(
    ("mean", "deviation", "largest"),
    [
        (127.5, 127.5, 255),  # -1 to 1
        (127.5, 1, 255),  # Caffe: the mean alone
        (0, 255, 255),  # to 0..1
        (0.45, 0.22, 1),  # torchvision: pictures of 0..1
        (0.5, 0.5, 1),
    ],
)
def test_the_mean_or_the_scale_tells_pictures_of_255_from_those_of_1(
    mean: float, deviation: float, largest: float
) -> None:
    net = Net(x=(1, 3, 8, 8))
    centered = net("sub", "x", np.full((1, 3, 1, 1), mean))
    scaled = net("mul", centered, np.full((1, 3, 1, 1), 1 / deviation))
    net.program.outputs = [net.conv(scaled, 4, 3)]
    x = input_ranges(net.program)["x"]
    assert (x.low, x.high) == (0, largest)
    assert x.source.startswith("normalized by")


def test_a_picture_that_nothing_normalizes_is_assumed_and_a_vector_has_no_range() -> None:
    net = Net(x=(1, 3, 8, 8), v=(1, 7))
    net.program.outputs = [net.conv("x", 4, 3), net("mat_mul", "v", normal(7, 2))]
    ranges = input_ranges(net.program)
    assert list(ranges) == ["x"]
    assert (ranges["x"].low, ranges["x"].high, ranges["x"].source) == (0, 255, "")
