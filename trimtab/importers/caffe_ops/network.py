"""The layers of a Caffe network in their order, one after the other into a program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.errors import ImportModelError, ModelFileError
from trimtab.importers._files import read_text
from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._inputs import declared_inputs
from trimtab.importers._layers import Array, LayerImport
from trimtab.importers.caffe_ops import net, prototxt, weights
from trimtab.importers.caffe_ops.layer import HANDLERS, Layer
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

LIMIT_BYTES = 2**22  # of a network as text; Inception-ResNet has 0.4 MB


def load(text: Path, binary: Path | None, inputs: Shapes) -> Program:
    """The program of the network in the file `text`."""
    message = prototxt.parse(read_text(text, LIMIT_BYTES), str(text))
    layers = net.layers(message)
    if not layers:
        raise ModelFileError(
            "is not a Caffe network: it has no layers",
            where=str(text),
            hint="give the .prototxt of the network; a solver's is not one",
        )
    work = NetImport(text, layers, weights.read(binary) if binary else {})
    declared = {i.name: i.shape or None for i in net.inputs(message, layers)}
    for name, shape in declared_inputs(declared, inputs, str(text), fixed=False).items():
        work.values[name] = work.add_input(name, shape)
    for layer in layers:
        if layer.type not in net.DATA:
            work.add(Layer(work, layer))
    hidden = net.silenced(message)
    return work.finish({name: name for name in work.results if name not in hidden})


class NetImport(LayerImport):
    """Blobs are known by name, and layers that work in place take a name over.

    `masks`: the windows of pools whose second tops say where the maxima were, by the name of that
    top; its value is what the pool read. `results`: blobs that nobody has read yet.
    """

    input_word = "bottom"

    def __init__(
        self, path: Path, layers: list[net.NetLayer], blobs: dict[str, list[Array]]
    ) -> None:
        super().__init__(path, HANDLERS, len(layers))
        self.blobs = blobs
        self.masks: dict[str, dict[str, Any]] = {}
        self.results: dict[str, None] = {}
        self._read = frozenset(bottom for layer in layers for bottom in layer.bottoms)

    def is_used(self, key: object) -> bool:
        """Whether a layer reads the blob."""
        return key in self._read

    def add(self, layer: HandledLayer) -> None:
        """Adds a layer, and remembers what nobody has read."""
        for bottom in layer.inputs:
            self.results.pop(str(bottom), None)
        super().add(layer)
        self.results |= dict.fromkeys(str(top) for top in layer.outputs if top not in self.masks)

    def check_defined(self, layer: HandledLayer) -> None:
        """Says what is often the reason for a blob that nothing makes."""
        try:
            super().check_defined(layer)
        except ImportModelError as error:
            error.hint = (
                "a network for training may lack inputs in the TEST phase: give the one"
                " for deployment"
            )
            raise

    def name(self, value: Any, name: str, first_op: int) -> None:
        """Operands keep the names of their layers: those that work in place share a blob's."""
