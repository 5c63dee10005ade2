"""Imports an ncnn network layer by layer."""

from __future__ import annotations

from pathlib import Path

from trimtab.errors import ImportModelError
from trimtab.importers import beside
from trimtab.importers._files import read_text
from trimtab.importers._inputs import Declared, Shapes, declared_inputs
from trimtab.importers._layer import ImportedLayer
from trimtab.importers._walk import NetworkImport
from trimtab.importers.beside import ultralytics
from trimtab.importers.ncnn_ops.layer import HANDLERS, NONE, NcnnLayer
from trimtab.importers.ncnn_ops.param import ParamLayer, parse
from trimtab.importers.ncnn_ops.weights import NcnnWeights
from trimtab.program import Program

LIMIT_BYTES = 2**23  # of a .param; large transformers have 200 KB


def load(text: Path, binary: Path | None, inputs: Shapes) -> Program:
    """The program of the .param file `text`; its outputs are the blobs that no layer reads."""
    layers = parse(read_text(text, LIMIT_BYTES), str(text))
    walk = NcnnImport(text, NcnnWeights(binary), len(layers))
    declared = {
        top: _declared(layer) for layer in layers if layer.type == "Input" for top in layer.tops
    }
    inputs = {**ultralytics.sizes(beside.metadata(text), declared), **inputs}
    shapes = declared_inputs(declared, inputs, str(text), fixed=False)
    read = {name for layer in layers for name in layer.bottoms}
    outputs: list[str] = []
    for layer in layers:
        # The last line may be a layer without effect that reads all results.
        if layer.type == "Noop" and read.isdisjoint(layer.tops):
            outputs += layer.bottoms
            continue
        if layer.type == "Input":
            for top in layer.tops:
                walk.add_blob(top, shapes[top], layer.where)
        else:
            walk.add(NcnnLayer(walk, layer, walk.weights))
        outputs += [top for top in layer.tops if top not in read]
    return walk.finish({name: name for name in outputs})


def _declared(layer: ParamLayer) -> Declared | None:
    """The shape of an input with a batch; None if the file has none. Absent dimensions are 0."""
    w, h, d, c = (layer.integer(name, 0) for name in "whdc")
    sizes = [None if size == NONE else size for size in (c, d, h, w) if size]
    return (1, *sizes) if sizes else None


class NcnnImport(NetworkImport):
    """Values are blobs by name. Layers take their weights from the file one after the other."""

    input_word = "blob"
    single_assignment = True

    def __init__(self, path: Path, weights: NcnnWeights, layers: int) -> None:
        super().__init__(path, HANDLERS, layers)
        self.weights = weights
        self.budget.add_stored(weights.stored_bytes)

    def add_blob(self, name: str, shape: tuple[int, ...], where: str) -> None:
        """Declares an input of the network."""
        if self.is_defined(name):
            raise ImportModelError(
                f"blob '{name}' is defined twice", where=where, hint="convert the network again"
            )
        if shape[0] != 1 or not 1 < len(shape) <= 5:
            raise ImportModelError(
                f"input '{name}' cannot have the shape {list(shape)}",
                where=where,
                hint="ncnn networks take one image: give a batch of 1",
            )
        self.values[name] = self.add_input(name, shape)

    def add(self, layer: ImportedLayer) -> None:
        """Adds a layer."""
        if layer.type not in HANDLERS or not self.missing.isdisjoint(layer.inputs):
            # The number of its weights is unknown, since it depends on the input shapes.
            self.weights.lose_position()
        super().add(layer)
