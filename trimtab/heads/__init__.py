"""Heads: what turns a network's raw results into boxes, classes or labels, as operators of the
program (docs/boxes.md).

A head is a module of this package, found by its name, that implements `Head`. Modules with a
leading underscore are helpers.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any, Protocol, cast

from trimtab.errors import TrimtabError, UsageError
from trimtab.heads._builder import HeadBuilder
from trimtab.heads._request import HeadRequest as HeadRequest
from trimtab.program import Program

OUTPUTS = {"boxes", "count", "labels", "points", "masks", "scores", "classes"}
"""The names of what heads compute."""


class Head(Protocol):
    """The interface of a head. The first paragraph of its docstring describes it in docs/boxes.md.

    `tensors` returns the raw tensors that the head reads: tensors inside the network that the rest
    of it decodes to its outputs, or the outputs. `append` adds the head's operators behind these,
    which are then the outputs, and names the new outputs.
    """

    def tensors(self, program: Program) -> Sequence[str]:
        """The tensors that `append` reads."""

    def append(self, builder: HeadBuilder) -> None:
        """Adds the operators of the head. UsageError if the tensors do not fit it."""


def names() -> list[str]:
    """The heads, sorted."""
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in modules if not name.startswith("_"))


def find(name: str) -> Head:
    """The head of that name; UsageError if there is none."""
    if name not in names():
        raise UsageError(f"there is no head {name!r}", hint=f"one of {', '.join(names())}")
    return cast(Head, importlib.import_module(f"{__name__}.{name}"))


def without_decoding(program: Program, request: HeadRequest) -> Program:
    """A copy of the network whose outputs are the raw tensors of its head."""
    head = find(request.name)
    _check_not_planned(program, request)
    cut = program.copy()
    cut.keep_only(head.tensors(cut))
    return cut


def with_head(program: Program, request: HeadRequest) -> Program:
    """A copy of a network, whose outputs are raw tensors, with the head behind them."""
    head = find(request.name)
    _check_not_planned(program, request)
    copy = program.copy()
    _free_names(copy)
    try:
        head.append(HeadBuilder(copy, request))
    except UsageError:
        raise
    except TrimtabError as error:
        raise UsageError(
            f"the head {request.name} does not fit this network: {error.what}",
            where=program.name,
            hint="check its options, and the outputs that `inv inspect` shows",
        ) from error
    return copy


def _free_names(program: Program) -> None:
    """Renames computed tensors that have the names of a head's outputs, as exports may."""
    for op in program.ops:
        for name in OUTPUTS & {*op.outputs}:
            free = program.block.new_name(f"{name}.raw")
            program.vars[free] = program.vars.pop(name)
            program.vars[free].name = free
            program.block.replace_uses(name, free)
            op.outputs = [free if output == name else output for output in op.outputs]
            program.outputs = [free if output == name else output for output in program.outputs]


def attach_head(program: Program, head: str, **options: Any) -> Program:
    """A copy of `program` with a head, such as "yolov8", that replaces its outputs.

    `options`: fields of `HeadRequest`, such as score=0.25 or classes=80. A network that is
    quantized first keeps raw outputs with `without_decoding`. UsageError for an unknown head or
    option, and for outputs that the head does not fit.
    """
    request = HeadRequest.of(head, options)
    return with_head(without_decoding(program, request), request)


def _check_not_planned(program: Program, request: HeadRequest) -> None:
    program.require_fixed_sizes(f"the head {request.name}")
    if program.planned:
        raise UsageError(
            f"a planned program cannot have the head {request.name}",
            where=program.name,
            hint="attach it to the model that was planned",
        )
