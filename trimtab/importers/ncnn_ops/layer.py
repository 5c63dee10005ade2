"""What a handler sees of an ncnn layer: parameters, operands, weights, and how to add operators.

Blobs of ncnn lack the batch: a blob [c, h, w] is an operand [1, c, h, w], one of a single dimension
is [1, w]. Axes in files count without the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trimtab.errors import ImportModelError
from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._layers import Array, LayerImport, Value, Values
from trimtab.importers.ncnn_ops.param import LayerText
from trimtab.importers.ncnn_ops.weights import Weights

Handler = Callable[["Layer"], Values]

HANDLERS: dict[str, Handler] = {}

# What files say where a number is left out.
NONE = -233


def handles(*types: str) -> Callable[[Handler], Handler]:
    """Registers the decorated function as the handler of these layer types."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(types, handler))
        return handler

    return register


class Layer(HandledLayer):
    """One layer while it is imported; `bottoms` are its operands."""

    def __init__(
        self, work: LayerImport, text: LayerText, bottoms: Sequence[Value], weights: Weights
    ) -> None:
        super().__init__(work, text.name, text.where)
        self.type = text.type
        self._weights = weights
        self.param = text
        self.bottoms = tuple(bottoms)
        self.tops = len(text.tops)

    def check_unread(self) -> None:
        """Refuses parameters that a handler does not know: they may change the result."""
        if unread := self.param.unread():
            listed = ", ".join(f"{key}={value}" for key, value in unread.items())
            raise self.unsupported(f"its parameters {listed} are not known")

    # Operands.

    def x(self, i: int = 0) -> Value:
        """Operand `i`."""
        if i >= len(self.bottoms):
            raise ImportModelError(
                f"it has {len(self.bottoms)} inputs, {i + 1} are needed", where=self.where
            )
        return self.bottoms[i]

    def image(self, i: int = 0) -> Value:
        """Operand `i`, which must be [1, c, h, w]."""
        x = self.x(i)
        if len(x.shape) != 4:
            raise self.unsupported(f"its input has {len(x.shape) - 1} dimensions, not 3")
        return x

    def axis(self, axis: int, rank: int | None = None) -> int:
        """A dimension of the first operand (of one of `rank`) for an axis as ncnn counts."""
        dims = (len(self.x().shape) if rank is None else rank) - 1
        if not -dims <= axis < dims:
            raise self.invalid(f"axis {axis} is outside {dims} dimensions")
        return axis % dims + 1

    def channelwise(self, values: Array) -> Array:
        """Values per channel, spread over the dimensions behind the channels."""
        return values.reshape(-1, *[1] * (len(self.x().shape) - 2))

    def weights(self, shape: Sequence[int], role: str) -> Array:
        """The next weights, with a tag."""
        return self._weights.tagged(shape, f"{self.where}: {role}")

    def raw_weights(self, shape: Sequence[int], role: str) -> Array:
        """The next weights, without a tag."""
        return self._weights.raw(shape, f"{self.where}: {role}")

    # What becomes of it.

    def activate(self, x: Value) -> Value:
        """What parameters 9 and 10 ask for behind a convolution or a product."""
        kind, p = self.param.integer(9, 0), self.param.reals(10)
        if len(p) < {2: 1, 3: 2, 6: 2}.get(kind, 0):
            raise self.invalid(f"activation {kind} has {len(p)} parameters")
        if kind == 0:
            return x
        if kind == 1:
            return self.add("relu", x)
        if kind == 2:
            return self.add("leaky_relu", x, alpha=p[0])
        if kind == 3:
            return self.add("clip", x, alpha=p[0], beta=p[1])
        if kind == 4:
            return self.add("sigmoid", x)
        if kind == 5:
            return self.add("mish", x)
        if kind == 6:
            return self.hard_swish(x, p[0], p[1])
        raise self.unsupported(f"its activation {kind} is not known")

    def hard_swish(self, x: Value, alpha: float, beta: float) -> Value:
        """x clamp(alpha x + beta, 0, 1)."""
        if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
            return self.add("hard_swish", x)
        return self.add("mul", x, self.add("hard_sigmoid", x, alpha=alpha, beta=beta))
