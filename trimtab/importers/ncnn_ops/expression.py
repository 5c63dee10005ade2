"""Expressions for sizes, such as `-1,*(0h,2),+(1c,2)`; they are constant, as all shapes are.

Format: ncnn, docs/developer-guide/expression.md.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

from trimtab.importers._calls import CallParser
from trimtab.importers.ncnn_ops.layer import NcnnLayer

_TOKEN = re.compile(r"[0-9][whdc]|-?[0-9.]+(?:e-?[0-9]+)?|[a-z_0-9]+|//|[-+*/(),]")
_NUMBER = re.compile(r"-?[0-9.]+(e-?[0-9]+)?")
_SIZE = re.compile(r"[0-9][whdc]")

_MAX_LENGTH = 1000

_FUNCTIONS: dict[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "max": max,
    "min": min,
    "abs": abs,
    "neg": operator.neg,
    "ceil": math.ceil,
    "floor": math.floor,
    "trunc": math.trunc,
    "round": round,
    "sqrt": math.sqrt,
    "square": lambda a: a * a,
}


def evaluate(layer: NcnnLayer, text: str) -> list[int]:
    """The values of a list of expressions over the shapes of the layer's operands."""

    def leaf(word: str) -> float:
        if _SIZE.fullmatch(word):
            return float(spread(layer.x(int(word[0])).shape)["cdhw".index(word[1])])
        if _NUMBER.fullmatch(word):
            return float(word)
        raise layer.invalid(f"its expression has '{word}' without arguments")

    def call(name: str, values: list[float]) -> float:
        if name not in _FUNCTIONS:
            raise layer.unsupported(f"its expression has '{name}'")
        return float(_FUNCTIONS[name](*values))

    return [int(value) for value in CallParser(layer, _TOKEN, _MAX_LENGTH, leaf, call).values(text)]


def spread(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Channels, depth, height and width of an operand [1, ...]; absent dimensions are 1."""
    w = shape[-1]
    h = shape[-2] if len(shape) > 2 else 1
    c = shape[1] if len(shape) > 3 else 1
    d = shape[2] if len(shape) > 4 else 1
    return c, d, h, w
