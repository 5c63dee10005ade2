"""Regions: the operators before planning that one operator of a plan stands for, which this machine
computes alone, with the portable kernels and the direct algorithms.

The values of a region's inputs are those that the device computed, so errors of earlier operators
are no errors of this one.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.planner import algorithms, planner
from trimtab.planner.plan_file import Choice, Plan, operator_keys
from trimtab.program import Op, Program
from trimtab.session import Session
from trimtab.target import Target

Array = NDArray[Any]
EXACT = Plan(algorithms=(algorithms.DIRECT,))


@dataclass(frozen=True)
class Region:
    """A part of a network as a program of its own, whose inputs and outputs are the tensors
    `inputs` and `outputs` of the network, in plain layout.
    """

    program: Program
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def compute(
        self, values: Mapping[str, Array], target: Target, plan: Plan = EXACT
    ) -> list[Array]:
        """The outputs for the values of the inputs, by the names in the network.

        PlanError or ProgramError if this machine cannot compute it.
        """
        session = Session(planner.plan(self.program, target, plan))
        names = zip(self.program.inputs, self.inputs, strict=True)
        results = session.run({own: np.ascontiguousarray(values[name]) for own, name in names})
        return [results[name] for name in self.program.outputs]


def same_algorithms(part: Program, plan: Plan) -> Plan:
    """The plan of a region by the algorithms, without the kernels, of a network's plan."""
    keys = {*operator_keys(part)}
    chosen = {key: one.algorithm for key, one in plan.operators.items() if key in keys}
    choices = {key: Choice(algorithm) for key, algorithm in chosen.items() if algorithm}
    return replace(EXACT, operators=choices)


def region(program: Program, computed: Container[str], outputs: Sequence[str]) -> Region:
    """The part of an unplanned program that computes `outputs` from its graph inputs and from
    `computed` tensors.
    """
    makers = {output: op for op in program.ops for output in op.outputs}
    needed: set[int] = set()
    pending, ends = [makers[output] for output in outputs], dict.fromkeys("")
    while pending:
        op = pending.pop()
        if id(op) in needed:
            continue
        needed.add(id(op))
        for operand in filter(None, op.inputs):
            is_end = operand in computed or operand in program.inputs
            if not is_end and operand in makers:
                pending.append(makers[operand])
            elif program.vars[operand].data is None:
                ends[operand] = None
    ops = [op for op in program.ops if id(op) in needed]
    results = {output for op in ops for output in op.outputs}
    return _cut(program, ops, [end for end in ends if end not in results], outputs)


def alone(program: Program, op: Op) -> Region:
    """One operator of a program, which no other version of the program has."""
    inputs = [name for name in dict.fromkeys(op.inputs) if name and not _is_constant(program, name)]
    return _cut(program, [op], inputs, op.outputs)


def _is_constant(program: Program, name: str) -> bool:
    return program.vars[name].data is not None


def _cut(
    program: Program, ops: Sequence[Op], inputs: Sequence[str], outputs: Sequence[str]
) -> Region:
    twin = Program(ops[-1].name)
    twin.passes = list(program.passes)
    used = {n for op in ops for n in (*op.inputs, *op.outputs) if n} | {*inputs}
    for tensor in sorted(used):
        twin.vars[tensor] = replace(program.vars[tensor], parent="", channel=0)
    twin.inputs = [_plain(twin, tensor, "in") for tensor in inputs]
    for plain, tensor in zip(twin.inputs, inputs, strict=True):
        if plain != tensor:
            _convert(twin, plain, tensor, "nhwc")
    twin.ops.extend(Op(o.type, [*o.inputs], [*o.outputs], {**o.attributes}, o.name) for o in ops)
    twin.outputs = [_plain(twin, tensor, "out") for tensor in outputs]
    for plain, tensor in zip(twin.outputs, outputs, strict=True):
        if plain != tensor:
            _convert(twin, tensor, plain, "plain")
    return Region(twin, tuple(inputs), tuple(outputs))


def _plain(program: Program, tensor: str, end: str) -> str:
    """A tensor, or its new twin in plain layout, in which graph inputs and outputs are."""
    var = program.vars[tensor]
    if var.layout == "plain":
        return tensor
    name = program.block.new_name(f"{tensor}.{end}")
    program.vars[name] = replace(var, name=name, layout="plain")
    return name


def _convert(program: Program, source: str, result: str, layout: str) -> None:
    """Appends a conversion to a layout, whose result exists already."""
    var = program.vars.pop(result)
    op = program.block.make_op("convert_layout", [source], {"layout": layout}, [result])
    program.vars[result] = var
    program.ops.append(op)
