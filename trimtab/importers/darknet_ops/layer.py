"""A Darknet layer during its import: options, operands and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.errors import ImportModelError
from trimtab.importers._graph import Array, ImportGraph, Value
from trimtab.importers._handlers import Handlers
from trimtab.importers._layer import ImportedLayer, Place
from trimtab.importers._parameters import CommaSeparated
from trimtab.importers.darknet_ops.cfg import CfgSection
from trimtab.importers.darknet_ops.weights import DarknetWeights
from trimtab.importers.vocabulary.window import Pair

INPUT = -1  # the index of the network's input

# The option that lists the indices of other layers to read, by layer type.
_SOURCES = {
    "route": "layers",
    "shortcut": "from",
    "scale_channels": "from",
    "sam": "from",
    "shift_channels": "from",
    "control_channels": "from",
}

# Layers that read no other one.
_SOURCELESS = ("implicit_add", "implicit_mul")


class DarknetLayer(ImportedLayer):
    """One layer. The key of its output is its `index`, counted from 0.

    `input_size`: height and width of the network's input.
    """

    def __init__(
        self,
        graph: ImportGraph,
        section: CfgSection,
        index: int,
        input_size: Pair,
        weights: DarknetWeights,
    ) -> None:
        name = f"{section.type}_{index}"
        where = f"{section.where}: {name}"
        listed = _listed_sources(section, index, where)
        reads_previous = section.type not in ("route", *_SOURCELESS)
        sources = [index - 1, *listed] if reads_previous else listed
        title = f"{name}, line {section.line}"
        super().__init__(graph, section.type, name, sources, [index], where=where, title=title)
        self._weights = weights
        self.options = section
        self.input_size = input_size

    def value_name(self, key: object) -> str:
        """The name of the layer, which is also the name of its output."""
        return self.name

    def listed_operands(self) -> list[Value]:
        """The outputs of the layers that the section lists."""
        return [self.image(i) for i in range(self.type != "route", len(self.inputs))]

    # Options and weights.

    def parameters(self) -> Mapping[str, Any]:
        """The options of the section."""
        return {name: CommaSeparated(text) for name, text in self.options.options.items()}

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """The next weights of the file."""
        return self.weights(tuple(shape), what)

    def positive(self, name: str, default: int) -> int:
        """An integer option that must be positive."""
        value = self.options.integer(name, default)
        if value < 1:
            raise self.invalid(f"'{name}' is {value}, it must be positive")
        return value

    def reject(self, *names: str) -> None:
        """Rejects options that change the result, unless they are 0."""
        for name in names:
            if self.options.text(name, "0") not in ("0", "none"):
                raise self.unsupported(f"it has {name}={self.options.text(name, '')}")

    def weights(self, shape: tuple[int, ...], role: str) -> Array:
        """The next weights of the file."""
        return self._weights.take(shape, f"{self.where}: {role}")

    @property
    def transposed_weights(self) -> bool:
        """Whether fully connected layers store their matrix as [inputs, outputs]."""
        return self._weights.transposed


HANDLERS = Handlers[DarknetLayer](__name__)
handles = HANDLERS.handles


def _listed_sources(section: CfgSection, index: int, where: str) -> list[int]:
    """The indices of the layers that a section lists; negative ones count back from `index`."""
    option = _SOURCES.get(section.type)
    if option is None:
        return []
    listed = section.integers(option)
    sources = [i + index if i < 0 else i for i in listed]
    if not listed or any(not 0 <= i < index for i in sources):
        raise ImportModelError(
            f"'{option}' is {listed or 'missing'}, the layers before it are 0 to {index - 1}",
            where=where,
            hint="check that no section is missing before this one",
        )
    return sources
