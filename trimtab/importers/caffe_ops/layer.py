"""What a handler sees of a Caffe layer: parameters, operands, weights, and how to add operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._layers import Array, LayerImport, Value, Values
from trimtab.importers.caffe_ops.net import NetLayer
from trimtab.importers.caffe_ops.prototxt import Message

Handler = Callable[["Layer"], Values]

HANDLERS: dict[str, Handler] = {}

# Fields that concern training, or on which hardware a layer runs.
HARMLESS = frozenset(
    ("engine", "force_nd_im2col", "stable_prod_grad", "cudnn_convolution_algo_seeker")
)


def handles(*types: str) -> Callable[[Handler], Handler]:
    """Registers the decorated function as the handler of these layer types."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(types, handler))
        return handler

    return register


class Layer(HandledLayer):
    """One layer while it is imported; `bottoms` are its operands.

    `masks`: the windows of pools whose second tops say where the maxima were, by the name of that
    top; its value is what the pool read.
    """

    def __init__(
        self,
        work: LayerImport,
        layer: NetLayer,
        bottoms: Sequence[Value],
        blobs: Sequence[Array],
        masks: dict[str, dict[str, Any]],
    ) -> None:
        super().__init__(work, layer.name, layer.where)
        self.type = layer.type
        self._message = layer.message
        self._blobs = blobs
        self._touched: list[tuple[str, Message]] = []
        self.bottoms = tuple(bottoms)
        self.bottom_names, self.tops = layer.bottoms, layer.tops
        self.masks = masks

    def param(self, name: str) -> Message:
        """The layer's message of parameters, empty when it has none."""
        message = self._message.message(name)
        self._touched.append((name, message))
        return message

    def check_unread(self) -> None:
        """Refuses parameters that a handler does not know: they may change the result."""
        for name, message in self._touched:
            for field in message.unread():
                if field not in HARMLESS and not field.endswith("filler"):
                    raise self.unsupported(f"'{field}' in {name} is not known")

    # Operands.

    def x(self, i: int = 0) -> Value:
        """Operand `i`."""
        if i >= len(self.bottoms):
            raise ImportModelError(
                f"it has {len(self.bottoms)} bottoms, {i + 1} are needed", where=self.where
            )
        return self.bottoms[i]

    def image(self, i: int = 0) -> Value:
        """Operand `i`, which must be [n, c, h, w]."""
        x = self.x(i)
        if len(x.shape) != 4:
            raise self.unsupported(f"its input has {len(x.shape)} dimensions, not 4")
        return x

    def axis(self, axis: int, rank: int | None = None) -> int:
        """`axis` counted from the front; of the first operand unless a rank is given."""
        rank = len(self.x().shape) if rank is None else rank
        if not -rank <= axis < rank:
            raise ImportModelError(f"axis {axis} is outside {rank} dimensions", where=self.where)
        return axis % rank

    @property
    def blob_count(self) -> int:
        """Number of weight blobs."""
        return len(self._blobs)

    def blob(self, i: int, shape: Sequence[int], role: str) -> Array:
        """Weights, in the shape that the layer's parameters ask for."""
        if not self._blobs:
            raise ImportModelError(
                "its weights are missing",
                where=self.where,
                hint="put the .caffemodel that belongs to the network beside it, under the same"
                " name; layers are found by their names",
            )
        if i >= len(self._blobs):
            raise ImportModelError(
                f"it has {len(self._blobs)} weight blobs, its {role} is missing", where=self.where
            )
        blob = self._blobs[i]
        if any(n < 1 for n in shape) or blob.size != np.prod(shape, dtype=object):
            raise ImportModelError(
                f"its {role} has shape {list(blob.shape)}, expected {list(shape)}",
                where=self.where,
                hint="the network and its weights do not fit together",
            )
        return blob.reshape(shape)
