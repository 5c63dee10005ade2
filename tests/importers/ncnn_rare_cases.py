"""Test cases of ncnn layers that few networks have."""

from __future__ import annotations

import itertools

import numpy as np

from tests.importers.caffe_writer import random
from tests.importers.ncnn_convolution_cases import IMAGE, MATRIX, VECTOR, Case, Params, tagged

# Corners of regions inside, across the border and outside of the image, and in the wrong order.
_REGIONS = (
    (3, 12, 51, 70),
    (-30, -20, 25, 38),
    (40, 40, 52, 60),
    (60, 52, 140, 115),
    (30, 30, 20, 9),
)
# The same for ROIPooling: no edge of a bin is a whole pixel, and the last ones are beyond the
# image. ncnn multiplies by a reciprocal that is inexact on some CPUs, where a bin that ends at a
# whole pixel has one row more. The operator's tests have such bins, with the paper's formula as
# oracle.
_POOLED_REGIONS = (
    (60, 52, 140, 115),
    (-40, -20, 126, 118),
    (40, -33, 126, 126),
    (20, 20, 144, 150),
    (16, 5, 160, 130),
)


def _regions() -> list[Case]:
    layers: dict[str, tuple[str, Params, tuple[int, ...]]] = {
        "odd": ("ROIPooling", {0: 2, 1: 3, 2: 0.11}, IMAGE),
        "square": ("ROIPooling", {0: 7, 1: 7, 2: 0.0625}, IMAGE),
        "bins": ("PSROIPooling", {0: 3, 1: 3, 2: 0.11, 3: 2}, (18, 7, 9)),
        "adaptive": ("ROIAlign", {0: 2, 1: 3, 2: 0.11, 5: 1}, IMAGE),
        "aligned": ("ROIAlign", {0: 2, 1: 3, 2: 0.11, 3: 2, 4: 1, 5: 1}, IMAGE),
    }
    return [
        Case(
            f"{name} {i}",
            type,
            params,
            shapes=(shape,),
            values=(np.array(region, np.float32),),
        )
        for name, (type, params, shape) in layers.items()
        for i, region in enumerate(_POOLED_REGIONS if type == "ROIPooling" else _REGIONS)
    ]


def _flips() -> list[Case]:
    axes = [[0], [1], [2], [-1], [-3], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
    return [
        *(Case(f"{a}", "Flip", {0: a}) for a in axes),
        *(Case(f"{a} of 2", "Flip", {0: a}, (), (MATRIX,)) for a in [*axes[:2], [0, 1]]),
        Case("vector", "Flip", {0: [0]}, (), (VECTOR,)),
    ]


def _diagonals() -> list[Case]:
    return [
        *(Case(f"vector {k}", "Diag", {0: k}, (), ((5,),)) for k in (0, 2, -3)),
        *(Case(f"wide {k}", "Diag", {0: k}, (), (MATRIX,)) for k in (0, 2, 5, 8, -1, -5)),
        *(Case(f"tall {k}", "Diag", {0: k}, (), ((9, 6),)) for k in (0, 4, -2, -7)),
    ]


def _rows() -> list[Case]:
    windows: dict[str, Params] = {
        "full": {1: 3, 2: 2},
        "full with padding": {1: 3, 2: 2, 3: 1},
        "full of 2": {1: 2, 2: 2},
        "valid": {1: 3, 2: 2, 5: 1},
        "uneven": {1: 4, 2: 2, 3: 2, 14: 1, 5: 1},
        "counted": {1: 3, 2: 2, 3: 1, 6: 1},
        "same upper": {1: 3, 2: 2, 5: 2},
        "same lower": {1: 2, 2: 2, 5: 3},
        "global": {4: 1},
        "adaptive": {7: 1, 8: 3},
        "adaptive uneven": {7: 1, 8: 4},
    }
    return [
        Case(f"{'AVG' if kind else 'MAX'} {name}", "Pooling1D", {0: kind, **params}, (), (MATRIX,))
        for kind, (name, params) in itertools.product((0, 1), windows.items())
    ]


def _columns() -> list[Case]:
    windows: dict[str, Params] = {
        "plain": {1: 3},
        "oblong": {1: 2, 11: 3, 3: 2, 13: 1},
        "padded": {1: 3, 3: 2, 4: 1, 14: 2, 15: 0, 16: 1},
        "dilated": {1: 3, 2: 2, 4: 2},
    }
    counts = {"plain": 5 * 7, "oblong": 5 * 4, "padded": 4 * 4, "dilated": 7 * 9}
    return [
        *(Case(name, "Unfold", params) for name, params in windows.items()),
        Case("border value", "Unfold", {1: 3, 4: 1, 18: 0.5}),
        Case("same upper", "Unfold", {1: 3, 3: 2, 4: -233, 14: -233, 15: -233, 16: -233}),
        Case("same lower", "Unfold", {1: 2, 4: -234, 14: -234, 15: -234, 16: -234}),
        *(
            Case(
                name,
                "Fold",
                {**params, 20: 9, 21: 7},
                (),
                ((12 if name == "oblong" else 18, counts[name]),),
            )
            for name, params in windows.items()
        ),
    ]


def _copies() -> list[Case]:
    """A part of the first operand is replaced: by offsets, or by starts as numpy counts them."""
    image, volume = (2, 3, 4), (3, 4, 5, 6)
    places: dict[str, tuple[Params, tuple[int, ...], tuple[int, ...]]] = {
        "begin": ({}, IMAGE, image),
        "inside": ({0: 2, 1: 3, 2: 1}, IMAGE, image),
        "end": ({0: 5, 1: 4, 2: 4}, IMAGE, image),
        "starts": ({9: [1, 2, 3]}, IMAGE, image),
        "negative": ({9: [-4, -3], 11: [2, -3]}, IMAGE, image),
        "absent": ({9: [-233, 2], 11: [0, 1]}, IMAGE, image),
        "all": ({0: 1}, IMAGE, IMAGE),
        "row": ({1: 3}, IMAGE, (6, 1, 9)),
        "matrix": ({0: 3, 1: 2}, MATRIX, (4, 5)),
        "matrix by starts": ({9: [3], 11: [1]}, MATRIX, (4, 5)),
        "vector": ({0: 3}, VECTOR, (4,)),
        "volume": ({0: 2, 1: 1, 2: 1, 13: 2}, volume, (2, 1, 2, 3)),
    }
    return [
        Case(name, "CopyTo", params, (), (shape, part))
        for name, (params, shape, part) in places.items()
    ]


def _attentions() -> list[Case]:
    q, k, v = (4, 5, 8), (4, 7, 8), (4, 7, 6)
    shared = (q, (2, 7, 8), (2, 7, 6))
    return [
        Case("self", "SDPA", {}, (), (q, q, q), scale=1.0),
        Case("cross", "SDPA", {6: 0.2}, (), (q, k, v), scale=1.0),
        Case("mask", "SDPA", {5: 1}, (), (q, k, v, (5, 7)), scale=1.0),
        Case("mask of heads", "SDPA", {5: 1}, (), (q, k, v, (4, 5, 7)), scale=1.0),
        Case("shared", "SDPA", {}, (), shared, scale=1.0),
        Case("shared, mask", "SDPA", {5: 1}, (), (*shared, (5, 7)), scale=1.0),
        Case("shared, mask of heads", "SDPA", {5: 1}, (), (*shared, (4, 5, 7)), scale=1.0),
        Case("one", "SDPA", {}, (), (q, (1, 7, 8), (1, 7, 8)), scale=1.0),
        Case("halves", "RotaryEmbed", {}, (), (q, (5, 4), (5, 4))),
        Case("halves of their own", "RotaryEmbed", {}, (), (q, (5, 8), (5, 8))),
        Case("neighbors", "RotaryEmbed", {0: 1}, (), (q, (5, 4), (5, 4))),
    ]


def _deformed() -> list[Case]:
    base: Params = {0: 8, 1: 3, 5: 1, 6: 432}
    weights = tagged(8, 6, 3, 3), random(8, seed=2)
    oblong: Params = {0: 8, 1: 1, 11: 3, 13: 2, 14: 1, 16: 2, 6: 144, 9: 1}
    image = ((18, 5, 7), (9, 5, 7))
    return [
        Case("plain", "DeformableConv2D", base, weights, (IMAGE, *image)),
        Case("padded", "DeformableConv2D", base | {4: 1}, weights, (IMAGE, (18, 7, 9), (9, 7, 9))),
        Case(
            "dilated",
            "DeformableConv2D",
            base | {2: 2, 4: 2, 3: 2},
            weights,
            (IMAGE, (18, 4, 5), (9, 4, 5)),
        ),
        Case(
            "oblong",
            "DeformableConv2D",
            oblong,
            (tagged(8, 6, 3, 1),),
            (IMAGE, (6, 4, 9), (3, 4, 9)),
        ),
    ]


def cases() -> list[Case]:
    """All cases."""
    return [
        *_copies(),
        *_attentions(),
        *_deformed(),
        *_regions(),
        *_flips(),
        *_diagonals(),
        *_rows(),
        *_columns(),
        Case("zero", "Threshold", {}),
        Case("half", "Threshold", {0: 0.5}),
    ]
