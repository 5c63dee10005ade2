"""What a tensor of a TFLite file can stand for.

TFLite's images are [n, h, w, c], the engine's [n, c, h, w]. A tensor of the file can stand for a
value of the program in either form: as the file has it, or as an image of the engine. Handlers
take the form that they need, and those that do not mind the form that is there, so that only what
borders on the file's order is transposed.
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
    """A value [n, c, h, w] that stands for a tensor [n, h, w, c]."""

    value: Value

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor that it stands for."""
        return tuple(self.value.shape[i] for i in TO_CHANNELS_LAST)

    def made(self, layer: ImportedLayer) -> Value:
        """The tensor that it stands for."""
        return layer.transpose(self.value, TO_CHANNELS_LAST)


@dataclass(frozen=True)
class Blocks:
    """An image [n, c, h, w], once it is padded, that stands for many images: one for every place in
    a block, [n * block, h / block, w / block, c]. A convolution of these is a dilated one of it.

    `pads`: top, left, bottom, right.
    """

    value: Value
    block: tuple[int, int]
    pads: tuple[int, int, int, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor that it stands for."""
        n, c, h, w = self.value.shape
        top, left, bottom, right = self.pads
        rows, columns = self.block
        return rows * columns * n, (h + top + bottom) // rows, (w + left + right) // columns, c

    def made(self, layer: ImportedLayer) -> Value:
        """The tensor that it stands for."""
        top, left, bottom, right = self.pads
        x = layer.transpose(self.value, TO_CHANNELS_LAST)
        if any(self.pads):
            x = layer.add("pad", x, pads=(0, top, left, 0, 0, bottom, right, 0))
        _, h, w, c = self.shape
        rows, columns = self.block
        x = layer.reshape(x, (self.value.shape[0], h, rows, w, columns, c))
        return layer.reshape(layer.transpose(x, (2, 4, 0, 1, 3, 5)), self.shape)


Form = Operand | NchwImage | Blocks
Results = Form | tuple[Form, ...]


def value_of(found: Form) -> Operand:
    """What a tensor stands for, in the form that is there."""
    return found.value if isinstance(found, (NchwImage, Blocks)) else found


def with_value(found: Form, value: Value) -> Form:
    """Another value in the same form."""
    return replace(found, value=value) if isinstance(found, (NchwImage, Blocks)) else value


def form(value: Value, image: bool) -> Form:
    """The result of a handler that kept the form of its operand."""
    return NchwImage(value) if image else value


class Forms:
    """Both forms of tensors, each made once; `values` are those that they were given."""

    def __init__(self, values: Mapping[Any, Form]) -> None:
        self._values = values
        self._plain: dict[Hashable, Value] = {}
        self._images: dict[Hashable, Value] = {}

    def forget(self, keys: Iterable[Hashable]) -> None:
        """Tensors are written anew."""
        for key in keys:
            self._plain.pop(key, None)
            self._images.pop(key, None)

    def plain(self, key: Hashable, layer: ImportedLayer) -> Operand:
        """A tensor as the file has it."""
        found = self._values[key]
        if not isinstance(found, (NchwImage, Blocks)):
            return found
        if key not in self._plain:
            self._plain[key] = found.made(layer)
        return self._plain[key]

    def is_image(self, key: Hashable) -> bool:
        """Whether a tensor is there as an image already."""
        return isinstance(self._values[key], NchwImage) or key in self._images

    def image(self, key: Hashable, layer: ImportedLayer) -> Value:
        """A tensor of four dimensions as an image of the engine."""
        found = self._values[key]
        if isinstance(found, NchwImage):
            return found.value
        if key not in self._images:
            x = self.plain(key, layer)
            if len(x.shape) != 4:
                raise layer.unsupported(f"its input has {len(x.shape)} dimensions, not 4")
            turned = layer.transpose(x, TO_CHANNELS_FIRST)
            if isinstance(turned, np.ndarray):
                return layer.value(np.ascontiguousarray(turned))
            self._images[key] = turned
        return self._images[key]
