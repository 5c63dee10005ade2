"""Test cases of ncnn layers that convolve, and what all cases of ncnn layers consist of."""

from __future__ import annotations

from dataclasses import dataclass

from tests.importers.caffe_writer import random
from tests.importers.ncnn_writer import Param, Tagged
from tests.ops.cases.case import Array

Shape = tuple[int, ...]
Params = dict[int, Param]

IMAGE, MATRIX, VECTOR = (6, 7, 9), (6, 9), (12,)


@dataclass(frozen=True)
class Case:
    """`params` and `weights` of a layer with inputs x0, x1, ... and output y (or y0, y1, ...).

    The inputs are random, of these `shapes`; then come `values`.
    """

    id: str
    type: str
    params: Params
    weights: tuple[Array | Tagged, ...] = ()
    shapes: tuple[Shape, ...] = (IMAGE,)
    tops: int = 1
    low: float = -1.0
    scale: float = 3.0
    values: tuple[Array, ...] = ()

    @property
    def inputs(self) -> dict[str, Array]:
        """Values of the inputs, without a batch."""
        drawn = [
            random(*shape, seed=10 + i, low=self.low) * self.scale
            for i, shape in enumerate(self.shapes)
        ]
        return {f"x{i}": x for i, x in enumerate([*drawn, *self.values])}


def tagged(*shape: int, seed: int = 1, form: str = "f32") -> Tagged:
    """Random weights behind the tag of their form."""
    return Tagged(random(*shape, seed=seed), form)


def convolutions() -> list[Case]:
    """Convolutions and deconvolutions of images and signals."""
    bias = random(8, seed=2)
    w = tagged(8, 6, 3, 3)
    base: Params = {0: 8, 1: 3, 5: 1, 6: 432}
    plain = (w, bias)
    cases = [
        Case("plain", "Convolution", base, plain),
        Case("vector", "Convolution", {0: 8, 1: 1, 5: 1, 6: 96}, (tagged(8, 12), bias), (VECTOR,)),
        Case("stride and pads", "Convolution", base | {3: 2, 4: 1}, plain),
        Case("uneven pads", "Convolution", base | {4: 1, 14: 2, 15: 0, 16: 3}, plain),
        Case("dilation", "Convolution", base | {2: 2, 4: 2}, plain),
        Case("same upper", "Convolution", base | {3: 2, 4: -233}, plain),
        Case("same lower", "Convolution", base | {3: 2, 4: -234}, plain, ((6, 8, 10),)),
        Case("border value", "Convolution", base | {4: 1, 18: 0.5}, plain),
        Case("oblong", "Convolution", {0: 8, 1: 1, 11: 3, 13: 2, 6: 144}, (tagged(8, 6, 3, 1),)),
        Case("half", "Convolution", {0: 8, 1: 1, 5: 1, 6: 48}, (tagged(8, 6, form="f16"), bias)),
        Case("table", "Convolution", {0: 8, 1: 1, 5: 1, 6: 48}, (tagged(8, 6, form="table"), bias)),
        Case("raw", "Convolution", {0: 8, 1: 1, 6: 48}, (tagged(8, 6, form="scaled"),)),
        Case(
            "odd half", "ConvolutionDepthWise", {0: 6, 1: 1, 6: 6, 7: 6}, (tagged(6, form="f16"),)
        ),
        Case(
            "depthwise",
            "ConvolutionDepthWise",
            {0: 6, 1: 3, 4: 1, 5: 1, 6: 54, 7: 6},
            (tagged(6, 3, 3), random(6, seed=2)),
        ),
        Case(
            "groups",
            "ConvolutionDepthWise",
            {0: 8, 1: 3, 6: 216, 7: 2, 9: 1},
            (tagged(2, 4, 3, 3, 3),),
        ),
    ]
    activations: list[tuple[int, list[float]]] = [
        (1, []),
        (2, [0.1]),
        (3, [-0.5, 1.5]),
        (4, []),
        (5, []),
        (6, [1 / 6, 0.5]),
    ]
    for kind, values in activations:
        params: Params = base | {9: kind} | ({10: values} if values else {})
        cases.append(Case(f"activation {kind}", "Convolution", params, plain))
    up: Params = {0: 5, 1: 4, 3: 2, 5: 1, 6: 480}
    weights = (tagged(5, 6, 4, 4), random(5, seed=2))
    cases += [
        Case("plain", "Deconvolution", up, weights),
        Case("pads", "Deconvolution", up | {4: 1, 18: 1}, weights),
        Case("output pads", "Deconvolution", up | {4: 1, 18: 1, 19: 1, 9: 1}, weights),
        Case("uneven output pads", "Deconvolution", up | {4: 1, 18: 0, 19: 1}, weights),
        Case("same size", "Deconvolution", up | {4: -233, 20: 18, 21: 14}, weights),
        Case("same lower size", "Deconvolution", up | {4: -234, 20: 19, 21: 15}, weights),
        Case("dilation", "Deconvolution", up | {2: 2, 9: 1}, weights),
        Case(
            "plain",
            "DeconvolutionDepthWise",
            {0: 6, 1: 4, 3: 2, 4: 1, 6: 96, 7: 6},
            (tagged(6, 4, 4),),
        ),
        Case(
            "groups",
            "DeconvolutionDepthWise",
            {0: 4, 1: 3, 6: 108, 7: 2},
            (tagged(2, 2, 3, 3, 3),),
        ),
        Case(
            "output pads",
            "DeconvolutionDepthWise",
            {0: 6, 1: 3, 3: 2, 4: 1, 18: 1, 19: 1, 6: 54, 7: 6},
            (tagged(6, 3, 3),),
        ),
    ]
    return cases + _signals()


def _signals() -> list[Case]:
    """Convolutions of [c, w]."""
    base: Params = {0: 8, 1: 3, 5: 1, 6: 144}
    weights = (tagged(8, 6, 3), random(8, seed=2))
    depthwise: Params = {0: 6, 1: 3, 6: 18, 7: 6}
    up: Params = base | {3: 2}
    return [
        Case(id, type, params, values, (MATRIX,))
        for id, type, params, values in (
            ("plain", "Convolution1D", base, weights),
            ("pads", "Convolution1D", base | {2: 2, 3: 2, 4: 2, 15: 1, 9: 1}, weights),
            ("same", "Convolution1D", base | {3: 2, 4: -233}, weights),
            ("border value", "Convolution1D", base | {4: 1, 18: 0.5}, weights),
            ("depthwise", "ConvolutionDepthWise1D", depthwise | {4: 1}, (tagged(6, 3),)),
            ("plain", "Deconvolution1D", up, weights),
            ("output pads", "Deconvolution1D", up | {4: 1, 18: 1}, weights),
            ("same size", "Deconvolution1D", up | {4: -233, 20: 18}, weights),
            (
                "output pads",
                "DeconvolutionDepthWise1D",
                depthwise | {3: 2, 4: 1, 18: 1},
                (tagged(6, 3),),
            ),
        )
    ]
