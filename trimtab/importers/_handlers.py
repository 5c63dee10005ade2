"""Handlers: functions that translate one type of layer into operators of the engine."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from trimtab.errors import SchemaError
from trimtab.importers import _parsers
from trimtab.importers._parsers import OperatorParser

L = TypeVar("L")
Handler = Callable[[L], Any]


class Handlers(Mapping[str, Handler[L]]):
    """The handlers of one format by layer type.

    The format's own handlers are in the package of `module`, whose modules are imported at the
    first look-up. Plug-ins and scripts may add handlers at any time.
    """

    def __init__(self, module: str) -> None:
        self._package = module.rpartition(".")[0]
        self._handlers: dict[str, Handler[L]] = {}
        self._complete = False
        self._parser_count = 0  # parsers of plug-ins that are registered here

    def handles(self, *types: str) -> Callable[[Handler[L]], Handler[L]]:
        """Registers the decorated function as the handler of these layer types.

        SchemaError names both functions if a type already has a handler.
        """

        def register(handler: Handler[L]) -> Handler[L]:
            is_foreign = not handler.__module__.startswith(f"{self._package}.")
            if is_foreign:
                self._import()  # so that a conflict is reported for the new handler
            for type in types:
                if type in self._handlers:
                    raise SchemaError(
                        f"'{type}' has two handlers: {_place(self._handlers[type])}"
                        f" and {_place(handler)}",
                        where=self._package,
                        hint="remove one of them, or let it handle another type",
                    )
            self._handlers.update(dict.fromkeys(types, handler))
            if is_foreign:
                _parsers.note_foreign_handler()
            return handler

        return register

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Forgets what plug-ins and scripts add meanwhile, for those that add it again."""
        self._import()
        handlers, count = dict(self._handlers), self._parser_count
        try:
            yield
        finally:
            self._handlers, self._parser_count = handlers, count

    def _import(self) -> None:
        if not self._complete:
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self._package}.{module.name}")
            # The order of the source, whichever modules were imported before.
            self._handlers = dict(sorted(self._handlers.items(), key=_order))
            self._complete = True
        self._add_parsers()

    def _add_parsers(self) -> None:
        """Registers the parsers that plug-ins and scripts have added since the last call. Only one
        parser may replace a handler, and it has to say so.
        """
        framework = self._package.rpartition(".")[2].removesuffix("_ops")
        for parser in _parsers.parsers(framework)[self._parser_count :]:
            with parser.blamed():
                if problem := _conflict(parser, self._handlers.get(parser.origin)):
                    raise parser.error(*problem)
                self._handlers[parser.origin] = cast(Handler[L], parser)
            self._parser_count += 1

    def __getitem__(self, type: str) -> Handler[L]:
        self._import()
        return self._handlers[type]

    def __iter__(self) -> Iterator[str]:
        self._import()
        return iter(self._handlers)

    def __len__(self) -> int:
        self._import()
        return len(self._handlers)


def _order(item: tuple[str, Handler[Any]]) -> tuple[str, int, str]:
    type, handler = item
    code = getattr(handler, "__code__", None)
    return handler.__module__, code.co_firstlineno if code else 0, type


def _conflict(parser: OperatorParser, other: Handler[Any] | None) -> tuple[str, str] | None:
    """Error text and hint if `parser` cannot be registered beside the handler `other`."""
    subject = f"'{parser.origin}' of {parser.framework}"
    if other is None and parser.replaces:
        hint = "remove `replaces`, or check how files spell the type"
        return f"{subject} has no handler to replace", hint
    is_built_in = not hasattr(other, "place")
    if other is None or (parser.replaces and is_built_in):
        return None
    hint = "pass replaces=True to replace it" if is_built_in else "remove one of them"
    return f"{subject} already has a handler: {_place(other)}", hint


def _place(handler: Handler[Any]) -> str:
    if place := getattr(handler, "place", ""):
        return str(place)
    return f"{handler.__module__}.{getattr(handler, '__name__', handler)}"
