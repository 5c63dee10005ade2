"""Reduction and ArgMax."""

from __future__ import annotations

from trimtab.importers._layer import Results
from trimtab.importers.caffe_ops.layer import CaffeLayer, handles
from trimtab.importers.caffe_ops.spec import REDUCTIONS
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary.reduction import reduced


@handles("Reduction")
def reduction(layer: CaffeLayer) -> Results:
    """Reduction over all axes from `axis` on, which are dropped."""
    param = layer.param
    operation = param.choice("operation", ("", *REDUCTIONS), "SUM")
    axes = range(layer.axis(param.integer("axis", 0)), len(layer.x().shape))
    y = reduced(layer, REDUCTIONS[operation], layer.x(), axes, keep_dims=False)
    return layer.scaled(y, param.real("coeff", 1.0))


@handles("ArgMax")
def arg_max(layer: CaffeLayer) -> Results:
    """The index of the maximum as float32, along an axis or in a whole image."""
    param = layer.param
    if param.integer("top_k", 1) != 1:
        raise layer.unsupported("its top_k is not 1")
    values = param.boolean("out_max_val", False)
    x = layer.x()
    if param.has("axis"):
        axis = layer.axis(param.integer("axis", 1))
        if values:
            return layer.add("reduce_max", x, axes=(axis,))
        return layer.add("cast", layer.add("arg_max", x, axis=axis), to="f32")
    rank = len(x.shape)
    flat = layer.value(movement.flatten_to_matrix(layer, x, 1))
    y = layer.add("cast", layer.add("arg_max", flat, axis=1), to="f32")
    if values:
        y = layer.add("concat", y, layer.add("reduce_max", flat, axes=(1,)), axis=1)
    return layer.reshape(y, (*y.shape, *[1] * (max(rank, 3) - 2)))
