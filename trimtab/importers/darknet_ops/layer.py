"""What a handler sees of a Darknet layer: options, operands, weights, and how to add operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trimtab.errors import ImportModelError
from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._layers import Array, LayerImport, Value
from trimtab.importers.darknet_ops.cfg import Section
from trimtab.importers.darknet_ops.weights import Weights

Handler = Callable[["Layer"], Value]

HANDLERS: dict[str, Handler] = {}

# Options by which a layer names others, by layer type.
_SOURCES = {
    "route": "layers",
    "shortcut": "from",
    "scale_channels": "from",
    "sam": "from",
}


def handles(*types: str) -> Callable[[Handler], Handler]:
    """Registers the decorated function as the handler of these section types."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(types, handler))
        return handler

    return register


class Layer(HandledLayer):
    """One layer while it is imported: `index` counts from the first one, `image` is the height and
    width of the network's input.
    """

    def __init__(
        self,
        work: LayerImport,
        section: Section,
        index: int,
        before: Value | None,
        image: tuple[int, int],
        values: Sequence[Value | None],
        weights: Weights,
    ) -> None:
        name = f"{section.type}_{index}"
        super().__init__(work, name, f"{section.where}: {name}")
        self._before = before
        self._values = values
        self._weights = weights
        self.options = section
        self.index = index
        self.image = image

    # Operands.

    @property
    def x(self) -> Value:
        """The layer before, [n, c, h, w]."""
        return self._known(self._before)

    def named(self) -> list[int]:
        """Indices of the layers that this one names; negative ones count back from it."""
        option = _SOURCES.get(self.options.type)
        if option is None:
            return []
        found = self.options.integers(option)
        result = [i + self.index if i < 0 else i for i in found]
        if not found or any(not 0 <= i < self.index for i in result):
            raise ImportModelError(
                f"'{option}' is {found or 'missing'}, there are layers 0 to {self.index - 1}",
                where=self.where,
                hint="check that no section before it is lost",
            )
        return result

    def sources(self) -> list[int]:
        """Indices of all layers that this one reads; -1 is the input."""
        named = self.named()
        return named if self.options.type == "route" else [self.index - 1, *named]

    def sides(self) -> list[Value]:
        """Operands that the layer names."""
        return [self._known(self._values[i]) for i in self.named()]

    def _known(self, value: Value | None) -> Value:
        if value is None or len(value.shape) != 4:
            raise self.unsupported("it reads what is not an image")
        return value

    # Options and weights.

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
