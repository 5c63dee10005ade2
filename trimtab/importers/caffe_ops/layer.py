"""A Caffe layer during its import: parameters, operands and weights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.importers._graph import Array, ImportGraph, Operand, Value
from trimtab.importers._handlers import Handlers
from trimtab.importers._layer import ImportedLayer, Place
from trimtab.importers.caffe_ops.contract import BlobCounts
from trimtab.importers.caffe_ops.filler import Filler
from trimtab.importers.caffe_ops.net import TRAIN, NetLayer
from trimtab.importers.caffe_ops.prototxt import Message
from trimtab.importers.caffe_ops.spec import message_of

# Fields for training, or for the choice of hardware.
HARMLESS = frozenset(
    ("engine", "force_nd_im2col", "stable_prod_grad", "cudnn_convolution_algo_seeker")
)

# Parameter messages that every layer may have and that never change its result.
_GENERAL = frozenset(("loss_param", "transform_param"))


@dataclass
class Phase:
    """The phase of an import, and what its layers have found.

    `masks`: max pools whose second top is the position of the maxima: pool attributes by that top.
    For training: `dropout`, the ratio by operator, whose result has that share of zeros;
    `statistics`, the share of running statistics that a step keeps, by batch normalization;
    `blocked`, operators that copy bottoms without `propagate_down`.
    """

    name: str
    masks: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    dropout: dict[str, float] = dataclasses.field(default_factory=dict)
    statistics: dict[str, float] = dataclasses.field(default_factory=dict)
    blocked: list[str] = dataclasses.field(default_factory=list)

    @property
    def is_training(self) -> bool:
        """Whether layers are those of the TRAIN phase."""
        return self.name == TRAIN


class CaffeLayer(ImportedLayer):
    """One layer of a network."""

    def __init__(
        self,
        graph: ImportGraph,
        layer: NetLayer,
        blobs: Sequence[Array],
        phase: Phase,
        filler: Filler | None,
    ) -> None:
        super().__init__(
            graph,
            _type(layer),
            layer.name,
            layer.bottoms,
            layer.tops,
            where=layer.where,
            title=f"{layer.title}, line {layer.line}",
        )
        self._message = layer.message
        self._blobs = blobs
        self._read: list[tuple[str, Message]] = []
        self.phase = phase
        self._filler = filler

    @property
    def param(self) -> Message:
        """The parameters of the layer; empty if they are absent."""
        name = message_of(self.type)
        message = self._message.message(name)
        self._read.append((name, message))
        return message

    def check_contract(self, counts: BlobCounts | None) -> None:
        """Rejects other numbers of bottoms and tops, before any set-up; None: those of a plug-in.

        Fields that are given once per bottom or per top must be complete.
        """
        if counts and (problem := counts.problem(len(self.inputs), len(self.outputs))):
            raise self._broken(problem)
        for field, values in (("propagate_down", self.inputs), ("loss_weight", self.outputs)):
            count = len(self._message.texts(field))
            if count not in (0, len(values)):
                raise self._broken(f"it has {count} values of '{field}', not {len(values)}")
        shared = set(self.inputs) & set(self.outputs)
        if counts and not counts.in_place and shared:
            raise self._broken("it cannot work in place: give its top a name of its own")

    def _broken(self, problem: str) -> ImportModelError:
        return ImportModelError(
            problem, where=self.where, hint="correct its bottoms and tops in the .prototxt"
        )

    def check_unread(self) -> None:
        """Rejects fields that the handler did not read, because they may change the result."""
        for name, message in self._read:
            for field in message.unread():
                if not self.is_harmless(field):
                    raise self.unsupported(f"'{field}' in {name} is not known")

    def parameters(self) -> Mapping[str, Any]:
        """The fields of all parameter messages; `message.field` if several messages have it."""
        fields: dict[str, Any] = {}
        for message, values in self._message.data().items():
            if message.endswith("_param") and message not in _GENERAL:
                for name, value in values.items():
                    fields[name if name not in fields else f"{message}.{name}"] = value
        return fields

    def is_harmless(self, name: str) -> bool:
        """Whether a field is for training, or for the choice of hardware."""
        field = name.rpartition(".")[2]
        return field in HARMLESS or field.endswith("filler")

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """The weight blob with index `place`."""
        assert isinstance(place, int)
        return self.blob(place, shape, what)

    def real(self, name: str, default: float | None = None) -> float:
        """A floating-point parameter."""
        return self.param.real(name, default or 0.0)

    def operand(self, place: Place = 0) -> Operand:
        """An operand; only Upsample may read a mask."""
        if self.type != "Upsample" and self.key(place) in self.phase.masks:
            raise self.unsupported("it reads the positions of a pool's maxima")
        operand = super().operand(place)
        propagated = self._message.booleans("propagate_down") if self.phase.is_training else []
        assert isinstance(place, int)
        if all(propagated[place : place + 1]) or not isinstance(operand, Value):
            return operand
        name = f"{self.name}.blocked_{place}"
        self.phase.blocked.append(name)
        return self._graph.add_op("reshape", (operand,), {"shape": operand.shape}, 1, name)[0]

    @property
    def blob_count(self) -> int:
        """Number of weight blobs of the file."""
        return len(self._blobs)

    def blob(self, i: int, shape: Sequence[int], role: str) -> Array:
        """Weight blob `i` in the shape that follows from the layer's parameters."""
        if not self._blobs and self._filler:
            self._graph.budget.check_bytes(4 * math.prod(shape), self.where)
            return self._filler.draw(self._message, self.name, i, shape)
        if not self._blobs:
            raise ImportModelError(
                "its weights are missing",
                where=self.where,
                hint="put the .caffemodel of this network beside it, under the same name; it must"
                " have a layer of this name",
            )
        if i >= len(self._blobs):
            raise self.invalid(f"it has {len(self._blobs)} weight blobs, its {role} is missing")
        blob = self._blobs[i]
        if any(n < 1 for n in shape) or blob.size != np.prod(shape, dtype=object):
            raise ImportModelError(
                f"its {role} has shape {list(blob.shape)}, expected {list(shape)}",
                where=self.where,
                hint="use the .caffemodel that belongs to this .prototxt",
            )
        return blob.reshape(shape)


def _type(layer: NetLayer) -> str:
    """The layer type; a layer in Python adds its class, such as Python.ProposalLayer."""
    if layer.type != "Python":
        return layer.type
    return f"Python.{layer.message.message('python_param').text('layer')}"


HANDLERS = Handlers[CaffeLayer](__name__)
handles = HANDLERS.handles
