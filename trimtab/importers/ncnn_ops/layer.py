"""An ncnn layer during its import: parameters, operands and weights.

Blobs of ncnn have no batch: a blob [c, h, w] is an operand [1, c, h, w], and a one-dimensional blob
is [1, w]. Axes in files do not count the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trimtab.importers._graph import Array, ImportGraph, Value
from trimtab.importers._handlers import Handlers
from trimtab.importers._layer import ImportedLayer, Place
from trimtab.importers._parameters import CommaSeparated
from trimtab.importers.ncnn_ops.param import ParamLayer
from trimtab.importers.ncnn_ops.weights import NcnnWeights
from trimtab.importers.vocabulary import activation
from trimtab.importers.vocabulary.functions import Function

NONE = -233
"""The number that ncnn writes for an absent value."""

# Fused activations by number: the function, and how many parameters it takes.
_FUSED: dict[int, tuple[str | Callable[..., Value], int]] = {
    1: ("relu", 0),
    2: ("leaky_relu", 1),
    3: ("clip", 2),
    4: ("sigmoid", 0),
    5: ("mish", 0),
    6: (activation.hard_swish, 2),
}


class NcnnLayer(ImportedLayer):
    """One layer of a .param file."""

    def __init__(self, graph: ImportGraph, param: ParamLayer, weights: NcnnWeights) -> None:
        title = f"'{param.name}' ({param.type}), line {param.line}"
        names = param.type, param.name, param.bottoms, param.tops
        super().__init__(graph, *names, where=param.where, title=title)
        self._weights = weights
        self.param = param

    def check_unread(self) -> None:
        """Rejects parameters that the handler did not read, because they may change the result."""
        if unread := self.param.unread():
            listed = ", ".join(f"{key}={value}" for key, value in unread.items())
            raise self.unsupported(f"its parameters {listed} are not known")

    def parameters(self) -> Mapping[str, Any]:
        """All parameters by number."""
        params = self.param.params
        self.param.read.update(params)
        return {str(key): CommaSeparated(",".join(values)) for key, values in params.items()}

    def is_harmless(self, name: str) -> bool:
        """Whether a parameter is a hint, or 0."""
        return self.param.is_harmless(int(name))

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """The next weights, with a tag."""
        return self.weights(shape, what)

    def real(self, name: str, default: float | None = None) -> float:
        """A floating-point parameter."""
        return self.param.real(name, default or 0.0)

    # Operands.

    def image(self, place: Place = 0) -> Value:
        """An operand that must have the shape [1, c, h, w]."""
        x = self.x(place)
        if len(x.shape) != 4:
            raise self.unsupported(f"its input has {len(x.shape) - 1} dimensions, not 3")
        return x

    def blob_axis(self, axis: int, rank: int | None = None) -> int:
        """The tensor's dimension for an axis of ncnn, by default for the first operand's rank."""
        dims = (len(self.x().shape) if rank is None else rank) - 1
        if not -dims <= axis < dims:
            raise self.invalid(f"axis {axis} is outside {dims} dimensions")
        return axis % dims + 1

    def weights(self, shape: Sequence[int], role: str, *, int8: bool = False) -> Array:
        """The next weights, with a tag: float32, or int8 if that is allowed."""
        return self._weights.tagged(shape, f"{self.where}: {role}", int8=int8)

    def raw_weights(self, shape: Sequence[int], role: str) -> Array:
        """The next weights, without a tag."""
        return self._weights.raw(shape, f"{self.where}: {role}")

    def activate(self, x: Value) -> Value:
        """Applies the fused activation."""
        kind = self.param.integer("activation_type", 0)
        numbers = self.param.reals("activation_params")
        if kind == 0:
            return x
        if kind not in _FUSED:
            raise self.unsupported(f"its activation {kind} is not known")
        function, count = _FUSED[kind]
        if len(numbers) < count:
            raise self.invalid(f"activation {kind} has {len(numbers)} parameters, not {count}")
        return Function(function, *numbers[:count])(self, x)


HANDLERS = Handlers[NcnnLayer](__name__)
handles = HANDLERS.handles
