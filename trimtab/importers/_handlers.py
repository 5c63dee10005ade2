"""Handlers: functions that make operators of the engine of one type of layer."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from trimtab.errors import SchemaError

if TYPE_CHECKING:
    from trimtab.importers._parsers import OperatorParser

L = TypeVar("L")
Handler = Callable[[L], Any]


class Handlers(Mapping[str, Handler[L]]):
    """The handlers of one format by the types of layers that they are for.

    Those of the format are in the package that `module` is in, whose modules are imported when a
    handler is first asked for. Others may be added at any time and are seen at once.
    """

    def __init__(self, module: str) -> None:
        self._package = module.rpartition(".")[0]
        self._found: dict[str, Handler[L]] = {}
        self._complete = False
        self._parsers = 0  # how many of them it has

    def handles(self, *types: str) -> Callable[[Handler[L]], Handler[L]]:
        """Registers the decorated function as the handler of these types.

        SchemaError names both places where a type has a handler already.
        """

        def register(handler: Handler[L]) -> Handler[L]:
            if not handler.__module__.startswith(f"{self._package}."):
                self._import()  # the newcomer is to blame for a clash, not the package
            for type in types:
                if type in self._found:
                    raise SchemaError(
                        f"'{type}' has two handlers: {_place(self._found[type])}"
                        f" and {_place(handler)}",
                        where=self._package,
                        hint="remove one of them, or let it handle another type",
                    )
            self._found.update(dict.fromkeys(types, handler))
            return handler

        return register

    def _import(self) -> None:
        if not self._complete:
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self._package}.{module.name}")
            # As in the source, whatever of the package somebody has imported before.
            self._found = dict(sorted(self._found.items(), key=_order))
            self._complete = True
        self._add_parsers()

    def _add_parsers(self) -> None:
        """Takes the parsers that are new since it was last asked: scripts may register some at any
        time. One of a type that has a handler must say that it replaces it, and only one may.
        """
        from trimtab.importers import _parsers  # which stands on what handlers see

        framework = self._package.rpartition(".")[2].removesuffix("_ops")
        for parser in _parsers.parsers(framework)[self._parsers :]:
            with parser.blamed():
                if problem := _clash(parser, self._found.get(parser.origin)):
                    raise parser.error(*problem)
                self._found[parser.origin] = cast(Handler[L], parser)
            self._parsers += 1

    def __getitem__(self, type: str) -> Handler[L]:
        self._import()
        return self._found[type]

    def __iter__(self) -> Iterator[str]:
        self._import()
        return iter(self._found)

    def __len__(self) -> int:
        self._import()
        return len(self._found)


def _order(item: tuple[str, Handler[Any]]) -> tuple[str, int, str]:
    type, handler = item
    code = getattr(handler, "__code__", None)
    return handler.__module__, code.co_firstlineno if code else 0, type


def _clash(parser: OperatorParser, other: Handler[Any] | None) -> tuple[str, str] | None:
    """What is wrong with a parser where `other` handles its type so far, and what to do."""
    subject = f"'{parser.origin}' of {parser.framework}"
    if other is None and parser.replaces:
        hint = "leave replaces out, or check how files spell the type"
        return f"{subject} has no handler to replace", hint
    is_built_in = not hasattr(other, "place")
    if other is None or (parser.replaces and is_built_in):
        return None
    hint = "write replaces=True to take its place" if is_built_in else "remove one of them"
    return f"{subject} has a handler: {_place(other)}", hint


def _place(handler: Handler[Any]) -> str:
    if place := getattr(handler, "place", ""):
        return str(place)
    return f"{handler.__module__}.{getattr(handler, '__name__', handler)}"
