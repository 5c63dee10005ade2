"""Pools of regions, of Caffe's forks for two-stage detectors."""

from __future__ import annotations

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.caffe_ops.contract import takes
from trimtab.importers.caffe_ops.layer import CaffeLayer, handles


@handles("ROIPooling")
@takes((2, 2))
def roi_pooling(layer: CaffeLayer) -> Results:
    """The maximum in each bin of regions [count, 5]: image, then corners (Fast R-CNN)."""
    param = layer.param
    return layer.add(
        "roi_pooling",
        layer.image(),
        _regions(layer),
        pooled_shape=(param.integer("pooled_h", 0), param.integer("pooled_w", 0)),
        spatial_scale=param.real("spatial_scale", 1.0),
    )


@handles("PSROIPooling")
@takes((2, 2))
def psroi_pooling(layer: CaffeLayer) -> Results:
    """The mean in each bin of regions [count, 5], with its own channels for every bin (R-FCN)."""
    param = layer.param
    x, bins, outputs = layer.image(), param.integer("group_size", 0), param.integer("output_dim", 0)
    if bins < 1 or outputs * bins * bins != x.shape[1]:
        raise layer.invalid(f"{outputs} outputs of {bins} x {bins} bins do not fit {x.shape[1]}")
    scale = param.real("spatial_scale", 1.0)
    return layer.add("psroi_pooling", x, _regions(layer), bins=bins, spatial_scale=scale)


def _regions(layer: CaffeLayer) -> Value:
    """The second operand as a matrix; files also have [count, 5, 1, 1]."""
    regions = layer.x(1)
    if regions.shape[1:2] != (5,) or regions.count != 5 * regions.shape[0]:
        raise layer.invalid(f"its regions are {list(regions.shape)}, not [count, 5]")
    return layer.reshape(regions, (regions.shape[0], 5))
