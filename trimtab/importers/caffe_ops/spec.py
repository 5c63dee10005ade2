"""Names of Caffe's layer parameters and of their values: importer and exporter read them here.

Source: https://github.com/BVLC/caffe/blob/master/src/caffe/proto/caffe.proto, and its forks.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from trimtab.importers.vocabulary.pooling import Kind

_MESSAGES = {
    "ArgMax": "argmax",
    **dict.fromkeys(("ConvolutionDepthwise", "DepthwiseConvolution"), "convolution"),
    **dict.fromkeys(("Deconvolution", "Im2col"), "convolution"),
    "Normalize": "norm",
    "PReLU": "prelu",
    "ReLU": "relu",
}
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def message_of(type: str) -> str:
    """The field with the parameters of a layer type: as a rule its name, in snake_case."""
    return f"{_MESSAGES.get(type) or _WORD.sub('_', type).lower()}_param"


class Spatial(NamedTuple):
    """A vertical and a horizontal value: the fields `stem`_h and `stem`_w, or `name` for both. A
    required one has no default.
    """

    name: str
    stem: str
    default: int | None


KERNEL = Spatial("kernel_size", "kernel", None)
STRIDE = Spatial("stride", "stride", 1)
PAD = Spatial("pad", "pad", 0)
DILATION = Spatial("dilation", "dilation", 1)

# The values of enumerations in the order of their numbers, with the engine's words.

POOLS: dict[str, Kind] = {"MAX": "max", "AVE": "average"}
"""pool of Pooling, without STOCHASTIC."""

ELTWISE = {"PROD": "mul", "SUM": "add", "MAX": "max"}
"""operation of Eltwise."""

REDUCTIONS = {"SUM": "sum", "ASUM": "l1", "SUMSQ": "sum_square", "MEAN": "mean"}
"""operation of Reduction, numbered from 1."""
