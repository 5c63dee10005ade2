"""Sizes that ncnn computes from shapes, such as `-1,*(0h,2),+(1c,2)`.

Format: ncnn, docs/developer-guide/expression.md. All shapes are known here, so are the values.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

from trimtab.importers.ncnn_ops.layer import Layer

_TOKEN = re.compile(r"\s*([0-9][whdc]|-?[0-9.]+(?:e-?[0-9]+)?|[a-z_0-9]+|//|[-+*/(),])")

_DEEPEST = 50
_LONGEST = 1000

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


def evaluate(layer: Layer, text: str) -> list[int]:
    """The values of an expression, in its order; operands are the layer's."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text) or len(text) > _LONGEST:
        raise layer.invalid(f"'{text[:60]}' is not an expression")
    values = []
    while tokens:
        values.append(int(_term(layer, tokens, 0)))
        if tokens and tokens.pop(0) != ",":
            raise layer.invalid(f"'{text[:60]}' lacks a comma")
    return values


def _term(layer: Layer, tokens: list[str], depth: int) -> float:
    if not tokens or depth > _DEEPEST:
        raise layer.invalid("its expression ends too early, or is nested too deeply")
    token = tokens.pop(0)
    if re.fullmatch(r"[0-9][whdc]", token):
        return _size(layer, int(token[0]), token[1])
    if re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", token):
        return float(token)
    if token not in _FUNCTIONS:
        raise layer.unsupported(f"its expression has '{token}'")
    arguments = []
    if not tokens or tokens.pop(0) != "(":
        raise layer.invalid(f"'(' is missing behind '{token}'")
    while True:
        arguments.append(_term(layer, tokens, depth + 1))
        end = tokens.pop(0) if tokens else ""
        if end == ")":
            return float(_FUNCTIONS[token](*arguments))
        if end != ",":
            raise layer.invalid("')' is missing")


def _size(layer: Layer, i: int, letter: str) -> float:
    """A dimension of operand `i`, 1 where it has none."""
    c, d, h, w = spread(layer.x(i).shape)
    return float({"w": w, "h": h, "d": d, "c": c}[letter])


def spread(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Channels, depth, height, width of an operand [1, ...]; 1 where it has no such dimension."""
    w = shape[-1]
    h = shape[-2] if len(shape) > 2 else 1
    c = shape[1] if len(shape) > 3 else 1
    d = shape[2] if len(shape) > 4 else 1
    return c, d, h, w
