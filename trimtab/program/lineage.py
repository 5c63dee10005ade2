"""What the operators of a network became when it was optimized and planned."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.program import Op, Program

CONVERSION = "convert_layout"  # comes in with the name of an output whose operator is another


def becomes(before: Program, after: Program) -> list[int | None]:
    """For each operator of `before` the place in `after` of the one that computes it now; None for
    those of constants alone, which were folded.

    Passes keep names: an operator that fuses several has the name or the output of one of them. Of
    the others, sums of products went into the next one that is named, as a depthwise convolution
    goes into the 1x1 behind it; the rest into the one before, as an activation does.
    """
    named: dict[str, int] = {}
    for place, op in enumerate(after.ops):
        if not op.schema.prepares and op.type != CONVERSION:
            named |= dict.fromkeys((op.name, *op.outputs), place)
    own = [_first(named, (op.name, *op.outputs)) for op in before.ops]
    ahead = [*own]
    readers: dict[str, int] = {}
    for i in reversed(range(len(before.ops))):
        if ahead[i] is None:
            following = _first(readers, before.ops[i].outputs)
            ahead[i] = None if following is None else ahead[following]
        readers |= dict.fromkeys(before.ops[i].inputs, i)
    makers: dict[str, int] = {}
    found: list[int | None] = []
    for i, op in enumerate(before.ops):
        source = _first(makers, op.inputs)
        behind = ahead[i] if op.schema.macs or source is None else found[source]
        found.append(None if _is_constant(op, before) else behind if own[i] is None else own[i])
        makers |= dict.fromkeys(op.outputs, i)
    return found


def _first(places: dict[str, int], names: Iterable[str]) -> int | None:
    return next((places[name] for name in names if name in places), None)


def _is_constant(op: Op, program: Program) -> bool:
    return all(program.vars[name].data is not None for name in op.inputs if name)
