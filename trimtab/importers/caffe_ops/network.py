"""Imports a Caffe network layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trimtab.errors import ImportModelError, ModelFileError
from trimtab.importers._files import read_text
from trimtab.importers._graph import Array
from trimtab.importers._inputs import Shapes, declared_inputs
from trimtab.importers._layer import ImportedLayer
from trimtab.importers._walk import NetworkImport
from trimtab.importers.caffe_ops import net, prototxt, weights
from trimtab.importers.caffe_ops.contract import counts_of
from trimtab.importers.caffe_ops.filler import Filler
from trimtab.importers.caffe_ops.layer import HANDLERS, CaffeLayer, Phase
from trimtab.importers.caffe_ops.prototxt import Message
from trimtab.program import Program

LIMIT_BYTES = 2**22  # of a .prototxt; Inception-ResNet has 0.4 MB


def load(text: Path, binary: Path | None, inputs: Shapes) -> Program:
    """The program of the .prototxt file `text`."""
    message = prototxt.parse(read_text(text, LIMIT_BYTES), str(text))
    blobs = weights.read(binary) if binary else {}
    walk = walk_layers(message, text, net.phase_of(message), inputs, blobs)
    hidden = net.silenced(message)
    return walk.finish({name: name for name in walk.unread_blobs if name not in hidden})


def walk_layers(
    message: Message,
    path: Path,
    phase: str,
    inputs: Shapes,
    blobs: Mapping[str, Sequence[Array]],
    filler: Filler | None = None,
) -> CaffeImport:
    """The layers of a network that run in a phase, imported one after the other. `filler` draws the
    blobs of layers that `blobs` lacks.
    """
    layers = net.layers(message, phase)
    if not layers:
        raise ModelFileError(
            "is not a Caffe network: it has no layers",
            where=str(path),
            hint="give the .prototxt of the network, not of its solver",
        )
    walk = CaffeImport(path, layers, phase)
    walk.budget.add_stored(sum(blob.nbytes for stored in blobs.values() for blob in stored))
    declared = {i.name: i.shape or None for i in net.inputs(message, layers)}
    for name, shape in declared_inputs(declared, inputs, str(path), fixed=False).items():
        walk.values[name] = walk.add_input(name, shape)
    for layer in layers:
        if layer.type not in net.DATA:
            walk.add(CaffeLayer(walk, layer, blobs.get(layer.name, ()), walk.phase, filler))
    return walk


class CaffeImport(NetworkImport):
    """Values are blobs by name; an in-place layer redefines the name of its input.

    The value of a mask is the input of its pool.
    """

    input_word = "bottom"

    def __init__(self, path: Path, layers: list[net.NetLayer], phase: str) -> None:
        super().__init__(path, HANDLERS, len(layers))
        self.phase = Phase(phase)
        self.unread_blobs: dict[str, None] = {}
        self._read = frozenset(bottom for layer in layers for bottom in layer.bottoms)

    def is_used(self, key: object) -> bool:
        """Whether a layer reads the blob."""
        return key in self._read

    def add(self, layer: ImportedLayer) -> None:
        """Adds a layer and updates the set of unread blobs. ImportModelError if it breaks the
        contract of its type, or defines a blob of another layer.
        """
        assert isinstance(layer, CaffeLayer)
        layer.check_contract(counts_of(HANDLERS.get(layer.type)))
        self._check_tops(layer)
        for bottom in layer.inputs:
            self.unread_blobs.pop(str(bottom), None)
        super().add(layer)
        tops = (str(top) for top in layer.outputs if top not in self.phase.masks)
        self.unread_blobs |= dict.fromkeys(tops)

    def _check_tops(self, layer: ImportedLayer) -> None:
        """A blob has one source; a top that is the bottom at its place is computed in place."""
        for i, top in enumerate(layer.outputs):
            in_place = layer.inputs[i : i + 1] == (top,)
            if top in layer.outputs[:i] or (self.is_defined(top) and not in_place):
                raise ImportModelError(
                    f"its top '{top}' has another source already",
                    where=layer.where,
                    hint="give each top its own name, or that of the bottom at the same place",
                )

    def check_defined(self, layer: ImportedLayer) -> None:
        """Adds the usual cause to the error for an undefined blob."""
        try:
            super().check_defined(layer)
        except ImportModelError as error:
            error.hint = (
                f"a network for training may lack inputs in the {self.phase.name} phase: give the"
                " one for deployment"
            )
            raise

    def name(self, value: Any, name: str, first_op: int) -> None:
        """Keeps the name of the layer, because in-place layers share the name of a blob."""
