"""A channel_shuffle whose result is split into equal parts produces the parts itself."""

from __future__ import annotations

from trimtab.passes._graph import Graph, is_one_of
from trimtab.program import Op, Program

ORDER = 490


def run(program: Program) -> None:
    """Every ShuffleNet unit splits so: one part enters a branch, the other bypasses it."""
    graph = Graph(program)
    for op in graph.ops("channel_shuffle"):
        if len(op.outputs) == 1 and not program.is_output(op.outputs[0]):
            _fuse(graph, op)


def _fuse(graph: Graph, op: Op) -> None:
    readers = graph.readers(op.outputs[0])
    channels = graph.shape(op.outputs[0])[1]
    parts: dict[int, str] = {}
    for reader in readers:
        parts |= _parts(graph, reader)
    count = len(parts)
    equal = all(graph.shape(name)[1] * count == channels for name in parts.values())
    distinct = count == sum(len(reader.outputs) for reader in readers)
    offsets = [i * channels // count for i in range(count)] if count else []
    if count < 2 or not equal or not distinct or sorted(parts) != offsets:
        return
    if any(graph.program.is_output(name) for name in parts.values()):
        return
    shuffle = graph.block.make_op("channel_shuffle", op.inputs, op.attributes, count, op.name)
    graph.insert_after(op, shuffle)
    for offset, part in zip(offsets, shuffle.outputs, strict=True):
        graph.replace_uses(parts[offset], part)
    graph.remove(*readers)


def _parts(graph: Graph, op: Op) -> dict[int, str]:
    """First channel -> result of a split or slice along the channels; {} for any other operator."""
    if op.type == "split" and op.attributes["axis"] in (1, -3):
        sizes = op.attributes["sizes"]
        return {sum(sizes[:i]): name for i, name in enumerate(op.outputs)}
    if is_one_of(op, "slice") and op.attributes["axes"] in ((1,), (-3,)):
        start, channels = op.attributes["starts"][0], graph.shape(op.inputs[0])[1]
        if op.attributes["steps"] in ((), (1,)):
            return {start + channels if start < 0 else start: op.outputs[0]}
    return {}
