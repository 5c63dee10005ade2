"""Handlers: functions that make operators of the engine of one type of layer."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

from trimtab import plugins
from trimtab.errors import SchemaError

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
            self._add_plugins()

    def _add_plugins(self) -> None:
        from trimtab.importers import _parsers  # which stands on what handlers see

        framework = self._package.rpartition(".")[2].removesuffix("_ops")
        for parser in _parsers.parsers(framework):
            plugin = plugins.owner(parser.parse.__module__)
            other = self._found.get(parser.origin)
            if other is not None and not parser.replaces and plugin is not None:
                with plugins.tolerated(plugin):
                    raise plugin.error(
                        f"'{parser.origin}' of {framework} has a handler: {_place(other)}",
                        parser.place,
                        "write replaces=True to take its place",
                    )
            else:
                self._found[parser.origin] = cast(Handler[L], parser)

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


def _place(handler: Handler[Any]) -> str:
    if place := getattr(handler, "place", ""):
        return str(place)
    return f"{handler.__module__}.{getattr(handler, '__name__', handler)}"
