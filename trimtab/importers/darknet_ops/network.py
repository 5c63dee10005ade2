"""Imports a Darknet network section by section."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

from trimtab.errors import ModelFileError
from trimtab.importers._files import read_text
from trimtab.importers._inputs import Shapes, declared_inputs, dynamic_shapes
from trimtab.importers._walk import NetworkImport
from trimtab.importers.darknet_ops.cfg import CfgSection, parse
from trimtab.importers.darknet_ops.layer import HANDLERS, INPUT, DarknetLayer
from trimtab.importers.darknet_ops.weights import DarknetWeights
from trimtab.program import Program
from trimtab.program.hints import ModelHints

LIMIT_BYTES = 2**22  # of a .cfg; YOLOv4 has 12 KB

INPUT_NAME = "data"

_NET = ("net", "network")

# Layers whose results are rows of boxes, which the head `darknet` reads.
_DETECTORS = frozenset(("yolo", "gaussian_yolo", "region"))

# Sections for training only. They keep their index among the layers.
_TRAINING = frozenset(("cost", "contrastive"))


def load(text: Path, binary: Path | None, inputs: Shapes) -> Program:
    """The program of the .cfg file `text`; its outputs are the layers that no other layer reads."""
    sections = parse(read_text(text, LIMIT_BYTES), str(text))
    if not sections or sections[0].type not in _NET or len(sections) < 2:
        raise ModelFileError(
            "is not a Darknet network: it does not begin with [net] and layers",
            where=str(text),
            hint="give the .cfg file of the network",
        )
    net, *layers = sections
    walk, weights = NetworkImport(text, HANDLERS, len(layers)), DarknetWeights(binary)
    walk.budget.add_stored(weights.stored_bytes)
    shape = _input_shape(net, inputs)
    walk.values[INPUT] = walk.add_input(INPUT_NAME, shape)
    outputs: dict[Hashable, str] = {}
    detectors = set[str]()
    for index, section in enumerate(layers):
        if section.type in _TRAINING:
            walk.alias(index, index - 1)
            continue
        layer = DarknetLayer(walk, section, index, (shape[2], shape[3]), weights)
        walk.add(layer)
        for source in layer.inputs:
            outputs.pop(source, None)
        outputs[index] = layer.name
        if section.type in _DETECTORS:
            detectors.add(layer.name)
    program = walk.finish({name: index for index, name in outputs.items()})
    weights.check_end()
    if detectors.issuperset(program.outputs):
        program.hints = ModelHints(heads=("darknet",), entry="its last layers decode boxes")
    return program


def _input_shape(net: CfgSection, inputs: Shapes) -> tuple[int, ...]:
    # `batch` is the batch of training; inference uses one image.
    declared = (1, *(net.integer(name, 0) for name in ("channels", "height", "width")))
    shapes = declared_inputs({INPUT_NAME: declared}, inputs, net.where, fixed=False)
    if len(shapes[INPUT_NAME]) != 4:
        raise dynamic_shapes(shapes, net.where)
    return shapes[INPUT_NAME]
