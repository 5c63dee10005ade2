"""Rewrites that make a program smaller and faster without changing what it computes.

A pass is a module of this package with what `Pass` asks for; modules with a leading underscore are
helpers. `optimize` runs all passes in the order of their `ORDER`.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from trimtab import plugins
from trimtab.errors import SchemaError, TrimtabError
from trimtab.program import Program


class Pass(Protocol):
    """What a module of this package provides; its docstring's first line says what it does."""

    ORDER: int
    """Its place: passes run by rising, distinct numbers."""

    def run(self, program: Program) -> None:
        """Rewrites `program` in place; the names of its inputs and outputs stay."""


@cache
def passes() -> dict[str, Pass]:
    """Every pass by its name (that of its module), in the order they run."""
    names = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    found = {name: cast(Pass, importlib.import_module(f"{__name__}.{name}")) for name in names}
    for name, module in plugins.modules("passes", Path(__file__).parent, ("ORDER", "run")).items():
        if plugin := plugins.owner(module.__name__):
            with plugins.isolated(plugin):
                _check_order(plugin, module, found)
                found[name] = cast(Pass, module)
    ordered = sorted(found, key=lambda name: found[name].ORDER)
    for a, b in itertools.pairwise(ordered):
        if found[a].ORDER == found[b].ORDER:
            raise SchemaError(
                f"passes {a} and {b} have the same ORDER",
                where="trimtab/passes",
                hint="give the newer one a number of its own",
            )
    return {name: found[name] for name in ordered}


def _check_order(plugin: plugins.Plugin, module: ModuleType, found: Mapping[str, Pass]) -> None:
    """PluginError when a plug-in's pass cannot be put among those that were `found`."""
    if type(module.ORDER) is not int:
        raise plugin.error(f"ORDER must be a whole number, not {module.ORDER!r}", _file(module))
    for name, other in found.items():
        if other.ORDER == module.ORDER:
            raise plugin.error(
                f"ORDER {module.ORDER} is that of {name} in {_file(other)}",
                _file(module),
                "give it a number of its own: docs/passes.md has the order",
            )


def _file(module: object) -> str:
    return str(getattr(module, "__file__", ""))


def _apply(rewrite: Pass, program: Program) -> None:
    """Runs a pass; PluginError, with the line, for whatever goes wrong in one of a plug-in."""
    try:
        rewrite.run(program)
    except TrimtabError:
        raise
    except Exception as error:
        plugin = plugins.owner(cast(ModuleType, rewrite).__name__)
        if plugin is None:
            raise
        what = f"{type(error).__name__}: {error}"
        raise plugin.error(what, plugins.source_line(plugin.folder, error)) from error


def simplify(program: Program, before: str) -> Program:
    """A twin of a program that was not optimized, after the passes in front of the one called
    `before`; it can be optimized as any other.
    """
    twin = program.copy()
    twin.source = program.source or program
    for name, rewrite in passes().items():
        if name == before:
            break
        _apply(rewrite, twin)
    return twin


def optimize(program: Program) -> Program:
    """The optimized twin of `program`, which stays as it is and becomes the twin's `source`.

    A program that was optimized before is only copied.
    """
    twin = program.copy()
    if twin.passes:
        return twin
    twin.source = program.source or program
    for name, rewrite in passes().items():
        _apply(rewrite, twin)
        twin.passes.append(name)
    return twin
