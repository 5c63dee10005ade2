"""pnnx.Expression: arithmetic of tensors, numbers and sizes."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from trimtab.importers._calls import CallParser
from trimtab.importers._graph import Value
from trimtab.importers.pnnx_ops.operator import Operand, PnnxOperator, handles
from trimtab.importers.vocabulary import activation
from trimtab.program import Var

_TOKEN = re.compile(
    r"@[0-9]+|[A-Za-z_][\w.]*|-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[][(),]"
)

_WORDS = {"None": None, "True": True, "False": False}
_MAX_LENGTH = 20_000
_LARGEST = 2**53  # integers up to this one are exact as floats

# Binary functions: the engine's operator (empty: numbers only), and the function of numbers.
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

# Unary functions, likewise.
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
    "floor": ("floor", math.floor),
    "ceil": ("ceil", math.ceil),
    "trunc": ("", math.trunc),
    "round": ("round", round),
    "sin": ("sin", math.sin),
    "cos": ("cos", math.cos),
}


@handles("pnnx.Expression")
def expression(op: PnnxOperator) -> Operand:
    """The value of an expression: a tensor, a number or a list of numbers."""
    text = op.text("expr", "")
    calls = CallParser(op, _TOKEN, _MAX_LENGTH, partial(_leaf, op), partial(_call, op))
    values: list[Operand] = calls.values(text)
    if len(values) != 1:
        raise op.invalid(f"'{text[:60]}' is not one expression")
    return values[0]


def _leaf(op: PnnxOperator, word: str) -> Operand:
    if word in _WORDS:
        return _WORDS[word]
    if word[0].isalpha():
        raise op.unsupported(f"its expression has '{word}'")
    try:
        if word[0] == "@":
            return op.positional[int(word[1:])]
        return int(word) if word.lstrip("-").isdecimal() else float(word)
    except (ValueError, IndexError):
        raise op.invalid(f"its expression has '{word}'") from None


def _call(op: PnnxOperator, name: str, values: list[Any]) -> Operand:
    if name == "size" and values and isinstance(values[0], Var):
        shape = list(values[0].shape)
        return shape[op.axis(values[1], len(shape))] if len(values) > 1 else shape
    tensors = any(isinstance(value, Var) for value in values)
    if not tensors and all(isinstance(value, int | float) for value in values):
        return _number(op, name, values)
    if not all(isinstance(value, Var | int | float) for value in values) or not values:
        raise op.unsupported(f"its expression computes '{name}' of operands that are not numbers")
    if name in _BINARY and len(values) == 2 and _BINARY[name][0]:
        if name == "pow" and isinstance(values[1], int | float) and values[1] == 2:
            return activation.square(op, values[0])
        return op.add(_BINARY[name][0], *(_tensor(op, value) for value in values))
    if len(values) == 1:
        return _of_tensor(op, name, _tensor(op, values[0]))
    if name == "rsub":
        return op.add("sub", _tensor(op, values[1]), _tensor(op, values[0]))
    raise op.unsupported(f"the engine has no '{name}'")


def _of_tensor(op: PnnxOperator, name: str, x: Value) -> Value:
    if _UNARY.get(name, ("",))[0]:
        return op.add(_UNARY[name][0], x)
    if name == "square":
        return activation.square(op, x)
    if name in ("rsqrt", "reciprocal"):
        return activation.reciprocal(op, op.add("sqrt", x) if name == "rsqrt" else x)
    if name == "log1p":
        return op.add("log", op.shifted(x, 1.0))
    if name == "log10":
        return activation.log(op, x, 10.0)
    raise op.unsupported(f"the engine has no '{name}'")


def _tensor(op: PnnxOperator, value: Value | float) -> Value:
    """A float32 operand."""
    if not isinstance(value, Var):
        return op.constant(float(value), "number")
    if value.dtype == "f32":
        return value
    if value.data is not None:
        return op.constant(value.data.astype(np.float32), "number")
    return op.add("cast", value, to="f32")


def _number(op: PnnxOperator, name: str, values: list[Any]) -> float:
    function = (_BINARY if len(values) == 2 else _UNARY).get(name)
    if function is None:
        raise op.unsupported(f"its expression has '{name}'")
    try:
        result = function[1](*values)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise op.invalid(f"its expression cannot be computed: {error}") from error
    if isinstance(result, complex) or not abs(result) < _LARGEST:
        raise op.invalid(f"the value of its expression is {result}")
    return int(result) if isinstance(result, bool) else result
