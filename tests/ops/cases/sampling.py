"""GridSample, RoiAlign, MaxRoiPool, Col2Im, MaxPool with indices, MaxUnpool, Fourier transforms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ops.cases.case import Array, Case, Const, Graph, case, floats, ints, normal

REGIONS: Array = np.array(
    [[3, 12, 51, 79], [-30, -20, 25, 30], [40, 40, 42, 41], [60, 50, 140, 125]], np.int32
)


def _regions() -> Iterator[Case]:
    for mode in ("half_pixel", "output_half_pixel"):
        g = Graph()
        regions = g.node("Mul", g.node("Cast", REGIONS, to=1), floats(0.1))
        g.node(
            "RoiAlign",
            *(normal(1, 3, 9, 11), regions, Const(np.zeros(4, np.int64))),
            coordinate_transformation_mode=mode,
            output_height=3,
            output_width=2,
            sampling_ratio=2,
            spatial_scale=0.75,
        )
        yield g.case(f"RoiAlign-{mode}")


def _pixels() -> Iterator[Case]:
    """Regions of several images, and maxima."""
    for mode in ("avg", "max"):
        g = Graph()
        regions = g.node("Mul", g.node("Cast", REGIONS, to=1), floats(0.1))
        g.node(
            "RoiAlign",
            *(normal(3, 2, 9, 11), regions, np.array([2, 0, 1, 2], np.int64)),
            mode=mode,
            output_height=3,
            output_width=2,
            sampling_ratio=2,
            spatial_scale=0.75,
        )
        yield g.case(f"RoiAlign-images-{mode}")


def _bins() -> Iterator[Case]:
    """Regions of several images, with bins inside, across the border and outside of the image."""
    rows = [[2, 3, 12, 51, 79], [0, -30, -20, 25, 30], [1, 40, 40, 42, 41], [2, 60, 50, 140, 125]]
    regions = np.array([*rows, [1, 200, 200, 260, 230], [0, 30, 30, 20, 10]], np.float32)
    for shape, scale in (((3, 2), 0.11), ((7, 7), 0.06), ((1, 5), 0.0625)):
        yield case(
            f"{shape[0]}x{shape[1]}",
            "MaxRoiPool",
            *(normal(3, 5, 9, 11), regions),
            pooled_shape=shape,
            spatial_scale=scale,
        )


def _volumes() -> Iterator[Case]:
    x, grid = normal(2, 3, 4, 5, 6), 1.2 * normal(2, 3, 2, 5, 3)
    for mode in ("nearest", "linear"):
        for padding in ("zeros", "border", "reflection"):
            for aligned in (0, 1):
                more: dict[str, Any] = {"mode": mode, "padding_mode": padding}
                yield case(
                    f"volume-{mode}-{padding}-{aligned}",
                    "GridSample",
                    *(x, grid),
                    opset=20,
                    align_corners=aligned,
                    **more,
                )


def _blocks() -> Iterator[Case]:
    yield case("plain", "Col2Im", normal(2, 18, 12), ints(5, 6), ints(3, 3), opset=18)
    yield case(
        "all",
        "Col2Im",
        *(normal(1, 12, 16), ints(8, 7), ints(3, 2)),
        opset=18,
        strides=[2, 1],
        dilations=[1, 3],
        pads=[0, 0, 1, 0],
    )

    line = (normal(2, 12, 9), ints(11), ints(3))
    yield case("line", "Col2Im", *line, opset=18)
    wide = (normal(2, 30, 70), ints(10, 19), ints(3, 5))
    for name, dilation, pads in (("dense", 1, [1, 1, 1, 1]), ("far", 2, [0, 9, 3, 0])):
        # 5 x 21 windows, whose inner columns have all taps, or not with pads beyond a window
        size = [n + 2 * dilation - pads[i] - pads[i + 2] for i, n in enumerate((5, 21))]
        dense = normal(2, 18, 105), ints(*size), ints(3, 3)
        yield case(name, "Col2Im", *dense, opset=18, dilations=[dilation] * 2, pads=pads)
    yield case("wide", "Col2Im", *wide, opset=18, strides=[1, 3], pads=[2, 3, 0, 1])


def _maxima() -> Iterator[Case]:
    x = normal(2, 3, 7, 9)
    windows: dict[str, dict[str, Any]] = {
        "plain": {"kernel_shape": [2, 2], "strides": [2, 2]},
        "padded": {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]},
        "dilated": {"kernel_shape": [2, 3], "dilations": [2, 2]},
        "columns": {"kernel_shape": [2, 2], "storage_order": 1},
        "ceil": {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1, "pads": [0, 0, 1, 1]},
    }
    for name, more in windows.items():
        yield case(f"indices-{name}", "MaxPool", x, outputs=2, **more)
    yield case("indices-signal", "MaxPool", normal(2, 3, 9), outputs=2, kernel_shape=[3])
    places = np.array([0, 3, 10, 19, 21, 35]).reshape(1, 2, 1, 3)
    window: dict[str, Any] = {"kernel_shape": [2, 3], "strides": [2, 3]}
    yield case("plain", "MaxUnpool", normal(1, 2, 1, 3), Const(places), **window)


def _spectra() -> Iterator[Case]:
    x = normal(2, 7, 6, 2)
    yield case("complex", "DFT", x, axis=1)
    yield case("inverse", "DFT", x, axis=2, inverse=1)
    yield case("longer", "DFT", normal(2, 7, 6, 1), Const(np.array(9)), axis=1)
    yield case("half", "DFT", normal(3, 9, 1), axis=1, onesided=1)
    window = Const(np.hanning(6).astype(np.float32))
    yield case("frames", "STFT", normal(2, 21, 1), Const(np.array(4)), window, Const(np.array(6)))


def _grids() -> Iterator[Case]:
    """The cross product of modes, paddings and alignments, for growing and shrinking."""
    for mode, padding, aligned in itertools.product(
        ("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (0, 1)
    ):
        for name, x, size in (
            ("grow", (2, 3, 5, 7), (9, 11)),
            ("shrink", (1, 17, 8, 6), (3, 2)),
            ("line", (1, 2, 1, 9), (4, 5)),
        ):
            grid = np.asarray(normal(x[0], *size, 2, seed="grid") * 0.8, np.float32)
            yield case(
                f"{mode}-{padding}-{aligned}-{name}",
                "GridSample",
                *(normal(*x), grid),
                opset=20,
                mode=mode,
                padding_mode=padding,
                align_corners=aligned,
            )
    far = np.asarray(normal(1, 4, 4, 2, seed="far") * 20, np.float32)
    for padding in ("zeros", "border", "reflection"):
        yield case(f"far-{padding}", "GridSample", normal(1, 2, 5, 6), far, padding_mode=padding)
    yield case("bicubic", "GridSample", normal(1, 2, 5, 6), far / 20, mode="bicubic")


def cases() -> Iterator[Case]:
    """All cases of this family."""
    yield from _grids()
    yield from _regions()
    yield from _pixels()
    yield from _bins()
    yield from _volumes()
    yield from _blocks()
    yield from _maxima()
    yield from _spectra()
