"""Identical operators with identical operands are merged (common subexpression elimination)."""

from __future__ import annotations

from typing import Any

from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 120


def run(program: Program) -> None:
    """A forward sweep merges equal chains from their start."""
    graph = Graph(program)
    results: dict[Any, list[str]] = {}
    for op in graph.ops():
        quantizations = tuple(graph.var(name).quantization for name in op.outputs)
        key = (op.type, tuple(op.inputs), tuple(sorted(op.attributes.items())), quantizations)
        twin = results.setdefault(key, op.outputs)
        if twin is op.outputs or any(program.is_output(name) for name in op.outputs):
            continue
        for mine, other in zip(op.outputs, twin, strict=True):
            graph.replace_uses(mine, other)
        graph.remove(op)
