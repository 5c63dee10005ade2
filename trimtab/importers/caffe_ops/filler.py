"""Fillers: the first values of weights, as layers of a .prototxt ask for them.

Source: https://github.com/BVLC/caffe/blob/master/include/caffe/filler.hpp.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Array, UnsupportedFormError
from trimtab.importers.caffe_ops.prototxt import Message

_WEIGHT, _BIAS = ("weight_filler", "filler", "scale_filler"), ("bias_filler",)

# What a blob has without a filler: layers whose default is not zero.
_DEFAULTS = {"Scale": 1.0, "PReLU": 0.25, "Normalize": 1.0}

_VARIANCES = ("FAN_IN", "FAN_OUT", "AVERAGE")


@dataclass(frozen=True)
class Filler:
    """Draws blobs. The same seed, layer and index give the same values."""

    seed: int

    def draw(self, layer: Message, name: str, index: int, shape: Sequence[int]) -> Array:
        """The blob `index` of the layer called `name`; UnsupportedFormError for a filler that is
        not known.
        """
        fields = (field for field in layer.fields if field.endswith("_param"))
        messages = {field: layer.message(field) for field in fields}
        for key in _BIAS if index else _WEIGHT:
            for message in messages.values():
                if message.has(key):
                    rng = np.random.default_rng((self.seed, zlib.crc32(name.encode()), index))
                    return _filled(message.message(key), tuple(shape), rng).astype(np.float32)
        default = 0.0 if index else _DEFAULTS.get(layer.text("type"), 0.0)
        return np.full(shape, default, np.float32)


def _filled(filler: Message, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    count = math.prod(shape)
    fans = count / shape[0], count / shape[1] if len(shape) > 1 else count
    match filler.text("type", "constant"):
        case "constant":
            return np.full(shape, filler.real("value", 0.0))
        case "uniform":
            return rng.uniform(filler.real("min", 0.0), filler.real("max", 1.0), shape)
        case "gaussian" if not filler.has("sparse"):
            return rng.normal(filler.real("mean", 0.0), filler.real("std", 1.0), shape)
        case "xavier":
            bound = math.sqrt(3 / _fan(filler, fans))
            return rng.uniform(-bound, bound, shape)
        case "msra":
            return rng.normal(0, math.sqrt(2 / _fan(filler, fans)), shape)
        case "positive_unitball":
            values = rng.uniform(0, 1, (shape[0], count // shape[0]))
            shares: Array = values / values.sum(1, keepdims=True)
            return shares.reshape(shape)
        case "bilinear" if len(shape) == 4 and shape[2] == shape[3]:
            factor = math.ceil(shape[3] / 2)
            center = (2 * factor - 1 - factor % 2) / (2 * factor)
            line = 1 - abs(np.arange(shape[3]) / factor - center)
            return np.broadcast_to(np.outer(line, line), shape)
        case type:
            raise UnsupportedFormError(f"its filler is {type}")


def _fan(filler: Message, fans: tuple[float, float]) -> float:
    """The number that the variance is divided by."""
    kind = filler.choice("variance_norm", _VARIANCES, "FAN_IN")
    return {"FAN_IN": fans[0], "FAN_OUT": fans[1], "AVERAGE": sum(fans) / 2}[kind]
