"""The order of nodes: files may list them in any order, importers need producers first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import onnx

from trimtab.errors import ImportModelError

_SHOWN = 8  # nodes of a cycle, in messages


def sort_nodes(model: onnx.ModelProto, path: Path) -> None:
    """Sorts the nodes of the graph, of its subgraphs and of functions, unless they are sorted.

    ImportModelError names the nodes of a cycle.
    """
    for container in (model.graph, *model.functions):
        _sort(container, path)


def _sort(container: onnx.GraphProto | onnx.FunctionProto, path: Path) -> None:
    for graph in subgraphs(container.node):
        _sort(graph, path)
    order = _order(container.node, path)
    if order != list(range(len(order))):
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in container.node]
        del container.node[:]
        container.node.extend(nodes[index] for index in order)


def _order(nodes: Sequence[onnx.NodeProto], path: Path) -> list[int]:
    """The indices of `nodes`, each after those whose outputs it reads, otherwise in file order."""
    producers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            producers.setdefault(name, index)
    order: dict[int, None] = {}
    for start in range(len(nodes)):
        # The path of a depth-first search: nodes, and for each the producers not yet visited.
        pending: dict[int, Iterator[int]] = {}
        following: int | None = start
        while following is not None or pending:
            if following is None:
                order[pending.popitem()[0]] = None
            elif following in pending:
                cycle = list(pending)
                raise _cycle([nodes[i] for i in cycle[cycle.index(following) :]], path)
            elif following not in order:
                reads = [producers[name] for name in _reads(nodes[following]) if name in producers]
                pending[following] = iter(reads)
            following = next(pending[next(reversed(pending))], None) if pending else None
    return list(order)


def _cycle(nodes: Sequence[onnx.NodeProto], path: Path) -> ImportModelError:
    """The exception for a cycle: each of `nodes` reads an output of the next one, and the last
    node one of the first.
    """
    names = [node.name or next(filter(None, node.output)) for node in reversed(nodes)]
    shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], f"{len(names) - _SHOWN} more"]
    return ImportModelError(
        f"its nodes form a cycle: {' -> '.join([*shown, names[0]])}",
        where=str(path),
        hint="a network with a cycle has no order of computation: export it again",
    )


def subgraphs(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    """The graphs in the attributes of nodes, such as the branches of an If."""
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """The values that a node reads, including those of its subgraphs from the graph around it."""
    yield from filter(None, node.input)
    for graph in subgraphs([node]):
        own = {value.name for value in (*graph.input, *graph.initializer)}
        own.update(tensor.values.name for tensor in graph.sparse_initializer)
        own.update(name for inner in graph.node for name in inner.output)
        outer = {name for inner in graph.node for name in _reads(inner)}
        outer.update(info.name for info in graph.output)
        yield from sorted(outer - own)
