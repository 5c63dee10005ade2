"""What a handler sees of a Caffe layer: parameters, operands, weights, and how to add operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.importers._handled_layer import HandledLayer, Place
from trimtab.importers._handlers import Handlers
from trimtab.importers._layers import Array, Operand
from trimtab.importers.caffe_ops.net import NetLayer
from trimtab.importers.caffe_ops.prototxt import Message

if TYPE_CHECKING:
    from trimtab.importers.caffe_ops.network import NetImport

# Fields that concern training, or on which hardware a layer runs.
HARMLESS = frozenset(
    ("engine", "force_nd_im2col", "stable_prod_grad", "cudnn_convolution_algo_seeker")
)


# Messages of parameters that every layer may have, none of which changes what it computes.
_GENERAL = frozenset(("loss_param", "transform_param"))


class Layer(HandledLayer):
    """One layer while it is imported."""

    def __init__(self, work: NetImport, layer: NetLayer) -> None:
        super().__init__(
            work,
            _type(layer),
            layer.name,
            layer.bottoms,
            layer.tops,
            where=layer.where,
            title=f"{layer.title}, line {layer.line}",
        )
        self._message = layer.message
        self._blobs = work.blobs.get(layer.name, ())
        self._touched: list[tuple[str, Message]] = []
        self.masks = work.masks

    def param(self, name: str) -> Message:
        """The layer's message of parameters, empty when it has none."""
        message = self._message.message(name)
        self._touched.append((name, message))
        return message

    def check_unread(self) -> None:
        """Refuses parameters that a handler does not know: they may change the result."""
        for name, message in self._touched:
            for field in message.unread():
                if not self.is_harmless(field):
                    raise self.unsupported(f"'{field}' in {name} is not known")

    def parameters(self) -> Mapping[str, Any]:
        """The fields of its messages of parameters, whatever their names; one that several have is
        called `message.field`.
        """
        found: dict[str, Any] = {}
        for message, values in self._message.data().items():
            if message.endswith("_param") and message not in _GENERAL:
                for name, value in values.items():
                    found[name if name not in found else f"{message}.{name}"] = value
        return found

    def is_harmless(self, name: str) -> bool:
        """Whether a field concerns training, or on which hardware a layer runs."""
        field = name.rpartition(".")[2]
        return field in HARMLESS or field.endswith("filler")

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """The blob of that number."""
        assert isinstance(place, int)
        return self.blob(place, shape, what)

    def real(self, name: str, default: float | None = None) -> float:
        """A real number in a message of parameters: `message.field`."""
        message, _, field = name.partition(".")
        return self.param(message).real(field, default or 0.0)

    def operand(self, place: Place = 0) -> Operand:
        """An operand, which is no mask but where one is expected."""
        if self.type != "Upsample" and self.key(place) in self.masks:
            raise self.unsupported("it reads where a pool found its maxima")
        return super().operand(place)

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
            raise self.invalid(f"it has {len(self._blobs)} weight blobs, its {role} is missing")
        blob = self._blobs[i]
        if any(n < 1 for n in shape) or blob.size != np.prod(shape, dtype=object):
            raise ImportModelError(
                f"its {role} has shape {list(blob.shape)}, expected {list(shape)}",
                where=self.where,
                hint="the network and its weights do not fit together",
            )
        return blob.reshape(shape)


def _type(layer: NetLayer) -> str:
    """The type of a layer; of one that is written in Python, which it is: Python.ProposalLayer."""
    if layer.type != "Python":
        return layer.type
    return f"Python.{layer.message.message('python_param').text('layer')}"


HANDLERS = Handlers[Layer](__name__)
handles = HANDLERS.handles
