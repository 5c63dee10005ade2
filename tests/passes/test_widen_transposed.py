"""Transposed convolutions of few outputs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.small_programs import Net, after, normal, types

VIEWED = ["conv_transpose", "transpose", "reshape", "transpose"]


def transposed(net: Net, outputs: int = 3, taps: int = 4, **attributes: Any) -> str:
    weights = normal(5, outputs, 3, taps)
    return net("conv_transpose", "x", weights, normal(outputs), strides=(2, 2), **attributes)


@pytest.mark.parametrize(
    "attributes",
    [{}, {"taps": 2}, {"pads": (1, 2, 0, 2)}, {"output_padding": (1, 0)}, {"clamp_min": 0.0}],
)
def test_neighbors_in_a_line_are_the_channels_of_a_pixel(attributes: dict[str, Any]) -> None:
    net = Net(x=(2, 5, 7, 6))
    program = after(net.finish(transposed(net, **attributes)), "widen_transposed")
    assert types(program) == VIEWED
    assert program.ops[0].attributes["strides"] == (2, 1)


def test_the_views_between_convolutions_move_nothing() -> None:
    net = Net(x=(1, 5, 7, 6))
    wide = net.conv(transposed(net), 4)
    program = after(net.finish(wide), "widen_transposed", "assign_layouts", "merge_reshapes")
    names = ["conv_transpose", "reshape", "conv"]
    assert types(program) == ["convert_layout", *names, "convert_layout"]


def test_others_are_unchanged() -> None:
    net = Net(x=(1, 5, 7, 6))
    odd = [transposed(net, **one) for one in ({"taps": 3}, {"pads": (0, 1, 0, 1)}, {"outputs": 48})]
    extra = transposed(net, output_padding=(0, 1))
    part = transposed(net)
    joined = net("concat", part, part, axis=1)
    program = after(net.finish(*odd, extra, joined), "widen_transposed")
    assert types(program) == ["conv_transpose"] * 5 + ["concat"]
