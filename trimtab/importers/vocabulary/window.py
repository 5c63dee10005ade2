"""Windows of convolutions and pools: kernel, strides, padding and dilations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab.importers._graph import Value
from trimtab.importers._layer import ImportedLayer

Pair = tuple[int, int]
Pads = tuple[int, ...]
"""Padding at the beginning of each axis (top, left), then at the end (bottom, right)."""

NO_PADS: Pads = (0, 0, 0, 0)


@dataclass(frozen=True)
class Window:
    """The window of a convolution or pool; in each pair the vertical value is first."""

    kernel: Pair
    strides: Pair = (1, 1)
    pads: Pads = NO_PADS
    dilations: Pair = (1, 1)

    def check(self, layer: ImportedLayer) -> None:
        """Rejects sizes and strides that are not positive."""
        if min(*self.kernel, *self.strides, *self.dilations) < 1:
            raise layer.invalid(f"its window is {self.kernel}, its strides {self.strides}")

    def padded(self, pads: Pads) -> Window:
        """The window with other padding."""
        return replace(self, pads=pads)

    def same(self, size: Sequence[int], *, lower: bool = False) -> Window:
        """The window with SAME padding: the result has size / stride pixels, rounded up."""
        pads = same_pads(size, self.kernel, self.strides, self.dilations, lower=lower)
        return self.padded(pads)

    def within(self, size: Sequence[int]) -> Window:
        """The window as ceil mode places it on an axis whose padded image is smaller: one that ends
        with the image, as the pools of EfficientNets of transformers.
        """
        padded = [size[i] + self.pads[i] + self.pads[2 + i] for i in range(2)]
        is_cut = [
            self.dilations[i] == 1 and padded[i] < self.kernel[i] < padded[i] + self.strides[i]
            for i in range(2)
        ]
        rows, columns = (padded[i] if is_cut[i] else self.kernel[i] for i in range(2))
        return replace(self, kernel=(rows, columns))

    def filled(self, size: Sequence[int]) -> Window:
        """The window with the padding that ceil mode needs at the end.

        The last window must not begin behind the image and its padding at the beginning, as in
        PyTorch and ONNX.
        """
        ends = []
        for i in range(2):
            extent, stride = (self.kernel[i] - 1) * self.dilations[i] + 1, self.strides[i]
            end, pad_end = size[i] + self.pads[i], self.pads[2 + i]
            room = end + pad_end - extent
            if room < 0:
                return self  # the engine reports that the window is too large
            last = -(-room // stride)
            last -= last * stride >= end
            exact = last == room // stride
            ends.append(pad_end if exact else max(0, last * stride + extent - end))
        return self.padded((*self.pads[:2], *ends))

    def convolved_size(self, size: Sequence[int]) -> list[int]:
        """The size of the result for an image of this size."""
        return [
            (
                size[i]
                + self.pads[i]
                + self.pads[2 + i]
                - (self.kernel[i] - 1) * self.dilations[i]
                - 1
            )
            // self.strides[i]
            + 1
            for i in range(2)
        ]

    def full_size(self, size: Sequence[int]) -> list[int]:
        """The size of a transposed convolution's result before its padding crops it."""
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
    """SAME padding of any number of axes: the result has size / stride elements, rounded up."""
    totals = [
        (-(-n // s) - 1) * s + (k - 1) * d + 1 - n
        for n, k, s, d in zip(size, kernel, strides, dilations, strict=True)
    ]
    return split_padding(totals, lower=lower)


def split_padding(totals: Sequence[int], *, lower: bool = False) -> Pads:
    """Splits the total padding of each axis; an odd pixel is at the end, or at the beginning if
    `lower`.
    """
    small = [max(0, total) // 2 for total in totals]
    large = [max(0, total) - half for total, half in zip(totals, small, strict=True)]
    return (*large, *small) if lower else (*small, *large)


# One-dimensional signals are images of one row.


def as_pair(values: Sequence[int], fill: int) -> Pair:
    """A vertical and a horizontal value; a signal has only the latter, no value means `fill`."""
    if not values:
        return fill, fill
    return (fill, values[0]) if len(values) == 1 else (values[0], values[1])


def to_image(layer: ImportedLayer, x: Value, spatial: int) -> Value:
    """Reshapes a signal or image, with or without a batch, to [n, c, h, w]."""
    rank = len(x.shape)
    if spatial not in (1, 2) or rank not in (spatial + 1, spatial + 2):
        raise layer.unsupported(f"its input has {rank} dimensions")
    shape = x.shape if rank == spatial + 2 else (1, *x.shape)
    return layer.reshape(x, shape if spatial == 2 else (*shape[:2], 1, shape[2]))


def from_image(layer: ImportedLayer, y: Value, spatial: int, like: Value) -> Value:
    """Reverses `to_image`, whose argument was `like`."""
    shape = y.shape if spatial == 2 else (*y.shape[:2], y.shape[3])
    return layer.reshape(y, shape if len(like.shape) == spatial + 2 else shape[1:])
