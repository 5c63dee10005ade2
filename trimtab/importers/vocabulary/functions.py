"""Tables of unary functions: the names of the functions and of their parameters in a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from trimtab import schema
from trimtab.importers._graph import Value
from trimtab.importers._handlers import Handlers
from trimtab.importers._layer import ImportedLayer

L = TypeVar("L", bound=ImportedLayer)
Types = TypeVar("Types", bound=Sequence[str])

Number = float | tuple[str, float]
"""A fixed number, or the name of a parameter in the format and its default."""

_ATTRIBUTES = ("alpha", "beta")


class Function:
    """A unary function: an operator of the engine, or a function of `activation`."""

    def __init__(self, function: str | Callable[..., Value], *numbers: Number) -> None:
        self._function, self._numbers = function, numbers

    @property
    def doc(self) -> str:
        """The documentation of the function, with the format's names of its parameters."""
        if not isinstance(self._function, str):
            return self._function.__doc__ or ""
        doc = schema.operator(self._function).doc
        for attribute, number in zip(_ATTRIBUTES, self._numbers, strict=False):
            doc = re.sub(rf"\b{attribute}\b", _text(number), doc)
        return doc

    @property
    def operator(self) -> str:
        """The operator that it is; empty if it is composed."""
        return self._function if isinstance(self._function, str) else ""

    @property
    def parameters(self) -> dict[str, str]:
        """The attribute of the operator for each parameter of the format; none if composed."""
        numbers = zip(self._numbers, _ATTRIBUTES if self.operator else (), strict=False)
        return {number[0]: name for number, name in numbers if isinstance(number, tuple)}

    def __call__(self, layer: ImportedLayer, x: Value) -> Value:
        """Adds the function of `x` to the program."""
        values = [layer.real(*n) if isinstance(n, tuple) else n for n in self._numbers]
        if not isinstance(self._function, str):
            return self._function(layer, x, *values)
        return layer.add(self._function, x, **dict(zip(_ATTRIBUTES, values, strict=False)))


def _text(number: Number) -> str:
    """A fixed number, or the name of a parameter."""
    return number[0] if isinstance(number, tuple) else f"{number:g}"


def handle_functions(
    handlers: Handlers[L],
    module: str,
    functions: Mapping[Types, Function],
    apply: Callable[[L, Function], Any] = lambda layer, function: function(layer, layer.x()),
) -> None:
    """Registers a handler for each function of a table, which maps layer types to functions.

    `module` is the name of the module with the table.
    """
    for types, function in functions.items():

        def handler(layer: L, function: Function = function) -> Any:
            return apply(layer, function)

        names = (types,) if isinstance(types, str) else types
        handler.__name__, handler.__doc__, handler.__module__ = names[0], function.doc, module
        handlers.handles(*names)(handler)
