"""The layers of an ncnn network in their order, one after the other into a program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import ImportModelError
from trimtab.importers._files import read_text
from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._inputs import Declared, declared_inputs
from trimtab.importers._layers import LayerImport
from trimtab.importers.ncnn_ops.layer import HANDLERS, Layer
from trimtab.importers.ncnn_ops.param import LayerText, parse
from trimtab.importers.ncnn_ops.weights import Weights
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

_FREE = -233  # ncnn's number for a size that is known when it runs
LIMIT_BYTES = 2**23  # of a .param; large transformers have 200 KB


def load(text: Path, binary: Path | None, inputs: Shapes) -> Program:
    """The program of the network in the file `text`; its outputs are the blobs that no layer
    reads.
    """
    layers = parse(read_text(text, LIMIT_BYTES), str(text))
    work = BlobImport(text, Weights(binary), len(layers))
    declared = {
        top: _size(layer) for layer in layers if layer.type == "Input" for top in layer.tops
    }
    shapes = declared_inputs(declared, inputs, str(text), fixed=False)
    read = {name for layer in layers for name in layer.bottoms}
    ends: list[str] = []
    for layer in layers:
        # The last line of a network may be one that does nothing but to read all results.
        if layer.type == "Noop" and read.isdisjoint(layer.tops):
            ends += layer.bottoms
            continue
        if layer.type == "Input":
            for top in layer.tops:
                work.add_blob(top, shapes[top], layer.where)
        else:
            work.add(Layer(work, layer))
        ends += [top for top in layer.tops if top not in read]
    return work.finish({name: name for name in ends})


def _size(layer: LayerText) -> Declared | None:
    """The size of an input, with a batch; None: the file does not say.

    0 is a dimension that there is not.
    """
    w, h, d, c = (layer.integer(key, 0) for key in (0, 1, 11, 2))
    sizes = [None if size == _FREE else size for size in (c, d, h, w) if size]
    return (1, *sizes) if sizes else None


class BlobImport(LayerImport):
    """Blobs are known by name; weights follow each other in the file as layers take them."""

    input_word = "blob"
    single_assignment = True

    def __init__(self, path: Path, weights: Weights, layers: int) -> None:
        super().__init__(path, HANDLERS, layers)
        self.weights = weights

    def add_blob(self, name: str, shape: tuple[int, ...], where: str) -> None:
        """Declares an input."""
        if self.is_defined(name):
            raise ImportModelError(f"blob '{name}' is defined twice", where=where)
        if shape[0] != 1 or not 1 < len(shape) <= 5:
            raise ImportModelError(
                f"input '{name}' cannot have the shape {list(shape)}",
                where=where,
                hint="networks of ncnn are for one image: give a batch of 1",
            )
        self.values[name] = self.add_input(name, shape)

    def add(self, layer: HandledLayer) -> None:
        """Adds a layer."""
        if layer.type not in HANDLERS or not self.missing.isdisjoint(layer.inputs):
            # How many weights it has is only known with the shapes that it reads.
            self.weights.lose()
        super().add(layer)
