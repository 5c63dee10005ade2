"""Pools of one region: the first four values of the second operand, its corners."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary.movement import axis_slice


@handles("ROIPooling")
def roi_pooling(layer: NcnnLayer) -> Results:
    """The maximum in each bin of the region."""
    columns, rows = _bins(layer, 0)
    scale = layer.param.real("spatial_scale", 1.0)
    return layer.add(
        "roi_pooling",
        layer.image(),
        _with_image(layer),
        pooled_shape=(rows, columns),
        spatial_scale=scale,
    )


@handles("PSROIPooling")
def psroi_pooling(layer: NcnnLayer) -> Results:
    """The mean in each bin of the region, with channels of its own for every bin (R-FCN)."""
    columns, rows = _bins(layer, 7)
    scale, outputs = layer.param.real("spatial_scale", 0.0625), layer.param.integer("output_dim", 0)
    x = layer.image()
    if rows != columns:
        raise layer.unsupported(f"it has {rows} x {columns} bins")
    if rows < 1 or outputs * rows * rows != x.shape[1]:
        raise layer.invalid(f"{outputs} outputs of {rows} x {rows} bins do not fit {x.shape[1]}")
    return layer.add("psroi_pooling", x, _with_image(layer), bins=rows, spatial_scale=scale)


@handles("ROIAlign")
def roi_align(layer: NcnnLayer) -> Results:
    """Means of linear samples in the cells of the region, as in detectron2 (version 1)."""
    columns, rows = _bins(layer, 0)
    scale, samples = (
        layer.param.real("spatial_scale", 1.0),
        layer.param.integer("sampling_ratio", 0),
    )
    aligned, version = layer.param.integer("aligned", 0), layer.param.integer("version", 0)
    if version != 1:
        raise layer.unsupported(f"its version is {version}, which clamps cells to the image")
    image = layer.value(np.zeros(1, np.int64))
    return layer.add(
        "roi_align",
        layer.image(),
        _region(layer),
        image,
        rows=rows,
        columns=columns,
        samples=samples,
        scale=scale,
        half_pixel=bool(aligned),
    )


def _bins(layer: NcnnLayer, default: int) -> tuple[int, int]:
    """The columns and rows of bins."""
    p = layer.param
    return p.integer("pooled_width", default), p.integer("pooled_height", default)


def _region(layer: NcnnLayer) -> Value:
    """The corners [1, 4]; of several regions, such as those of Proposal, ncnn reads the first."""
    regions = layer.x(1)
    if regions.count < 4:
        raise layer.invalid(f"its second operand has {regions.count} values, not a region")
    return axis_slice(layer, layer.reshape(regions, (1, regions.count)), 1, 0, 4)


def _with_image(layer: NcnnLayer) -> Value:
    """The index of the image, 0, and the corners: [1, 5]."""
    return layer.add("concat", layer.constant(np.zeros((1, 1)), "image"), _region(layer), axis=1)
