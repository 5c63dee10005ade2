"""The layers of a Darknet network in their order, one after the other into a program."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import ModelFileError
from trimtab.importers._files import read_text
from trimtab.importers._inputs import declared_inputs, free
from trimtab.importers._layers import LayerImport
from trimtab.importers.darknet_ops.cfg import Section, parse
from trimtab.importers.darknet_ops.layer import HANDLERS, INPUT, Layer
from trimtab.importers.darknet_ops.weights import Weights
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

LIMIT_BYTES = 2**22  # of a .cfg; YOLOv4 has 12 KB

INPUT_NAME = "data"

_NET = ("net", "network")

# Sections that only training needs. They count as layers where others are named by index.
_DROPPED = frozenset(("cost", "contrastive"))


def load(text: Path, binary: Path | None, inputs: Shapes) -> Program:
    """The program of the network in the file `text`; its outputs are the layers that no other
    reads.
    """
    sections = parse(read_text(text, LIMIT_BYTES), str(text))
    if not sections or sections[0].type not in _NET or len(sections) < 2:
        raise ModelFileError(
            "is not a Darknet network: it does not begin with [net] and layers",
            where=str(text),
            hint="give the .cfg file of the network",
        )
    net, *layers = sections
    work, weights = LayerImport(text, HANDLERS, len(layers)), Weights(binary)
    shape = _input_shape(net, inputs)
    work.values[INPUT] = work.add_input(INPUT_NAME, shape)
    outputs: dict[Hashable, str] = {}
    for index, section in enumerate(layers):
        if section.type in _DROPPED:
            work.alias(index, index - 1)
            continue
        layer = Layer(work, section, index, (shape[2], shape[3]), weights)
        work.add(layer)
        for source in layer.inputs:
            outputs.pop(source, None)
        outputs[index] = layer.name
    program = work.finish({name: index for index, name in outputs.items()})
    weights.check_end()
    return program


def _input_shape(net: Section, inputs: Shapes) -> tuple[int, ...]:
    # Darknet trains on `batch` images; networks are used with one.
    declared = (1, *(net.integer(name, 0) for name in ("channels", "height", "width")))
    shapes = declared_inputs({INPUT_NAME: declared}, inputs, net.where, fixed=False)
    if len(shapes[INPUT_NAME]) != 4:
        raise free(shapes, net.where)
    return shapes[INPUT_NAME]
