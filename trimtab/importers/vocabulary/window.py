"""Windows that move over an image: their padding, and where the last one ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab.importers._graph import Value
from trimtab.importers._layer import ImportedLayer

Pair = tuple[int, int]
Pads = tuple[int, ...]
"""Amounts of all dimensions at the beginning (top, left), then at the end (bottom, right)."""

NO_PADS: Pads = (0, 0, 0, 0)


@dataclass(frozen=True)
class Window:
    """The pixels that a pixel of the result is made of; vertical numbers come first."""

    kernel: Pair
    strides: Pair = (1, 1)
    pads: Pads = NO_PADS
    dilations: Pair = (1, 1)

    def check(self, layer: ImportedLayer) -> None:
        """Refuses sizes and steps that are not positive."""
        if min(*self.kernel, *self.strides, *self.dilations) < 1:
            raise layer.invalid(f"its window is {self.kernel}, its strides {self.strides}")

    def padded(self, pads: Pads) -> Window:
        """The window with other padding."""
        return replace(self, pads=pads)

    def same(self, size: Sequence[int], *, lower: bool = False) -> Window:
        """The window with padding that leaves size / stride pixels, rounded up."""
        pads = same_pads(size, self.kernel, self.strides, self.dilations, lower=lower)
        return self.padded(pads)

    def filled(self, size: Sequence[int]) -> Window:
        """The window with as much padding at the end as the last windows need when the size of the
        result is rounded up.

        One that begins behind the image and the padding before it is left out (PyTorch, ONNX).
        """
        ends = []
        for i in range(2):
            extent, stride = (self.kernel[i] - 1) * self.dilations[i] + 1, self.strides[i]
            end, behind = size[i] + self.pads[i], self.pads[2 + i]
            room = end + behind - extent
            if room < 0:
                return self  # there is no window, which the engine says
            last = -(-room // stride)
            last -= last * stride >= end
            whole = last == room // stride
            ends.append(behind if whole else max(0, last * stride + extent - end))
        return self.padded((*self.pads[:2], *ends))

    def reach(self, size: Sequence[int]) -> list[int]:
        """The size of what a transposed convolution makes before its padding is cut off."""
        return [
            (size[i] - 1) * self.strides[i] + (self.kernel[i] - 1) * self.dilations[i] + 1
            for i in range(2)
        ]


def same_pads(
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    *,
    lower: bool = False,
) -> Pads:
    """Padding that leaves size / stride elements of any number of dimensions, rounded up."""
    totals = [
        (-(-n // s) - 1) * s + (k - 1) * d + 1 - n
        for n, k, s, d in zip(size, kernel, strides, dilations, strict=True)
    ]
    return shared(totals, lower=lower)


def shared(totals: Sequence[int], *, lower: bool = False) -> Pads:
    """Padding of so many pixels, if any, with the odd one at the end, or at the beginning."""
    small = [max(0, total) // 2 for total in totals]
    large = [max(0, total) - part for total, part in zip(totals, small, strict=True)]
    return (*large, *small) if lower else (*small, *large)


# Signals, which are images of one row.


def plane(values: Sequence[int], fill: int) -> Pair:
    """Vertical and horizontal value; a signal has the horizontal one only, none stands for both."""
    if not values:
        return fill, fill
    return (fill, values[0]) if len(values) == 1 else (values[0], values[1])


def image(layer: ImportedLayer, x: Value, spatial: int) -> Value:
    """x: [n, c, h, w]; what lacks the batch, or the height of a signal, gets a 1 there."""
    rank = len(x.shape)
    if spatial not in (1, 2) or rank not in (spatial + 1, spatial + 2):
        raise layer.unsupported(f"its input has {rank} dimensions")
    shape = x.shape if rank == spatial + 2 else (1, *x.shape)
    return layer.reshape(x, shape if spatial == 2 else (*shape[:2], 1, shape[2]))


def restore(layer: ImportedLayer, y: Value, spatial: int, like: Value) -> Value:
    """Undoes `image`, by what it was given."""
    shape = y.shape if spatial == 2 else (*y.shape[:2], y.shape[3])
    return layer.reshape(y, shape if len(like.shape) == spatial + 2 else shape[1:])
