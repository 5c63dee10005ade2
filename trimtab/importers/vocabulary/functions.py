"""Functions of one operand: what formats call them, and what they call their numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from trimtab import schema
from trimtab.importers._graph import Value
from trimtab.importers._handlers import Handlers
from trimtab.importers._layer import ImportedLayer

L = TypeVar("L", bound=ImportedLayer)

Number = float | tuple[Any, float]
"""A fixed number, or what a format calls a parameter, and its default."""


_ATTRIBUTES = ("alpha", "beta")


class Function:
    """An operator of the engine, or a function of `activation`, with the numbers that it takes."""

    def __init__(self, make: str | Callable[..., Value], *numbers: Number) -> None:
        self._make, self._numbers = make, numbers

    @property
    def doc(self) -> str:
        """What it computes, with its numbers as far as they have names."""
        if not isinstance(self._make, str):
            return self._make.__doc__ or ""
        doc = schema.operator(self._make).doc
        for own, number in zip(_ATTRIBUTES, self._numbers, strict=False):
            doc = re.sub(rf"\b{own}\b", _word(number) or own, doc)
        return doc

    def __call__(self, layer: ImportedLayer, x: Value) -> Value:
        """The function of `x`."""
        values = [layer.real(*n) if isinstance(n, tuple) else n for n in self._numbers]
        if not isinstance(self._make, str):
            return self._make(layer, x, *values)
        return layer.add(self._make, x, **dict(zip(_ATTRIBUTES, values, strict=False)))


def _word(number: Number) -> str:
    """A fixed number, or the name of a parameter within its message, if it has one."""
    if not isinstance(number, tuple):
        return f"{number:g}"
    return number[0].rpartition(".")[2] if isinstance(number[0], str) else ""


def handle_functions(
    handlers: Handlers[L],
    module: str,
    functions: Mapping[str | tuple[str, ...], Function],
    apply: Callable[[L, Function], Any] = lambda layer, function: function(layer, layer.x()),
) -> None:
    """Registers a handler for every function of a format, by the types of its layers; `module` is
    where they are listed.
    """
    for types, function in functions.items():

        def handler(layer: L, function: Function = function) -> Any:
            return apply(layer, function)

        names = (types,) if isinstance(types, str) else types
        handler.__name__, handler.__doc__, handler.__module__ = names[0], function.doc, module
        handlers.handles(*names)(handler)
