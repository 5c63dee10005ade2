"""A Caffe network in one of its phases, with its losses, accuracies and data: for training."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.errors import ImportModelError
from trimtab.importers._files import read_text
from trimtab.importers._graph import Array
from trimtab.importers._inputs import Shapes
from trimtab.importers.caffe_ops import net, prototxt, weights
from trimtab.importers.caffe_ops.filler import Filler
from trimtab.importers.caffe_ops.layer import Phase
from trimtab.importers.caffe_ops.net import NetLayer
from trimtab.importers.caffe_ops.network import LIMIT_BYTES, walk_layers
from trimtab.program import Program

_LOSSES = {
    "SoftmaxWithLoss": "softmax",
    "SigmoidCrossEntropyLoss": "sigmoid_cross_entropy",
    "EuclideanLoss": "euclidean",
    "SmoothL1Loss": "smooth_l1",
}
_NORMALIZATIONS = ("FULL", "VALID", "BATCH_SIZE", "NONE")
_SOURCES = ("data_param", "image_data_param", "hdf5_data_param", "memory_data_param")
_DATA_HINT = "use scale, mean_value, crop_size and mirror, or prepare the data before"

ExampleShape = Callable[[str], "tuple[int, ...] | None"]
"""The shape of an example of the data called so, None if there are no such data."""


@dataclass(frozen=True)
class CaffeData:
    """The data layer: its blobs, and the preprocessing of pictures as (value - mean) * scale.

    `batch` and `crop` are 0 if they are not stated; `mirror`: half of the pictures are mirrored.
    """

    blobs: tuple[str, ...] = ()
    batch: int = 0
    crop: int = 0
    mirror: bool = False
    scale: float = 1.0
    mean: tuple[float, ...] = (0.0,)


@dataclass(frozen=True)
class CaffeNetwork:
    """The layers of one phase. `losses`: the fields of a `trimtab.Loss` for each loss;
    `accuracies`: name, output, target, top (the number of classes that may hold the label) and
    ignore_label (or None) for each Accuracy layer.
    """

    program: Program
    phase: Phase
    losses: tuple[Mapping[str, Any], ...]
    accuracies: tuple[Mapping[str, Any], ...]
    data: CaffeData


@dataclass(frozen=True)
class CaffeSource:
    """A network's .prototxt and the values of its weights.

    `shapes`: those of inputs, by name; `seed`: of the weights that no file of `weights` has.
    """

    path: Path
    weights: Sequence[Path] = ()
    shapes: Shapes = field(default_factory=dict)
    seed: int = 0

    def load(self, phase: str, example_shape: ExampleShape) -> CaffeNetwork:
        """The network in a phase; errors of importers. `example_shape` gives the shapes that a data
        layer does not state.
        """
        message = prototxt.parse(read_text(self.path, LIMIT_BYTES), str(self.path))
        running = net.active(message, phase)
        data = _data(running)
        declared = net.inputs(message, net.layers(message, phase))
        shapes = dict(self.shapes)
        for name in (i.name for i in declared if not i.shape and i.name not in shapes):
            shape = example_shape(name) if data.batch else None
            if shape:
                size = (data.crop, data.crop) if data.crop and len(shape) == 3 else shape[1:]
                shapes[name] = (data.batch, shape[0], *size)
        blobs: dict[str, Sequence[Array]] = {}
        for path in self.weights:
            blobs |= weights.read(path)
        walk = walk_layers(message, self.path, phase, shapes, blobs, Filler(self.seed))
        losses = [_loss(layer) for layer in running if _is_loss(layer)]
        losses += [
            {"kind": "sum", "output": top, "weight": weight}
            for layer in running
            if not _is_loss(layer)
            for top, weight in zip(layer.tops, layer.message.reals("loss_weight"), strict=False)
            if weight
        ]
        accuracies = [_accuracy(layer) for layer in running if layer.type == "Accuracy"]
        outputs = [loss["output"] for loss in losses] + [one["output"] for one in accuracies]
        program = walk.finish({name: name for name in dict.fromkeys(outputs)})
        return CaffeNetwork(program, walk.phase, tuple(_active(losses)), tuple(accuracies), data)


def _active(losses: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [loss for loss in losses if loss["weight"]]


def _is_loss(layer: NetLayer) -> bool:
    return layer.type in _LOSSES or layer.type.endswith("Loss")


def _loss(layer: NetLayer) -> dict[str, Any]:
    """The fields of a loss."""
    if layer.type not in _LOSSES:
        raise ImportModelError(
            "this loss is not supported", where=layer.where, hint=f"use {', '.join(_LOSSES)}"
        )
    if len(layer.bottoms) != 2:
        raise ImportModelError(
            f"it has {len(layer.bottoms)} bottoms",
            where=layer.where,
            hint="a loss takes a prediction and a target here",
        )
    if not all(layer.message.booleans("propagate_down")[:1]):
        raise ImportModelError(
            "its prediction has no gradient: propagate_down is false",
            where=layer.where,
            hint="remove propagate_down, or the layer",
        )
    param = layer.message.message("loss_param")
    normalization = ""
    if param.has("normalization"):
        normalization = param.choice("normalization", _NORMALIZATIONS, "VALID").lower()
    elif param.has("normalize"):
        normalization = "valid" if param.boolean("normalize", True) else "batch_size"
    axis = layer.message.message("softmax_param").integer("axis", 1)
    if layer.type == "SoftmaxWithLoss" and axis != 1:
        raise ImportModelError(
            f"its axis is {axis}", where=layer.where, hint="classes must be axis 1"
        )
    sigma = layer.message.message("smooth_l1_loss_param").real("sigma", 1.0)
    stated = layer.message.reals("loss_weight")
    return {
        "kind": _LOSSES[layer.type],
        "output": layer.bottoms[0],
        "target": layer.bottoms[1],
        "weight": stated[0] if stated else 1.0,
        "normalization": normalization,
        "ignore_label": param.integer("ignore_label", 0) if param.has("ignore_label") else None,
        "sigma": sigma,
    }


def _accuracy(layer: NetLayer) -> dict[str, Any]:
    """The fields of an accuracy."""
    param = layer.message.message("accuracy_param")
    if len(layer.bottoms) != 2:
        raise ImportModelError(
            f"it has {len(layer.bottoms)} bottoms", where=layer.where, hint="it takes two"
        )
    return {
        "name": layer.tops[0] if layer.tops else layer.name,
        "output": layer.bottoms[0],
        "target": layer.bottoms[1],
        "top": param.integer("top_k", 1),
        "ignore_label": param.integer("ignore_label", 0) if param.has("ignore_label") else None,
    }


def _data(layers: Sequence[NetLayer]) -> CaffeData:
    """The data of a phase: those of its only data layer, or none."""
    sources = [layer for layer in layers if layer.type in net.DATA and layer.type != "Input"]
    if not sources:
        blobs = [top for layer in layers if layer.type == "Input" for top in layer.tops]
        return CaffeData(tuple(blobs))
    blobs = list(itertools.chain(*(layer.tops for layer in sources)))
    message = sources[0].message
    transform = message.message("transform_param")
    if transform.has("mean_file"):
        raise ImportModelError("it has a mean_file", where=sources[0].where, hint=_DATA_HINT)
    sizes = [message.message(name).integer("batch_size", 0) for name in _SOURCES]
    return CaffeData(
        tuple(blobs),
        max(sizes),
        transform.integer("crop_size", 0),
        transform.boolean("mirror", False),
        transform.real("scale", 1.0),
        tuple(transform.reals("mean_value")) or (0.0,),
    )
