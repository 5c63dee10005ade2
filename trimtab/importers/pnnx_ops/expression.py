"""pnnx.Expression: arithmetic of tensors and numbers, and sizes, which are known."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers.pnnx_ops.operator import Operand, Operator, handles
from trimtab.program import Var

_TOKEN = re.compile(
    r"@[0-9]+|[A-Za-z_][\w.]*|-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[][(),]"
)

_DEEPEST = 100
_LONGEST = 20_000
_LARGEST = 2**53  # a number that is exact in every form

# Of two operands: the engine's operator (nothing: numbers only), and how numbers do it.
_BINARY: dict[str, tuple[str, Callable[..., Any]]] = {
    "add": ("add", operator.add),
    "sub": ("sub", operator.sub),
    "mul": ("mul", operator.mul),
    "div": ("div", operator.truediv),
    "pow": ("pow", lambda a, b: float(a) ** b if abs(b) < 64 else math.pow(a, b)),
    "max": ("max", max),
    "min": ("min", min),
    "maximum": ("max", max),
    "minimum": ("min", min),
    "floor_divide": ("", operator.floordiv),
    "remainder": ("", operator.mod),
    "fmod": ("", math.fmod),
    "and": ("", operator.and_),
    "or": ("", operator.or_),
    "xor": ("", operator.xor),
}

# Of one operand, likewise.
_UNARY: dict[str, tuple[str, Callable[..., Any]]] = {
    "abs": ("abs", abs),
    "neg": ("neg", operator.neg),
    "exp": ("exp", math.exp),
    "log": ("log", math.log),
    "sqrt": ("sqrt", math.sqrt),
    "tanh": ("tanh", math.tanh),
    "erf": ("erf", math.erf),
    "sigmoid": ("sigmoid", lambda a: 1 / (1 + math.exp(-a))),
    "int": ("", int),
    "floor": ("", math.floor),
    "ceil": ("", math.ceil),
    "trunc": ("", math.trunc),
    "round": ("", round),
}


@handles("pnnx.Expression")
def expression(op: Operator) -> Operand:
    """The value of an expression: a tensor, a number or a list of numbers."""
    text = op.text("expr", "")
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text or not text or len(text) > _LONGEST:
        raise op.invalid(f"'{text[:60]}' is not an expression")
    waiting = tokens[::-1]
    value = _term(op, waiting, 0)
    if waiting:
        raise op.invalid(f"'{text[:60]}' does not end where it should")
    return value


def _term(op: Operator, tokens: list[str], depth: int) -> Operand:
    """Reads one term off the end of `tokens`, which are in reverse order."""
    if not tokens or depth > _DEEPEST:
        raise op.invalid("its expression ends too early, or is nested too deeply")
    token = tokens.pop()
    if token == "[":
        return _arguments(op, tokens, "]", depth)
    if token[0] == "@":
        if int(token[1:]) >= len(op.operands):
            raise op.invalid(f"there is no operand {token}")
        return op.operands[int(token[1:])]
    if token in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[token]
    if token[0].isalpha():
        if not tokens or tokens.pop() != "(":
            raise op.unsupported(f"its expression has '{token}'")
        return _call(op, token, _arguments(op, tokens, ")", depth))
    try:
        return int(token) if token.lstrip("-").isdecimal() else float(token)
    except ValueError:
        raise op.invalid(f"its expression has '{token}'") from None


def _arguments(op: Operator, tokens: list[str], end: str, depth: int) -> list[Any]:
    values: list[Any] = []
    if tokens and tokens[-1] == end:
        tokens.pop()
        return values
    while True:
        values.append(_term(op, tokens, depth + 1))
        mark = tokens.pop() if tokens else ""
        if mark == end:
            return values
        if mark != ",":
            raise op.invalid(f"'{end}' is missing in its expression")


def _call(op: Operator, name: str, values: list[Any]) -> Operand:
    if name == "size" and values and isinstance(values[0], Var):
        shape = list(values[0].shape)
        return shape[op.axis(values[1], len(shape))] if len(values) > 1 else shape
    tensors = any(isinstance(value, Var) for value in values)
    if not tensors and all(isinstance(value, int | float) for value in values):
        return _number(op, name, values)
    if not all(isinstance(value, Var | int | float) for value in values) or not values:
        raise op.unsupported(f"its expression computes '{name}' of what is no number")
    if name in _BINARY and len(values) == 2 and _BINARY[name][0]:
        if name == "pow" and isinstance(values[1], int | float) and values[1] == 2:
            return op.add("mul", values[0], values[0])
        return op.add(_BINARY[name][0], *(_tensor(op, value) for value in values))
    if len(values) == 1:
        return _of_tensor(op, name, _tensor(op, values[0]))
    if name == "rsub":
        return op.add("sub", _tensor(op, values[1]), _tensor(op, values[0]))
    raise op.unsupported(f"the engine has no '{name}'")


def _of_tensor(op: Operator, name: str, x: Value) -> Value:
    if _UNARY.get(name, ("",))[0]:
        return op.add(_UNARY[name][0], x)
    if name == "square":
        return op.add("mul", x, x)
    if name == "rsqrt":
        return op.add("div", op.constant(1.0, "one"), op.add("sqrt", x))
    if name == "reciprocal":
        return op.add("div", op.constant(1.0, "one"), x)
    if name == "log1p":
        return op.add("log", op.add("add", x, op.constant(1.0, "one")))
    if name == "log10":
        return op.scaled(op.add("log", x), 1 / math.log(10))
    raise op.unsupported(f"the engine has no '{name}'")


def _tensor(op: Operator, value: Value | float) -> Value:
    """An operand of real numbers."""
    if not isinstance(value, Var):
        return op.constant(float(value), "number")
    if value.dtype == "f32":
        return value
    if value.data is not None:
        return op.constant(value.data.astype(np.float32), "number")
    return op.add("cast", value, to="f32")


def _number(op: Operator, name: str, values: list[Any]) -> float:
    function = (_BINARY if len(values) == 2 else _UNARY).get(name)
    if function is None:
        raise op.unsupported(f"its expression has '{name}'")
    try:
        result = function[1](*values)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise op.invalid(f"its expression cannot be computed: {error}") from error
    if isinstance(result, complex) or not abs(result) < _LARGEST:
        raise op.invalid(f"its expression makes {result}")
    return int(result) if isinstance(result, bool) else result
