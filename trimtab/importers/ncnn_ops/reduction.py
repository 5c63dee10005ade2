"""Reduction, CumulativeSum and ArgMax."""

from __future__ import annotations

from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary.reduction import cumulative, reduced


@handles("Reduction")
def reduction(layer: NcnnLayer) -> Results:
    """Reduction over some axes or all, times a factor."""
    x, p = layer.x(), layer.param
    axes, kind = p.integers("axes"), p.choice("operation")
    reduce_all, keep = p.integer("reduce_all", 1), p.integer("keepdims", 0)
    if not p.integer("fixbug0", 0) and axes:
        raise layer.unsupported("its axes count a batch, as in old files (5=1 is missing)")
    if kind in ("", "prod"):
        raise layer.unsupported(f"the engine has no reduction {p.text('operation')}")
    tensor_axes = {layer.blob_axis(axis) for axis in axes}
    if reduce_all or len(x.shape) == 2:
        tensor_axes = set(range(1, len(x.shape)))
    y = reduced(layer, kind, x, tuple(tensor_axes), keep_dims=bool(keep))
    y = layer.scaled(y, p.real("coeff", 1.0))
    return y if len(y.shape) > 1 else layer.reshape(y, (1, 1))


@handles("CumulativeSum")
def cumulative_sum(layer: NcnnLayer) -> Results:
    """Sums along an axis up to each element."""
    return cumulative(layer, "add", layer.x(), layer.blob_axis(layer.param.integer("axis", 0)))


@handles("ArgMax")
def arg_max(layer: NcnnLayer) -> Results:
    """The index of the maximum as float32."""
    if layer.param.integer("out_max_val", 0) or layer.param.integer("topk", 1) != 1:
        raise layer.unsupported("it returns values, or more than one index")
    flat = layer.reshape(layer.x(), (1, 1, layer.x().count))
    return layer.add("cast", layer.add("arg_max", flat, axis=2), to="f32")
