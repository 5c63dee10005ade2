"""Convolutions between images in plain order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.small_programs import Net, after, normal, types


@pytest.mark.parametrize(
    ("outputs", "group", "kernel"), [(5, 1, 3), (6, 6, 7), (12, 2, 5), (18, 3, 2)]
)
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": (2, 3)},
        {"dilations": (2, 1), "pads": (0, 3, 2, 1)},
        {"strides": (3, 2), "pads": (4, 5, 0, 2), "clamp_min": 0.0, "activation": "tanh"},
    ],
)
def test_planes_are_convolved(
    outputs: int, group: int, kernel: int, attributes: dict[str, Any]
) -> None:
    net = Net(x=(2, 6, 29, 123))
    weights = normal(outputs, 6 // group, kernel, kernel)
    y = net("conv", "x", weights, normal(outputs), group=group, **attributes)
    program = after(net.finish(net("neg", y)), "convolve_planes")
    assert types(program) == ["conv_planes", "neg"]


def test_convolutions_beside_others_stay_in_nhwc() -> None:
    net = Net(x=(1, 6, 64, 64))
    first = net.conv("x", 6, 3, group=6)
    last = net.conv(first, 6, 3)
    residual = net("conv", "x", normal(6, 6, 3, 3), normal(6), "x", pads=(1, 1, 1, 1))
    wide = net.conv(net("reshape", "x", shape=(1, 24, 32, 32)), 64, 3)
    program = after(net.finish(last, residual, wide), "convolve_planes")
    assert "conv_planes" not in types(program)


def test_conversions_take_longer_than_few_products() -> None:
    net = Net(x=(1, 6, 64, 64), deep=(1, 24, 32, 32))
    program = after(net.finish(net.conv("x", 3), net.conv("deep", 3, 3)), "convolve_planes")
    assert types(program) == ["conv_planes", "conv_planes"]


@pytest.mark.parametrize(
    ("outputs", "taps", "strides", "attributes"),
    [
        (3, (4, 2), (2, 2), {"clamp_min": 0.0}),
        (1, (3, 4), (3, 4), {"activation": "tanh"}),
        (4, (2, 6), (1, 2), {"pads": (1, 2, 0, 2)}),
        (3, (4, 3), (2, 2), {"pads": (1, 1, 1, 1), "output_padding": (0, 1)}),
        (2, (5, 5), (3, 2), {"pads": (0, 3, 2, 1), "activation": "tanh"}),
        (2, (2, 3), (3, 3), {}),
        (9, (2, 2), (2, 2), {}),
    ],
)
def test_neighbors_of_a_transposed_convolution_are_planes(
    outputs: int, taps: tuple[int, int], strides: tuple[int, int], attributes: dict[str, Any]
) -> None:
    net = Net(x=(2, 12, 23, 29))
    weights = normal(12, outputs, *taps)
    transposed = ("conv_transpose", "x", weights, normal(outputs))
    program = after(net.finish(net(*transposed, strides=strides, **attributes)), "convolve_planes")
    assert types(program) == ["conv_planes"]


def test_conversion_pays_where_few_outputs_have_large_windows() -> None:
    net = Net(x=(1, 40, 31, 33))
    pixels = net.conv("x", 40)
    outputs = [net.conv(pixels, 3, k) for k in (3, 7)]
    assert types(after(net.finish(*outputs), "convolve_planes")) == ["conv", "conv", "conv_planes"]


def test_small_images_are_converted() -> None:
    net = Net(x=(1, 6, 20, 20))
    assert types(after(net.finish(net.conv("x", 6, 3)), "convolve_planes")) == ["conv"]
