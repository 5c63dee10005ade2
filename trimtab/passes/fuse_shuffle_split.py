"""channel_shuffle whose result is cut into equal parts makes the parts itself."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 490


def run(program: Program) -> None:
    """Every ShuffleNet unit does so: one part goes through a branch, the other one past it."""
    graph = Graph(program)
    for op in graph.ops("channel_shuffle"):
        if len(op.outputs) == 1 and not program.is_output(op.outputs[0]):
            _cut(graph, op)


def _cut(graph: Graph, op: Op) -> None:
    readers = graph.readers(op.outputs[0])
    channels = graph.shape(op.outputs[0])[1]
    begins: dict[int, str] = {}
    for reader in readers:
        begins |= _begins(graph, reader)
    count = len(begins)
    equal = all(graph.shape(name)[1] * count == channels for name in begins.values())
    distinct = count == sum(len(reader.outputs) for reader in readers)
    whole = [i * channels // count for i in range(count)] if count else []
    if count < 2 or not equal or not distinct or sorted(begins) != whole:
        return
    if any(graph.program.is_output(name) for name in begins.values()):
        return
    cut = graph.block.make_op("channel_shuffle", op.inputs, op.attributes, count, op.name)
    graph.insert_after(op, cut)
    for begin, part in zip(whole, cut.outputs, strict=True):
        graph.replace_uses(begins[begin], part)
    graph.remove(*readers)


def _begins(graph: Graph, op: Op) -> dict[int, str]:
    """First channel -> name of what a split or slice takes; none if it does anything else."""
    if op.type == "split" and op.attributes["axis"] in (1, -3):
        sizes = op.attributes["sizes"]
        return {sum(sizes[:i]): name for i, name in enumerate(op.outputs)}
    if op.type == "slice" and op.attributes["axes"] in ((1,), (-3,)):
        start, channels = op.attributes["starts"][0], graph.shape(op.inputs[0])[1]
        if op.attributes["steps"] in ((), (1,)):
            return {start + channels if start < 0 else start: op.outputs[0]}
    return {}
