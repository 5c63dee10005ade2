"""Reduction and ArgMax."""

from __future__ import annotations

from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary.reduction import reduced

_PRODUCT = "prod"
_KINDS = (
    "sum",
    "l1",
    "sum_square",
    "mean",
    "max",
    "min",
    _PRODUCT,
    "l1",
    "l2",
    "log_sum",
    "log_sum_exp",
)


@handles("Reduction")
def reduction(layer: NcnnLayer) -> Results:
    """Over some axes or all; a factor comes last."""
    x, axes = layer.x(), layer.param.integers(3)
    kind = layer.param.integer(0, 0)
    whole, keep = layer.param.integer(1, 1), layer.param.integer(4, 0)
    if not layer.param.integer(5, 0) and axes:
        raise layer.unsupported("its axes count a batch, as in files of old (5=1 is missing)")
    if not 0 <= kind < len(_KINDS) or _KINDS[kind] == _PRODUCT:
        raise layer.unsupported(f"the engine has no reduction {kind}")
    places = {layer.blob_axis(axis) for axis in axes}
    if whole or len(x.shape) == 2:
        places = set(range(1, len(x.shape)))
    y = reduced(layer, _KINDS[kind], x, tuple(places), keep_dims=bool(keep))
    y = layer.scaled(y, layer.param.real(2, 1.0))
    return y if len(y.shape) > 1 else layer.reshape(y, (1, 1))


@handles("ArgMax")
def arg_max(layer: NcnnLayer) -> Results:
    """Where the maximum is, as a real number."""
    if layer.param.integer(0, 0) or layer.param.integer(1, 1) != 1:
        raise layer.unsupported("it gives values, or more than one place")
    flat = layer.reshape(layer.x(), (1, 1, layer.x().count))
    return layer.add("cast", layer.add("arg_max", flat, axis=2), to="f32")
