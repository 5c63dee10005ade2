"""Windows of convolutions that are larger than the image."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, normal
from trimtab.program import Program


def kernels(program: Program) -> list[tuple[int, ...]]:
    """Height and width of each convolution's window."""
    return [program.vars[op.inputs[1]].shape[2:] for op in program.ops if op.type == "conv"]


CASES: list[tuple[tuple[int, int], dict[str, object], tuple[int, int], tuple[int, ...]]] = [
    ((7, 9), {"dilations": (9, 9), "pads": (9, 9, 9, 9)}, (1, 1), (0, 0, 0, 0)),
    ((7, 10), {"dilations": (9, 9), "pads": (9, 9, 9, 9)}, (1, 3), (0, 9, 0, 9)),
    ((1, 1), {"pads": (1, 1, 1, 1)}, (1, 1), (0, 0, 0, 0)),
    ((1, 2), {"pads": (1, 1, 1, 1), "strides": (2, 2)}, (1, 2), (0, 0, 0, 1)),
    ((2, 2), {"pads": (2, 2, 0, 0), "strides": (2, 2)}, (1, 1), (0, 0, 0, 0)),
    ((5, 6), {"dilations": (4, 5), "pads": (8, 5, 1, 5)}, (2, 3), (4, 5, 1, 5)),
    ((3, 3), {"dilations": (1, 4), "pads": (1, 3, 1, 5)}, (3, 2), (1, 3, 1, 1)),
]
"""Size of the image, the window of 3x3, what is left of it, and of its padding."""


@pytest.mark.parametrize(("size", "window", "left", "pads"), CASES)
@pytest.mark.parametrize("group", [1, 8])
def test_taps_that_always_lie_in_the_padding_are_cut(
    size: tuple[int, int],
    window: dict[str, object],
    left: tuple[int, int],
    pads: tuple[int, ...],
    group: int,
) -> None:
    net = Net(x=(2, 8, *size))
    y = net.conv("x", 16, 3, group=group, clamp_min=0.0, **window)
    program = after(net.finish(y), "cut_dead_taps")
    assert kernels(program) == [left]
    assert program.ops[0].attributes["pads"] == pads


def test_a_window_that_meets_no_pixel_stays() -> None:
    net = Net(x=(1, 2, 3, 3))
    y = net("conv", "x", normal(4, 2, 2, 1), pads=(4, 0, 4, 0), dilations=(8, 1))
    assert kernels(after(net.finish(y), "cut_dead_taps")) == [(2, 1)]


def test_shared_weights_stay() -> None:
    net = Net(x=(1, 2, 5, 5), z=(1, 2, 1, 1))
    weights = net.program.block.add_constant(normal(4, 2, 3, 3))
    results = [net("conv", name, weights, pads=(1, 1, 1, 1)) for name in ("x", "z")]
    assert kernels(after(net.finish(*results), "cut_dead_taps")) == [(3, 3), (3, 3)]
