"""What a handler sees of a Darknet layer: options, operands, weights, and how to add operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.errors import ImportModelError
from trimtab.importers._handled_layer import HandledLayer, Place
from trimtab.importers._handlers import Handlers
from trimtab.importers._layers import Array, LayerImport, Value
from trimtab.importers._parameters import CommaSeparated
from trimtab.importers.darknet_ops.cfg import Section
from trimtab.importers.darknet_ops.weights import Weights
from trimtab.importers.vocabulary.window import Pair

INPUT = -1  # as the index of a layer

# Options by which a layer names others, by layer type.
_SOURCES = {
    "route": "layers",
    "shortcut": "from",
    "scale_channels": "from",
    "sam": "from",
}


class Layer(HandledLayer):
    """One layer while it is imported: `index` counts from the first one, `picture` is the height
    and width of the network's input. Operands are known by the index of the layer that makes them.
    """

    def __init__(
        self, work: LayerImport, section: Section, index: int, picture: Pair, weights: Weights
    ) -> None:
        name = f"{section.type}_{index}"
        where = f"{section.where}: {name}"
        named = _named(section, index, where)
        sources = named if section.type == "route" else [index - 1, *named]
        title = f"{name}, line {section.line}"
        super().__init__(work, section.type, name, sources, [index], where=where, title=title)
        self._weights = weights
        self.options = section
        self.picture = picture

    def value_name(self, key: object) -> str:
        """A result is called as its layer."""
        return self.name

    # Operands.

    def image(self, place: Place = 0) -> Value:
        """An operand that must be [n, c, h, w]."""
        if len(self.x(place).shape) != 4:
            raise self.unsupported("it reads what is not an image")
        return self.x(place)

    def sides(self) -> list[Value]:
        """Operands that the layer names."""
        return [self.image(i) for i in range(self.type != "route", len(self.inputs))]

    # Options and weights.

    def parameters(self) -> Mapping[str, Any]:
        """Its options."""
        return {name: CommaSeparated(text) for name, text in self.options.options.items()}

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """The next weights of the file."""
        return self.weights(tuple(shape), what)

    def positive(self, name: str, default: int) -> int:
        """An option that must be positive."""
        value = self.options.integer(name, default)
        if value < 1:
            raise self.invalid(f"'{name}' is {value}")
        return value

    def refuse(self, *names: str) -> None:
        """Refuses options that change what a layer computes, unless they are 0."""
        for name in names:
            if self.options.text(name, "0") not in ("0", "none"):
                raise self.unsupported(f"it has {name}={self.options.text(name, '')}")

    def weights(self, shape: tuple[int, ...], role: str) -> Array:
        """The next weights of the file."""
        return self._weights.take(shape, f"{self.where}: {role}")

    @property
    def transposed_weights(self) -> bool:
        """Whether fully connected layers store their matrix [inputs, outputs]."""
        return self._weights.transposed


HANDLERS = Handlers[Layer](__name__)
handles = HANDLERS.handles


def _named(section: Section, index: int, where: str) -> list[int]:
    """Indices of the layers that a section names; negative ones count back from it."""
    option = _SOURCES.get(section.type)
    if option is None:
        return []
    found = section.integers(option)
    result = [i + index if i < 0 else i for i in found]
    if not found or any(not 0 <= i < index for i in result):
        raise ImportModelError(
            f"'{option}' is {found or 'missing'}, there are layers 0 to {index - 1}",
            where=where,
            hint="check that no section before it is lost",
        )
    return result
