"""Test cases of Caffe layers that few networks have; OpenCV lacks most of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.importers.caffe_case import IMAGE, Case, case_of
from tests.importers.caffe_writer import layer, random
from tests.ops.cases.case import Array
from tests.ops.regions import psroi_pooling, roi_pooling

_REDUCTIONS: dict[str, Callable[..., Array]] = {"MAX": np.max, "AVE": np.mean}


def _pyramid(pool: str, levels: int) -> Callable[[Array], Array]:
    """spp_layer.cpp: each level has windows of one size over an image padded on both sides; a mean
    divides by the pixels of the window inside the padded image.
    """
    reduce = _REDUCTIONS[pool]
    border = -np.inf if pool == "MAX" else 0.0

    def formula(x: Array) -> Array:
        rows = []
        for bins in (2**level for level in range(levels)):
            sizes = [-(-n // bins) for n in x.shape[2:]]
            pads = [(k * bins - n + 1) // 2 for k, n in zip(sizes, x.shape[2:], strict=True)]
            image = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in pads)), constant_values=border)
            cells = [
                reduce(image[:, :, i : i + sizes[0], j : j + sizes[1]], axis=(2, 3))
                for i in range(0, bins * sizes[0], sizes[0])
                for j in range(0, bins * sizes[1], sizes[1])
            ]
            rows.append(np.stack(cells, 2).reshape(len(x), -1))
        return np.concatenate(rows, 1)

    return formula


def _columns(
    kernel: tuple[int, int], stride: int = 1, pad: int = 0, dilation: int = 1
) -> Callable[[Array], Array]:
    """im2col.cpp: channels in the order channel, row, column of the window."""

    def formula(x: Array) -> Array:
        image = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        h, w = (
            (n - (k - 1) * dilation - 1) // stride + 1
            for n, k in zip(image.shape[2:], kernel, strict=True)
        )
        taps = [
            image[
                :, :, i : i + (h - 1) * stride + 1 : stride, j : j + (w - 1) * stride + 1 : stride
            ]
            for i in range(0, kernel[0] * dilation, dilation)
            for j in range(0, kernel[1] * dilation, dilation)
        ]
        return np.stack(taps, 2).reshape(len(x), -1, h, w)

    return formula


def _windows() -> list[Case]:
    return [
        case_of(
            f"{pool} {levels} levels of {shape[2]} x {shape[3]}",
            "SPP",
            f"spp_param {{ pyramid_height: {levels} pool: {pool} }}",
            shapes=(shape,),
            formula=_pyramid(pool, levels),
        )
        for pool in _REDUCTIONS
        for levels, shape in ((2, IMAGE), (3, (2, 3, 9, 13)), (4, (1, 2, 8, 16)))
    ] + [
        case_of(
            "one level",
            "SPP",
            "spp_param { pyramid_height: 1 }",
            formula=lambda x: x.max((2, 3), keepdims=True),
        ),
        case_of(
            "plain", "Im2col", "convolution_param { kernel_size: 3 }", formula=_columns((3, 3))
        ),
        case_of(
            "stride, pad and dilation",
            "Im2col",
            "convolution_param { kernel_h: 2 kernel_w: 3 stride: 2 pad: 1 dilation: 2 }",
            formula=_columns((2, 3), stride=2, pad=1, dilation=2),
        ),
    ]


def _lookups() -> list[Case]:
    rows, bias = random(7, 5, seed=1), random(5, seed=2)
    indices = np.array([[3, 0, 6], [1, 3, 5]], np.float32)

    def indexed(id: str, type: str, param: str, blobs: tuple[Array, ...], expected: Array) -> Case:
        text = layer(type, "x0", "y", param)
        return Case(f"{type}-{id}", text, {"x0": indices}, {"y": blobs}, lambda _: expected)

    looked_up = rows[indices.astype(int)]
    learned = "parameter_param { shape { dim: 6 } }"
    values = random(6, seed=3)
    picked = np.array([2, 0, 0, 1, 2], np.float32)
    image = random(3, 4, 5, 6, seed=4)
    return [
        indexed(
            "bias",
            "Embed",
            "embed_param { input_dim: 7 num_output: 5 }",
            (rows, bias),
            looked_up + bias,
        ),
        indexed(
            "rows",
            "Embed",
            "embed_param { input_dim: 7 num_output: 5 bias_term: false }",
            (rows,),
            looked_up,
        ),
        Case(
            "BatchReindex-repeated",
            layer("BatchReindex", "x0 x1"),
            {"x0": image, "x1": picked},
            formula=lambda x, i: x[i.astype(int)],
        ),
        Case(
            "Parameter-scale",
            layer("Parameter", "", "p", learned)
            + layer("Scale", "x0 p", "y", "scale_param { axis: 1 }"),
            {"x0": random(*IMAGE, seed=5)},
            {"p": (values,)},
            lambda x: x * values.reshape(6, 1, 1),
        ),
    ]


def _regions() -> list[Case]:
    corners = [[0, 3, 12, 51, 79], [1, -31, -21, 25, 31], [1, 40, 40, 43, 41], [0, 31, 30, 20, 9]]
    regions, x = np.array(corners, np.float32), random(2, 18, 7, 9, seed=6)
    bins = "psroi_pooling_param { output_dim: 2 group_size: 3 spatial_scale: 0.11 }"
    pooled = "roi_pooling_param { pooled_h: 3 pooled_w: 2 spatial_scale: 0.11 }"
    return [
        Case(
            "ROIPooling-opencv", layer("ROIPooling", "x0 x1", "y", pooled), {"x0": x, "x1": regions}
        ),
        Case(
            "ROIPooling-formula",
            layer("ROIPooling", "x0 x1", "y", pooled),
            {"x0": x, "x1": regions.reshape(4, 5, 1, 1)},
            formula=lambda x, r: roi_pooling(x, r.reshape(4, 5), 3, 2, 0.11),
        ),
        Case(
            "PSROIPooling-formula",
            layer("PSROIPooling", "x0 x1", "y", bins),
            {"x0": x, "x1": regions},
            formula=lambda x, r: psroi_pooling(x, r, 3, 0.11),
        ),
    ]


def cases() -> list[Case]:
    """All cases."""
    half = "threshold_param { threshold: 0.5 }"
    return [
        *_windows(),
        *_lookups(),
        *_regions(),
        case_of("zero", "Threshold", formula=lambda x: (x > 0).astype(float)),
        case_of("half", "Threshold", half, formula=lambda x: (x > 0.5).astype(float)),
    ]
