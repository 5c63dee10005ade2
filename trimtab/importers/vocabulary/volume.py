"""Convolutions of volumes [n, c, d, h, w], by convolutions of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.convolution import (
    check_groups,
    convolve,
    convolve_computed,
    deconvolve,
    deconvolve_computed,
)
from trimtab.importers.vocabulary.movement import concat, dilated, padded, sliced
from trimtab.importers.vocabulary.window import Pads, Window, as_pair

ONES = (1, 1, 1)


@dataclass(frozen=True)
class VolumeWindow:
    """The window of a convolution of volumes: a value for depth, height and width each; `pads` has
    those at the beginning, then those at the end.
    """

    kernel: Sequence[int]
    strides: Sequence[int] = ONES
    pads: Pads = (0,) * 6
    dilations: Sequence[int] = ONES

    def check(self, layer: ImportedLayer) -> None:
        """Rejects sizes and strides that are not positive."""
        if min(*self.kernel, *self.strides, *self.dilations) < 1:
            raise layer.invalid(f"its window is {self.kernel}, its strides {self.strides}")

    def flat(self) -> Window:
        """The window in height and width."""
        pads = (*self.pads[1:3], *self.pads[4:6])
        kernel, strides = as_pair(self.kernel[1:], 1), as_pair(self.strides[1:], 1)
        return Window(kernel, strides, pads, as_pair(self.dilations[1:], 1))

    def deep(self) -> Window:
        """The window in depth, of images whose height is the depth."""
        pads = (self.pads[0], 0, self.pads[3], 0)
        return Window((self.kernel[0], 1), (self.strides[0], 1), pads, (self.dilations[0], 1))

    @property
    def depth_offsets(self) -> list[int]:
        """The distance of each tap in depth from the first one."""
        return [tap * self.dilations[0] for tap in range(self.kernel[0])]


def convolve_volume(
    layer: ImportedLayer,
    x: Value,
    weight: Operand,
    bias: Operand | None,
    window: VolumeWindow,
    group: int = 1,
) -> Value:
    """Turns the depth slices of a kernel into channels, and output depths into batch images.

    weight: [m, c / group, kd, kh, kw], constant or computed, then without bias; bias: [m].
    """
    window.check(layer)
    check_groups(layer, group, x.shape[1], weight.shape[0])
    y = padded(layer, _flat_planes(layer, x), {2: (window.pads[0], window.pads[3])})
    depth = (y.shape[2] - window.depth_offsets[-1] - 1) // window.strides[0] + 1
    y = _stacked_slices(
        layer, y, window.depth_offsets, window.strides[0], depth, group, x.shape[3:]
    )
    flat = layer.transpose(weight, (0, 2, 1, 3, 4))
    flat = layer.reshape(flat, (weight.shape[0], -1, *window.kernel[1:]))
    if isinstance(flat, Value):
        y = convolve_computed(layer, y, flat, window.flat(), group)
    else:
        y = convolve(layer, y, np.ascontiguousarray(flat), bias, window.flat(), group)
    return _from_images(layer, y, x.shape[0])


def deconvolve_volume(
    layer: ImportedLayer,
    x: Value,
    weight: Operand,
    bias: Operand | None,
    window: VolumeWindow,
    group: int = 1,
    extra: Sequence[int] = (0, 0, 0),
) -> Value:
    """Transposed convolution: a convolution along the depth, with zeros between the slices of x and
    the taps in reverse order, and a transposed one of images.

    weight: [c, m / group, kd, kh, kw], constant or computed, then without bias; bias: [m].
    `extra`: what is added at the end of each axis.
    """
    window.check(layer)
    (n, c), outputs, kernel = x.shape[:2], weight.shape[1], window.kernel
    check_groups(layer, group, c, outputs * group)
    y = dilated(layer, _flat_planes(layer, x), 2, window.strides[0])
    reach = window.depth_offsets[-1]
    amounts = (reach - window.pads[0], reach - window.pads[3] + extra[0])
    y = padded(layer, y, {2: amounts})
    places = window.depth_offsets[::-1]
    y = _stacked_slices(layer, y, places, 1, y.shape[2] - reach, group, x.shape[3:])
    flat = layer.reshape(weight, (group, c // group, outputs, *kernel))
    flat = layer.transpose(flat, (0, 3, 1, 2, 4, 5))
    flat = layer.reshape(flat, (c * kernel[0], outputs, *kernel[1:]))
    extra_2d = as_pair(extra[1:], 0)
    if isinstance(flat, Value):
        y = deconvolve_computed(layer, y, flat, window.flat(), group, extra_2d)
    else:
        flat = np.ascontiguousarray(flat)
        y = deconvolve(layer, y, flat, bias, window.flat(), group, extra_2d)
    return _from_images(layer, y, n)


def _flat_planes(layer: ImportedLayer, x: Value) -> Value:
    """[n, c, d, h * w] of x: [n, c, d, h, w]."""
    return layer.reshape(x, (*x.shape[:3], -1))


def _stacked_slices(
    layer: ImportedLayer,
    x: Value,
    offsets: Sequence[int],
    stride: int,
    depth: int,
    group: int,
    size: Sequence[int],
) -> Value:
    """Images [n * depth, c * taps, h, w] of x: [n, c, d, h * w]: image i of each batch has the
    slices at i * stride + place for each place, which are channels within each group.
    """
    if depth < 1:
        raise layer.unsupported("its kernel is deeper than its input")
    n, c = x.shape[:2]
    span = (depth - 1) * stride + 1
    slices = [
        layer.reshape(
            layer.value(sliced(layer, x, [(2, begin, begin + span, stride)])),
            (n, group, c // group, -1),
        )
        for begin in offsets
    ]
    y = layer.value(concat(layer, slices, axis=2))
    y = layer.reshape(y, (n, c * len(offsets), depth, -1))
    y = layer.transpose(y, (0, 2, 1, 3))
    return layer.reshape(y, (n * depth, c * len(offsets), *size))


def _from_images(layer: ImportedLayer, y: Value, n: int) -> Value:
    """[n, m, depth, h, w] of images [n * depth, m, h, w]."""
    (count, m), size = y.shape[:2], y.shape[2:]
    y = layer.transpose(layer.reshape(y, (n, count // n, m, -1)), (0, 2, 1, 3))
    return layer.reshape(y, (n, m, count // n, *size))
