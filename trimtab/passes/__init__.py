"""Graph rewrites that make a program smaller and faster and keep its results.

A pass is a module of this package that implements `Pass`. Modules with a leading underscore are
helpers. `optimize` runs all passes in ascending `ORDER`.
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
from trimtab.passes._graph import Graph as Graph  # for the passes of plug-ins
from trimtab.program import Program, states


class Pass(Protocol):
    """The interface of a pass module. The first paragraph of its docstring describes the pass in
    docs/passes.md.
    """

    ORDER: int
    """Position in the sequence of passes; unique."""

    def run(self, program: Program) -> None:
        """Rewrites `program` in place; the names of its inputs and outputs do not change."""


@cache
def passes() -> dict[str, Pass]:
    """Every pass by its module name, in execution order."""
    names = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    modules = {name: cast(Pass, importlib.import_module(f"{__name__}.{name}")) for name in names}
    for name, module in plugins.modules("passes", Path(__file__).parent, ("ORDER", "run")).items():
        if plugin := plugins.owner(module.__name__):
            with plugins.isolated(plugin):
                _check_order(plugin, module, modules)
                modules[name] = cast(Pass, module)
    ordered = sorted(modules, key=lambda name: modules[name].ORDER)
    for a, b in itertools.pairwise(ordered):
        if modules[a].ORDER == modules[b].ORDER:
            raise SchemaError(
                f"passes {a} and {b} have the same ORDER",
                where="trimtab/passes",
                hint="give the newer pass an unused number",
            )
    return {name: modules[name] for name in ordered}


def _check_order(plugin: plugins.Plugin, module: ModuleType, others: Mapping[str, Pass]) -> None:
    """PluginError if the ORDER of a plug-in's pass is not an unused int."""
    if type(module.ORDER) is not int:
        raise plugin.error(f"ORDER must be an int, not {module.ORDER!r}", _file(module))
    for name, other in others.items():
        if other.ORDER == module.ORDER:
            raise plugin.error(
                f"ORDER {module.ORDER} is used by {name} in {_file(other)}",
                _file(module),
                "choose an unused number: docs/passes.md lists the order",
            )


def _file(module: object) -> str:
    return str(getattr(module, "__file__", ""))


def _apply(rewrite: Pass, program: Program) -> None:
    """Runs a pass; an exception in a plug-in's pass becomes a PluginError that names the line.

    ProgramError if it moves a reader of a state behind the state's update.
    """
    try:
        rewrite.run(program)
        states.check(program)
    except TrimtabError:
        raise
    except Exception as error:
        plugin = plugins.owner(cast(ModuleType, rewrite).__name__)
        if plugin is None:
            raise
        message = f"{type(error).__name__}: {error}"
        raise plugin.error(message, plugins.source_line(plugin.folder, error)) from error


def simplify(program: Program, before: str) -> Program:
    """A copy of an unoptimized program after all passes that precede the pass named `before`.

    The copy can be optimized like any other program.
    """
    twin = program.copy()
    twin.source = program.source or program
    for name, rewrite in passes().items():
        if name == before:
            break
        _apply(rewrite, twin)
    return twin


def optimize(program: Program) -> Program:
    """An optimized copy of `program`; the original is unchanged and becomes the copy's `source`.

    A program that is already optimized is only copied.
    """
    twin = program.copy()
    if twin.passes:
        return twin
    twin.source = program.source or program
    for name, rewrite in passes().items():
        _apply(rewrite, twin)
        twin.passes.append(name)
    return twin
