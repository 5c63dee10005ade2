"""Flip and Diag: elements in another order, and between zeros."""

from __future__ import annotations

from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary import movement


@handles("Flip")
def flip(layer: NcnnLayer) -> Results:
    """Reverses some axes."""
    x = layer.x()
    axes = {layer.blob_axis(axis) for axis in layer.param.integers("axes")}
    if len(x.shape) == 2 or not axes:
        axes = set(range(1, len(x.shape)))  # ncnn ignores the axis of a vector
    return movement.sliced(layer, x, [(axis, -1, -movement.END, -1) for axis in sorted(axes)])


@handles("Diag")
def diag(layer: NcnnLayer) -> Results:
    """A matrix with a vector on a diagonal, or the diagonal of a matrix."""
    x, offset = layer.x(), layer.param.integer("diagonal", 0)
    below, right = max(-offset, 0), max(offset, 0)
    if len(x.shape) == 2:
        # Rows that are one element too long move each element one column on.
        count = x.shape[1]
        size = count + abs(offset)
        layer.check_elements((size, size))
        first = below * size + right
        y = movement.padded(layer, layer.reshape(x, (1, count, 1)), {2: (0, size)})
        y = layer.reshape(y, (1, count * (size + 1)))
        y = movement.padded(layer, y, {1: (first, size * size - first - y.shape[1])})
        return layer.reshape(y, (1, size, size))
    if len(x.shape) != 3:
        raise layer.unsupported(f"its input has {len(x.shape) - 1} dimensions, not 1 or 2")
    rows, columns = x.shape[1:]
    count = min(rows - below, columns - right)
    if count < 1:
        raise layer.invalid(f"diagonal {offset} is outside of {rows} x {columns}")
    first = below * columns + right
    last = first + (count - 1) * (columns + 1)
    flat = layer.reshape(x, (1, rows * columns))
    return movement.sliced(layer, flat, [(1, first, last + 1, columns + 1)])
