"""The forms of a value during the import of a TFLite file.

TFLite's images are [n, h, w, c], the engine's are [n, c, h, w]. A tensor of the file has one of two
forms in the program: the file's layout, or an image of the engine. Handlers request the form that
they need, or keep the current one, so that few transpositions are necessary.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.movement import TO_CHANNELS_FIRST, TO_CHANNELS_LAST


@dataclass(frozen=True)
class NchwImage:
    """A tensor [n, h, w, c] of the file in the form [n, c, h, w]."""

    value: Value

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in the file."""
        return tuple(self.value.shape[i] for i in TO_CHANNELS_LAST)

    def to_plain(self, layer: ImportedLayer) -> Value:
        """Adds the tensor in the file's layout."""
        return layer.transpose(self.value, TO_CHANNELS_LAST)


@dataclass(frozen=True)
class Blocks:
    """The result of SPACE_TO_BATCH_ND, before it is computed: an image [n, c, h, w] to be padded
    and split into one image per position in a block, [n * block, h / block, w / block, c].

    A convolution of these images is a dilated convolution of `value`. `pads`: top, left, bottom,
    right.
    """

    value: Value
    block: tuple[int, int]
    pads: tuple[int, int, int, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in the file."""
        n, c, h, w = self.value.shape
        top, left, bottom, right = self.pads
        rows, columns = self.block
        return rows * columns * n, (h + top + bottom) // rows, (w + left + right) // columns, c

    def to_plain(self, layer: ImportedLayer) -> Value:
        """Adds the tensor in the file's layout."""
        top, left, bottom, right = self.pads
        x = layer.transpose(self.value, TO_CHANNELS_LAST)
        if any(self.pads):
            x = layer.add("pad", x, pads=(0, top, left, 0, 0, bottom, right, 0))
        _, h, w, c = self.shape
        rows, columns = self.block
        x = layer.reshape(x, (self.value.shape[0], h, rows, w, columns, c))
        return layer.reshape(layer.transpose(x, (2, 4, 0, 1, 3, 5)), self.shape)


@dataclass(frozen=True)
class Complex:
    """A tensor of complex numbers, of which the program has two parts."""

    real: Value
    imaginary: Value

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in the file."""
        return tuple(self.real.shape)


Form = Operand | NchwImage | Blocks
Results = Form | tuple[Form, ...]


def value_of(form: Form) -> Operand:
    """The value of a form."""
    return form.value if isinstance(form, (NchwImage, Blocks)) else form


def with_value(form: Form, value: Value) -> Form:
    """Another value in the same form."""
    return replace(form, value=value) if isinstance(form, (NchwImage, Blocks)) else value


def form(value: Value, image: bool) -> Form:
    """The result of a handler that keeps the form of its operand."""
    return NchwImage(value) if image else value


class Forms:
    """Converts the `values` of tensors to both forms, each at most once."""

    def __init__(self, values: Mapping[Any, Form]) -> None:
        self._values = values
        self._plain: dict[Hashable, Value] = {}
        self._images: dict[Hashable, Value] = {}

    def forget(self, keys: Iterable[Hashable]) -> None:
        """Drops the converted forms of tensors that are redefined."""
        for key in keys:
            self._plain.pop(key, None)
            self._images.pop(key, None)

    def plain(self, key: Hashable, layer: ImportedLayer) -> Operand:
        """A tensor in the file's layout."""
        value = self._values[key]
        if isinstance(value, Complex):
            raise layer.unsupported("its operand is complex")
        if not isinstance(value, (NchwImage, Blocks)):
            return value
        if key not in self._plain:
            self._plain[key] = value.to_plain(layer)
        return self._plain[key]

    def is_image(self, key: Hashable) -> bool:
        """Whether a tensor already has the form of an image."""
        return isinstance(self._values[key], NchwImage) or key in self._images

    def image(self, key: Hashable, layer: ImportedLayer) -> Value:
        """A tensor of four dimensions as an image of the engine."""
        value = self._values[key]
        if isinstance(value, NchwImage):
            return value.value
        if key not in self._images:
            x = self.plain(key, layer)
            if len(x.shape) != 4:
                raise layer.unsupported(f"its input has {len(x.shape)} dimensions, not 4")
            transposed = layer.transpose(x, TO_CHANNELS_FIRST)
            if isinstance(transposed, np.ndarray):
                return layer.value(np.ascontiguousarray(transposed))
            self._images[key] = transposed
        return self._images[key]
