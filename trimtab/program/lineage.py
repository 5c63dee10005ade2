"""Lineage: the operator of an optimized program that computes each operator of the original one."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.program import Op, Program

# Named after a graph output, although another operator computes it.
CONVERSION = "convert_layout"


def successors(before: Program, after: Program) -> list[int | None]:
    """The index of the operator of `after` that computes each operator of `before`; None if it was
    folded into a constant.

    Passes keep names: a fused operator has the name or the output of one of its originals. Of the
    other originals, sums of products belong to the next named operator, as a depthwise convolution
    belongs to the following 1x1 convolution. The rest belong to the previous one, as activations.
    """
    indices: dict[str, int] = {}
    for index, op in enumerate(after.ops):
        if not op.schema.prepares and op.type != CONVERSION:
            indices |= dict.fromkeys((op.name, *op.outputs), index)
    by_name = [_first(indices, (op.name, *op.outputs)) for op in before.ops]
    next_index = [*by_name]
    readers: dict[str, int] = {}
    for i in reversed(range(len(before.ops))):
        if next_index[i] is None:
            reader = _first(readers, before.ops[i].outputs)
            next_index[i] = None if reader is None else next_index[reader]
        readers |= dict.fromkeys(before.ops[i].inputs, i)
    producers: dict[str, int] = {}
    result: list[int | None] = []
    for i, op in enumerate(before.ops):
        producer = _first(producers, op.inputs)
        neighbor = next_index[i] if op.schema.macs or producer is None else result[producer]
        index_or_none = neighbor if by_name[i] is None else by_name[i]
        result.append(None if _is_constant(op, before) else index_or_none)
        producers |= dict.fromkeys(op.outputs, i)
    return result


def _first(indices: dict[str, int], names: Iterable[str]) -> int | None:
    return next((indices[name] for name in names if name in indices), None)


def _is_constant(op: Op, program: Program) -> bool:
    return all(program.vars[name].data is not None for name in op.inputs if name)
