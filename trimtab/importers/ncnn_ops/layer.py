"""What a handler sees of an ncnn layer: parameters, operands, weights, and how to add operators.

Blobs of ncnn lack the batch: a blob [c, h, w] is an operand [1, c, h, w], one of a single dimension
is [1, w]. Axes in files count without the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trimtab.importers._handled_layer import HandledLayer, Place
from trimtab.importers._handlers import Handlers
from trimtab.importers._layers import Array, Value
from trimtab.importers._parameters import CommaSeparated
from trimtab.importers.ncnn_ops.param import LayerText
from trimtab.importers.vocabulary import activation
from trimtab.importers.vocabulary.functions import Function

if TYPE_CHECKING:
    from trimtab.importers.ncnn_ops.network import BlobImport

# What files say where a number is left out.
NONE = -233

# What follows a convolution or a product, by number: a function, and how many numbers it takes.
_FUSED: dict[int, tuple[str | Callable[..., Value], int]] = {
    1: ("relu", 0),
    2: ("leaky_relu", 1),
    3: ("clip", 2),
    4: ("sigmoid", 0),
    5: ("mish", 0),
    6: (activation.hard_swish, 2),
}


class Layer(HandledLayer):
    """One layer while it is imported."""

    def __init__(self, work: BlobImport, text: LayerText) -> None:
        title = f"'{text.name}' ({text.type}), line {text.line}"
        names = text.type, text.name, text.bottoms, text.tops
        super().__init__(work, *names, where=text.where, title=title)
        self._weights = work.weights
        self.param = text

    def check_unread(self) -> None:
        """Refuses parameters that a handler does not know: they may change the result."""
        if unread := self.param.unread():
            listed = ", ".join(f"{key}={value}" for key, value in unread.items())
            raise self.unsupported(f"its parameters {listed} are not known")

    def parameters(self) -> Mapping[str, Any]:
        """Its parameters by their numbers."""
        return {str(key): CommaSeparated(self.param.text(key)) for key in self.param.params}

    def is_harmless(self, name: str) -> bool:
        """Whether a parameter is a hint, or 0."""
        return self.param.is_harmless(int(name))

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """The next weights, with a tag."""
        return self.weights(shape, what)

    def real(self, name: int, default: float | None = None) -> float:
        """A real parameter."""
        return self.param.real(name, default or 0.0)

    # Operands.

    def image(self, place: Place = 0) -> Value:
        """An operand that must be [1, c, h, w]."""
        x = self.x(place)
        if len(x.shape) != 4:
            raise self.unsupported(f"its input has {len(x.shape) - 1} dimensions, not 3")
        return x

    def blob_axis(self, axis: int, rank: int | None = None) -> int:
        """A dimension of the first operand (of one of `rank`) for an axis as ncnn counts."""
        dims = (len(self.x().shape) if rank is None else rank) - 1
        if not -dims <= axis < dims:
            raise self.invalid(f"axis {axis} is outside {dims} dimensions")
        return axis % dims + 1

    def weights(self, shape: Sequence[int], role: str, *, integers: bool = False) -> Array:
        """The next weights, with a tag: float32, or int8 where `integers` are allowed."""
        return self._weights.tagged(shape, f"{self.where}: {role}", integers=integers)

    def raw_weights(self, shape: Sequence[int], role: str) -> Array:
        """The next weights, without a tag."""
        return self._weights.raw(shape, f"{self.where}: {role}")

    # What becomes of it.

    def activate(self, x: Value) -> Value:
        """What parameters 9 and 10 ask for behind a convolution or a product."""
        kind, numbers = self.param.integer(9, 0), self.param.reals(10)
        if kind == 0:
            return x
        if kind not in _FUSED:
            raise self.unsupported(f"its activation {kind} is not known")
        make, count = _FUSED[kind]
        if len(numbers) < count:
            raise self.invalid(f"activation {kind} has {len(numbers)} parameters")
        return Function(make, *numbers[:count])(self, x)


HANDLERS = Handlers[Layer](__name__)
handles = HANDLERS.handles
