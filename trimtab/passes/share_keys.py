"""Keys and values that are repeated for groups of queries are read by all queries of a group, and
never repeated in memory.

Ainslie et al. 2023, "GQA: Training Generalized Multi-Query Transformer Models".
"""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 635


def run(program: Program) -> None:
    """A group becomes a dimension, along which keys and values broadcast; keys and values of one
    head broadcast as they are.
    """
    graph = Graph(program)
    if graph.is_free:
        return
    for op in graph.ops("attention"):
        _share(graph, op)


def _share(graph: Graph, op: Op) -> None:
    q, *others = op.inputs
    batch, rows = graph.shape(q)[:-2], graph.shape(q)[-2:]
    graph.set_inputs(op, [q, *(_before_expanding(graph, name, batch) for name in others)])
    k, v, *mask = op.inputs[1:]
    keys, values = (_before_repeating(graph, name) for name in (k, v))
    if not keys or not values or any(graph.shape(name)[:-2] != batch for name in (k, v)):
        return
    heads = graph.shape(keys)[-4]
    if graph.shape(values)[-4] != heads:
        return
    outer, groups = batch[:-1], (heads, batch[-1] // heads)
    operands = [_reshaped(graph, op, q, (*outer, *groups, *rows)), keys, values]
    operands += [_grouped_mask(graph, op, name, groups) for name in mask]
    attention = graph.block.make_op("attention", operands, dict(op.attributes), name=op.name)
    graph.insert_before(op, attention)
    shape = graph.shape(op.outputs[0])
    graph.substitute(op, "reshape", attention.outputs, {"shape": shape})


def _grouped_mask(graph: Graph, op: Op, name: str, groups: tuple[int, int]) -> str:
    """A mask whose heads, if it has any, are those of the keys, and the queries of each."""
    shape = graph.shape(name)
    if len(shape) < 3:
        return name
    lead = groups if shape[-3] > 1 else (1, 1)
    return _reshaped(graph, op, name, (*shape[:-3], *lead, *shape[-2:]))


def _reshaped(graph: Graph, op: Op, name: str, shape: tuple[int, ...]) -> str:
    reshape = graph.block.make_op("reshape", [name], {"shape": shape}, name=op.name)
    graph.insert_before(op, reshape)
    return reshape.outputs[0]


def _before_expanding(graph: Graph, name: str, batch: tuple[int, ...]) -> str:
    """The operand that `name`: [*batch, rows, columns] is expanded from, if its matrices are the
    same; else `name`.
    """
    expand = graph.producer(name, "expand")
    shape = graph.shape(name)
    if expand is None or shape[:-2] != batch or graph.shape(expand.inputs[0])[-2:] != shape[-2:]:
        return name
    return expand.inputs[0]


def _before_repeating(graph: Graph, name: str) -> str:
    """[..., heads, 1, rows, columns] of `name`: [..., heads * group, rows, columns], in which each
    matrix is repeated `group` times; "" if it is not.
    """
    source = name
    while merge := graph.producer(source, "reshape"):
        source = merge.inputs[0]
    repeat = graph.producer(source, "expand", "tile")
    if repeat is None:
        return ""
    single, repeated = (graph.shape(n) for n in (repeat.inputs[0], repeat.outputs[0]))
    if len(single) != len(repeated) or len(single) < 4 or single[-3] != 1:
        return ""
    *outer, heads, group, rows, columns = repeated
    one_by_one = (*outer, heads, 1, rows, columns)
    is_merged = graph.shape(name) == (*outer, heads * group, rows, columns)
    return repeat.inputs[0] if is_merged and single == one_by_one else ""
