"""States that a program keeps between runs: what the order of their readers and updates must be.

Views share the memory of a state, and the engine runs operators in their order: what reads a state
after its update, or an output that is the state, would have the value of the next run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import ProgramError
from trimtab.program.block import NUMPY_DTYPES, Op
from trimtab.program.program import Program


def check(program: Program) -> None:
    """ProgramError unless each operator that overwrites a state is the last to use it."""
    if not any(op.schema.overwritten for op in program.ops):
        return
    memory: dict[str, str] = {}  # the state of each view
    replaced: dict[str, Op] = {}  # what has overwritten a state
    for op in program.ops:
        for name in op.inputs:
            if writer := replaced.get(memory.get(name, name)):
                raise _late(f"operator {op.name} reads", name, writer, f"operator {op.name}")
        if op.schema.view:
            memory[op.outputs[0]] = memory.get(op.inputs[0], op.inputs[0])
        for name in _overwritten(op):
            replaced[memory.get(name, name)] = op
    for name in program.outputs:
        if writer := replaced.get(memory.get(name, name)):
            raise _late("the network returns", name, writer, f"output {name}")


def _late(reader: str, name: str, writer: Op, where: str) -> ProgramError:
    return ProgramError(
        f"{reader} the state {name!r}, which operator {writer.name} has replaced",
        where=where,
        hint="read it before it is replaced, or read the value that replaces it",
    )


def _overwritten(op: Op) -> list[str]:
    return [op.inputs[i] for i in op.schema.overwritten if i < len(op.inputs)]


def add(program: Program, first: NDArray[np.generic], name: str) -> str:
    """Adds a state before all operators and returns its name; `first`: its first value."""
    number = sum(op.schema.state for op in program.ops)  # equal states are not one
    constant = program.block.add_constant(first, f"{name}.first")
    op = program.block.make_op("state", [constant], {"index": number}, [name], name)
    program.ops.insert(0, op)
    return op.outputs[0]


def replace(program: Program, values: Mapping[str, str]) -> None:
    """Adds the updates of states, by their next values, behind all operators.

    Outputs and next values that are a state itself are copied where the state is replaced first.
    """
    memory, pending = _memory(program), dict(values)
    for name in program.outputs:
        if memory.get(name, name) in values:
            names = _exchange(program, _copied(program, name), name)
            pending = {names.get(k, k): names.get(v, v) for k, v in pending.items()}
    memory = _memory(program)
    while pending:
        free = next((state for state in pending if not _is_read(state, pending, memory)), None)
        if free is None:  # a circle of states that take each other's values
            state = next(iter(pending))
            pending[state] = _copied(program, pending[state])
        else:
            value = pending.pop(free)
            program.block.add_op("update_state", [free, value], {}, 1, f"{free}.next")


def _is_read(state: str, values: Mapping[str, str], memory: Mapping[str, str]) -> bool:
    """Whether another state takes the value of `state`."""
    others = (value for other, value in values.items() if other != state)
    return any(memory.get(value, value) == state for value in others)


def copy_outputs(program: Program) -> dict[str, str]:
    """Replaces outputs that are states by copies with their values in this run; returns the names
    of the states by those of the copies.
    """
    memory = _memory(program)
    replaced = {memory.get(name, name) for op in program.ops for name in _overwritten(op)}
    copies = {
        _copied(program, name): name
        for name in program.outputs
        if memory.get(name, name) in replaced
    }
    names = {name: copy for copy, name in copies.items()}
    program.outputs = [names.get(name, name) for name in program.outputs]
    return copies


def _memory(program: Program) -> dict[str, str]:
    """The first tensor in the memory of each view; a transpose may become one."""
    memory: dict[str, str] = {}
    for op in program.ops:
        if op.schema.view or op.type == "transpose":
            memory[op.outputs[0]] = memory.get(op.inputs[0], op.inputs[0])
    return memory


def _copied(program: Program, name: str) -> str:
    """Adds a copy of a tensor, before the update of the state that it is, and returns its name.

    The result of `update_state` is no view, and no pass removes it.
    """
    memory, var = _memory(program), program.vars[name]
    zeros = np.zeros(var.shape, NUMPY_DTYPES[var.dtype])
    spare = add(program, zeros, program.block.new_name(f"{name}.spare"))
    op = program.block.make_op("update_state", [spare, name], {}, 1, f"{name}.copy")
    state = memory.get(name, name)
    writes = (state in (memory.get(n, n) for n in _overwritten(other)) for other in program.ops)
    place = next((i for i, is_write in enumerate(writes) if is_write), len(program.ops))
    program.ops.insert(place, op)
    return op.outputs[0]


def _exchange(program: Program, first: str, second: str) -> dict[str, str]:
    """Exchanges the names of two tensors, and returns the new ones; outputs keep their names."""
    names = {first: second, second: first}
    for op in program.ops:
        op.inputs = [names.get(name, name) for name in op.inputs]
        op.outputs = [names.get(name, name) for name in op.outputs]
    vars = program.vars
    vars[first], vars[second] = vars[second], vars[first]
    vars[first].name, vars[second].name = first, second
    return names
