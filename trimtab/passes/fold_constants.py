"""Operators that depend only on constants are computed with the engine's kernels, unless the model
file would grow by more than 64 KB.
"""

from __future__ import annotations

from typing import Any

from trimtab import kernels, schema
from trimtab.engine import EngineError, engine
from trimtab.errors import ProgramError
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program, attributes

ORDER = 100

# A result may be this much larger than the operands it replaces: expanded constants bloat files.
ALLOWED_GROWTH_BYTES = 64 << 10

# Limits of the computed bytes, so that no file takes unbounded time.
MIN_COMPUTED_BYTES = 64 << 20
COMPUTED_PER_WEIGHT_BYTE = 8


def run(program: Program) -> None:
    """One forward sweep folds chains of constants from their start."""
    graph = Graph(program)
    weights = sum(var.bytes for var in program.constants())
    computable = MIN_COMPUTED_BYTES + COMPUTED_PER_WEIGHT_BYTE * weights
    for op in graph.ops():
        if _is_foldable(graph, op) and not any(program.is_output(out) for out in op.outputs):
            computable -= sum(graph.var(name).bytes for name in op.outputs)
            if computable < 0:
                return
            _fold(graph, op)


def _is_foldable(graph: Graph, op: Op) -> bool:
    if any(graph.constant(name) is None for name in op.inputs if name):
        return False
    # They need another layout or packed weights, and networks do not compute constants with them.
    if op.schema.layout == "nhwc" or any(port.constant for port in op.schema.inputs):
        return False
    if op.counts:
        return False
    # The call below passes no quantization parameters; fold_dequantize follows later.
    if op.type in ("dequantize_linear", "quantize_linear"):
        return False
    before = sum(graph.var(name).bytes for name in set(op.inputs) if name)
    after = sum(graph.var(name).bytes for name in op.outputs)
    return after <= before + ALLOWED_GROWTH_BYTES


def with_portable_kernels(op: Op, dtype: str) -> dict[str, Any]:
    """The attributes of an operator that computes in `dtype`, with portable kernels."""
    values = dict(op.attributes)
    for attribute in op.schema.attributes:
        if attribute.type == "kernel" and not attribute.optional:
            values[attribute.name] = kernels.kernel(
                f"{attribute.families[0]}_{dtype}_portable"
            ).name
    return values


def _fold(graph: Graph, op: Op) -> None:
    operands = []
    for name in op.inputs:
        data = graph.constant(name)
        operands.append(None if data is None else (data, schema.DTYPES[graph.var(name).dtype]))
    block = attributes.encode(op.schema, with_portable_kernels(op, graph.block.dtype(op)))
    try:
        results = engine().run_operator(op.schema.id, operands, block, len(op.outputs))
    except EngineError as e:
        raise ProgramError(e.args[1], where=f"operator {op.name}") from None
    for name, data in zip(op.outputs, results, strict=True):
        var = graph.var(name)
        var.data = data.reshape(var.shape)
    graph.remove(op)
