"""Reduction and ArgMax."""

from __future__ import annotations

from trimtab.importers._layers import Value, Values
from trimtab.importers.ncnn_ops.layer import Layer, handles

_NAMES = (
    "sum",
    "asum",
    "sumsq",
    "mean",
    "max",
    "min",
    "prod",
    "l1",
    "l2",
    "logsum",
    "logsumexp",
)


@handles("Reduction")
def reduction(layer: Layer) -> Values:
    """Over some axes or all; a factor comes last."""
    x, axes = layer.x(), layer.param.integers(3)
    kind = layer.param.integer(0, 0)
    whole, keep = layer.param.integer(1, 1), layer.param.integer(4, 0)
    if not layer.param.integer(5, 0) and axes:
        raise layer.unsupported("its axes count a batch, as in files of old (5=1 is missing)")
    if not 0 <= kind < len(_NAMES) or _NAMES[kind] == "prod":
        raise layer.unsupported(f"the engine has no reduction {kind}")
    places = {layer.axis(axis) for axis in axes}
    if whole or len(x.shape) == 2:
        places = set(range(1, len(x.shape)))
    y = _reduce(layer, x, _NAMES[kind], tuple(sorted(places)))
    y = layer.scale_and_shift(y, layer.param.real(2, 1.0), 0.0)
    if keep:
        return y
    shape = [n for i, n in enumerate(y.shape) if i not in places]
    return layer.reshape(y, shape if len(shape) > 1 else (1, 1))


def _reduce(layer: Layer, x: Value, kind: str, axes: tuple[int, ...]) -> Value:
    """All dimensions are kept."""
    if kind in ("asum", "l1"):
        x = layer.add("abs", x)
    elif kind in ("sumsq", "l2"):
        x = layer.add("mul", x, x)
    elif kind == "logsumexp":
        x = layer.add("exp", x)
    if not axes:
        return x
    op = f"reduce_{kind}" if kind in ("mean", "max", "min") else "reduce_sum"
    y = layer.add(op, x, axes=axes)
    if kind == "l2":
        return layer.add("sqrt", y)
    return layer.add("log", y) if kind.startswith("log") else y


@handles("ArgMax")
def arg_max(layer: Layer) -> Values:
    """Where the maximum is, as a real number."""
    if layer.param.integer(0, 0) or layer.param.integer(1, 1) != 1:
        raise layer.unsupported("it gives values, or more than one place")
    flat = layer.reshape(layer.x(), (1, 1, layer.x().count))
    return layer.add("cast", layer.add("arg_max", flat, axis=2), to="f32")
