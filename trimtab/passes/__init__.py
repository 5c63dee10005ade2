"""Rewrites that make a program smaller and faster without changing what it computes.

A pass is a module of this package with what `Pass` asks for; modules with a leading underscore are
helpers. `optimize` runs all passes in the order of their `ORDER`.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from functools import cache
from pathlib import Path
from typing import Protocol, cast

from trimtab import plugins
from trimtab.errors import SchemaError
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
    theirs = plugins.modules("passes", Path(__file__).parent)
    found |= {name: cast(Pass, module) for name, module in theirs.items()}
    ordered = sorted(found, key=lambda name: found[name].ORDER)
    for a, b in itertools.pairwise(ordered):
        if found[a].ORDER == found[b].ORDER:
            raise SchemaError(
                f"passes {a} and {b} have the same ORDER",
                where="trimtab/passes",
                hint="give the newer one a number of its own",
            )
    return {name: found[name] for name in ordered}


def simplify(program: Program, before: str) -> Program:
    """A twin of a program that was not optimised, after the passes in front of the one called
    `before`; it can be optimised as any other.
    """
    twin = program.copy()
    twin.source = program.source or program
    for name, rewrite in passes().items():
        if name == before:
            break
        rewrite.run(twin)
    return twin


def optimize(program: Program) -> Program:
    """The optimised twin of `program`, which stays as it is and becomes the twin's `source`.

    A program that was optimised before is only copied.
    """
    twin = program.copy()
    if twin.passes:
        return twin
    twin.source = program.source or program
    for name, rewrite in passes().items():
        rewrite.run(twin)
        twin.passes.append(name)
    return twin
