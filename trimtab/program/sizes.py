"""Sizes that are not the same in every run: those of free dimensions, and those that depend on
data. The shapes of a program are the largest ones, which a rule must not take for those of every
run.
"""

from __future__ import annotations

from trimtab.errors import ProgramError
from trimtab.program import shapes
from trimtab.program.block import Op
from trimtab.program.program import Program

Shape = tuple[int, ...]

UNKNOWN = -1


def smallest(program: Program) -> dict[str, Shape]:
    """The shape of every tensor if the inputs have their smallest sizes and data select nothing;
    UNKNOWN in all dimensions where an operator allows no such sizes. Sizes that an operator that
    counts sets are 0, also those that it never changes.
    """
    result = {name: var.shape for name, var in program.vars.items()}
    for op in program.ops:
        if op.type == "free_sizes":
            _set_inputs(op, result)
    for op in program.steps:
        if op.counts:
            result |= {name: (0,) * len(result[name]) for name in op.outputs}
        elif any(name and result[name] != program.vars[name].shape for name in op.inputs):
            result |= _inferred(program, op, result)
    return result


def _set_inputs(op: Op, result: dict[str, Shape]) -> None:
    at, minimum = 0, op.attributes["minimum"]
    for name in op.inputs:
        rank = len(result[name])
        result[name] = tuple(minimum[at : at + rank])
        at += rank


def _inferred(program: Program, op: Op, sizes: dict[str, Shape]) -> dict[str, Shape]:
    """The shapes of the results for operands of these sizes."""
    unknown = {name: (UNKNOWN,) * len(sizes[name]) for name in op.outputs}
    if any(UNKNOWN in sizes[name] for name in op.inputs if name):
        return unknown
    operands = [(sizes[name], program.vars[name].dtype) if name else None for name in op.inputs]
    try:
        results = shapes.infer(op.schema, operands, op.attributes, len(op.outputs), op.name)
    except ProgramError:
        return unknown
    return dict(zip(op.outputs, (shape for shape, _ in results), strict=True))
