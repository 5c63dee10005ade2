"""Heads: what turns a network's raw results into boxes, classes or labels, as operators of the
program (docs/boxes.md).

A head is a module of this package, found by its name, that implements `Head`. Modules with a
leading underscore are helpers.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

from trimtab.errors import TrimtabError, UsageError
from trimtab.heads import auto
from trimtab.heads._builder import HeadBuilder
from trimtab.heads._layout import with_plain_outputs
from trimtab.heads._proof import Proof as Proof
from trimtab.heads._proof import reasons
from trimtab.heads._reading import Reading
from trimtab.heads._request import HeadRequest as HeadRequest
from trimtab.program import Program

OUTPUTS = {"boxes", "count", "labels", "points", "corners", "masks", "scores", "classes", "depth"}
"""The names of what heads compute."""


class Head(Protocol):
    """The interface of a head. The first paragraph of its docstring describes it in docs/boxes.md.

    `tensors` returns the raw tensors that the head reads: tensors inside the network that the rest
    of it decodes to its outputs, or the outputs. `append` adds the head's operators behind these,
    which are then the outputs, names the new outputs, and declares its `Reading` of the tensors,
    which `prove` checks.
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


def prove(program: Program, request: HeadRequest) -> Proof:
    """The head's reading of a network, and what proves it: names of classes, grids of the image,
    and, where it reads probabilities, a run of the network with noise. Of "auto" the head that the
    model's file allows and that nothing contradicts.

    UsageError if the head does not fit, or nothing proves its reading, or of "auto" several, and
    with the heads that would fit if the file names none.
    """
    _check_not_planned(program, request)
    if request.name != auto.NAME:
        return _proven(*_read(program, request), request)
    proofs: list[Proof] = []
    refusals = []
    for name in program.hints.heads or [name for name in names() if name != auto.NAME]:
        one = replace(request, name=name)
        try:
            cut, whole = _read(program, one)
            same = (_is_same(whole.reading, proof.reading) for proof in proofs)
            if not (program.hints.heads and any(same)):
                proofs.append(_proven(cut, whole, one))
        except UsageError as error:
            refusals.append(error)
    if not program.hints.heads:
        raise auto.unnamed(program, proofs)
    if len(proofs) == 1:
        return proofs[0]
    if not proofs and len(refusals) == 1:
        raise refusals[0]
    if not proofs:
        what = ["no head that the model's file allows fits:", *(e.what for e in refusals)]
        hint = "name a head and what it may need, such as yolov8:classes=80; see docs/boxes.md"
    else:
        what = ["the results have several readings, and nothing decides:", *map(str, proofs)]
        hint = f"name one of the heads: {' or '.join(proof.request.name for proof in proofs)}"
    raise UsageError("\n  ".join(what), where=program.name, hint=hint)


def _read(program: Program, request: HeadRequest) -> tuple[Program, HeadBuilder]:
    """The network that ends with the tensors that a head reads, and the builder that has attached
    the head.
    """
    cut = program.copy()
    with_plain_outputs(cut)
    cut.keep_only(find(request.name).tensors(cut))
    return cut, _attached(cut, request)


def _is_same(first: Reading | None, other: Reading) -> bool:
    """Whether two heads take tensors for the same boxes, of which the first one counts: whether
    they suppress each other is up to the model's file.
    """
    if first is None or (first.classes, first.rows) != (other.classes, other.rows):
        return False
    axes = [{v.axis for v in of.values if v.what == "scores"} for of in (first, other)]
    return not all(axes) or axes[0] == axes[1]


def _proven(cut: Program, whole: HeadBuilder, request: HeadRequest) -> Proof:
    reading, hints = whole.reading, cut.hints
    assert reading is not None, f"the head {request.name} declares no reading"
    entry = [f"the file says {hints.entry}"] if hints.entry and request.name in hints.heads else []
    evidence = (*reasons(whole.raw, reading, request), *entry)
    cut.hints = replace(hints, heads=(request.name,))
    return Proof(request, reading, cut, evidence)


def without_decoding(program: Program, request: HeadRequest) -> Program:
    """A copy of the network whose outputs are the raw tensors of its head. Errors of `prove`."""
    return prove(program, request).program


def with_head(program: Program, request: HeadRequest) -> Program:
    """A copy of a network, whose outputs are raw tensors, with the head behind them. The reading is
    that of `without_decoding`, and is not proven again.
    """
    _check_not_planned(program, request)
    if request.name == auto.NAME:
        names = auto.candidates(program)
        name = names[0] if len(names) == 1 else prove(program, request).request.name
        request = replace(request, name=name)
    return _attached(program, request).program


def _attached(program: Program, request: HeadRequest) -> HeadBuilder:
    """The builder that has attached a head to a copy of a network."""
    head = find(request.name)
    copy = program.copy()
    free_names(copy)
    builder = HeadBuilder(copy, request)
    try:
        head.append(builder)
    except UsageError:
        raise
    except TrimtabError as error:
        raise UsageError(
            f"the head {request.name} does not fit this network: {error.what}",
            where=program.name,
            hint="check its options, and the outputs that `inv inspect` shows",
        ) from error
    return builder


def free_names(program: Program) -> None:
    """Renames tensors that have the names of a head's outputs, as exports may; inputs stay."""
    for name in OUTPUTS & program.vars.keys() - {*program.inputs}:
        free = program.block.new_name(f"{name}.raw")
        program.vars[free] = program.vars.pop(name)
        program.vars[free].name = free
        program.block.replace_uses(name, free)
        for op in program.ops:
            op.outputs = [free if output == name else output for output in op.outputs]
        program.outputs = [free if output == name else output for output in program.outputs]


def attach_head(program: Program, head: str, **options: Any) -> Program:
    """A copy of `program` with a head, such as "yolov8", that replaces its outputs.

    `options`: fields of `HeadRequest`, such as score=0.25 or classes=80. A network that is
    quantized first keeps raw outputs with `without_decoding`. UsageError for an unknown head or
    option, and for outputs that the head does not fit or whose reading nothing proves.
    """
    proof = prove(program, HeadRequest.of(head, options))
    return with_head(proof.program, proof.request)


def _check_not_planned(program: Program, request: HeadRequest) -> None:
    program.require_fixed_inputs(f"the head {request.name}")
    if program.planned:
        raise UsageError(
            f"a planned program cannot have the head {request.name}",
            where=program.name,
            hint="attach it to the model that was planned",
        )
