"""Depthwise convolution against float64, within the error bound of its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import trimtab
from tests.ops import convolutions
from tests.ops.convolutions import UNIT, Array
from tests.some import some
from trimtab.program import Program
from trimtab.target import Target


@dataclass(frozen=True)
class Layer:
    """A depthwise convolution with a square or rectangular kernel; sizes are those of the input."""

    channels: int
    h: int
    w: int
    kernel: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    dilations: tuple[int, int] = (1, 1)
    n: int = 1
    bias: bool = True
    residual: bool = False
    activation: str = ""


def same(kernel: int) -> tuple[int, int, int, int]:
    return (kernel // 2,) * 4


LAYERS = {
    f"{kernel}x{kernel} stride {stride}, {size} wide": Layer(
        33, size + 1, size, (kernel, kernel), (stride, stride), same(kernel)
    )
    for kernel in (3, 5)
    for stride in (1, 2)
    for size in range(1, 10)
} | {
    f"{channels} channels": Layer(channels, 7, 6)
    for channels in (1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 40, 58, 72)
}
LAYERS |= {
    "5x5 of few channels": Layer(5, 9, 9, (5, 5), pads=same(5)),
    "long rows": Layer(20, 5, 300),
    "long rows, stride 2": Layer(20, 5, 301, (5, 5), (2, 2), same(5)),
    "no padding": Layer(24, 9, 11, pads=(0, 0, 0, 0)),
    "asymmetric padding": Layer(24, 8, 9, strides=(2, 2), pads=(0, 2, 1, 3)),
    "padding over the window": Layer(17, 3, 4, pads=(4, 5, 6, 7)),
    "images": Layer(19, 5, 6, n=3),
    "images of one row": Layer(19, 1, 6, n=3),
    "rectangle": Layer(20, 9, 8, (2, 5)),
    "line": Layer(20, 1, 33, (1, 3), pads=(0, 1, 0, 1)),
    "7x7": Layer(40, 11, 12, (7, 7), pads=same(7)),
    "strides that differ": Layer(40, 11, 12, strides=(1, 2)),
    "strides that differ, 5x5": Layer(40, 11, 12, (5, 5), (2, 1), same(5)),
    "stride 3": Layer(40, 11, 12, strides=(3, 3)),
    "stride over the window": Layer(40, 11, 12, strides=(4, 5)),
    "dilation": Layer(40, 12, 11, dilations=(2, 2), pads=same(5)),
    "dilation across": Layer(40, 12, 11, dilations=(1, 3)),
    "dilation down, stride": Layer(40, 12, 11, strides=(2, 2), dilations=(3, 1)),
    "no bias": Layer(48, 7, 9, bias=False),
    "residual": Layer(18, 11, 7, n=2, residual=True),
    "clamp": Layer(33, 13, 9, residual=True, activation="relu"),
    "activation": Layer(33, 13, 70, activation="sigmoid"),
}


def program_of(layer: Layer) -> tuple[Program, dict[str, NDArray[np.float32]]]:
    """The layer and its inputs."""
    x, w = (layer.n, layer.channels, layer.h, layer.w), (layer.channels, 1, *layer.kernel)
    names = ("strides", "pads", "dilations")
    attributes = {name: getattr(layer, name) for name in names} | {"group": layer.channels}
    return convolutions.program_of(layer, x, w, attributes)


def convolution(x: Array, w: Array, layer: Layer, shape: tuple[int, ...]) -> Array:
    """The definition. x: [n, c, h, w], w: [c, 1, kh, kw]."""
    top, left, bottom, right = layer.pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    y = np.zeros(shape)
    (down, across), (h, width) = layer.strides, shape[2:]
    for i in range(layer.kernel[0]):
        for j in range(layer.kernel[1]):
            taps = x[:, :, i * layer.dilations[0] :: down, j * layer.dilations[1] :: across]
            y += taps[:, :, :h, :width] * w[:, 0, i, j][:, None, None]
    return y


def expected(
    program: Program, inputs: dict[str, NDArray[np.float32]], layer: Layer
) -> tuple[Array, Array]:
    """(result in float64, error bound). The error of a sum of n products and two more terms is at
    most gamma(n + 2) times the sum of absolute values (Higham 2002, section 3.1).
    """
    x, w = np.asarray(inputs["x"], np.float64), np.asarray(program.vars["w"].data, np.float64)
    shape = tuple(program.vars["sum"].shape)
    y, size = (convolution(f(x), f(w), layer, shape) for f in (np.array, np.abs))
    if layer.bias:
        b = np.asarray(program.vars["b"].data, np.float64)[:, None, None]
        y, size = y + b, size + np.abs(b)
    if layer.residual:
        y, size = y + inputs["residual"], size + np.abs(inputs["residual"])
    k = (w[0].size + 2) * UNIT
    bound = k / (1 - k) * size
    return convolutions.activated(y, bound, layer.activation)


@pytest.mark.parametrize("name", LAYERS)
def test_the_error_is_within_the_bound_of_the_arithmetic_with_every_instruction_set(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = LAYERS[name]
    program, inputs = program_of(layer)
    reference, bound = expected(program, inputs, layer)
    for isa in some(Target.host().isas):
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for threads in (1, 2):
            session = trimtab.Session(program, threads)
            (actual,) = session.run(inputs).values()
            assert np.all(np.abs(actual - reference) <= bound), f"{isa}, {threads} threads"
