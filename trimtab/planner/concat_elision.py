"""Concatenation and splitting of channels without copies.

In NHWC order the channels of a tensor may lie in the pixels of a larger one. So what is to be
concatenated is written where it ends up, and what is cut off is read where it lies: the variable
becomes a part of another one (`Var.parent`), and `concat`, `split` or `slice` goes. That needs
operators on all sides that can step over the channels between (`strided` in their schemas).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from trimtab.program import Op, Program, Var
from trimtab.program.memory import activation_bytes

# Of these types are the operators that go; those that stay, copy.
PLACED = frozenset(("concat", "split", "slice"))


def place(program: Program) -> None:
    """Makes parts of the variables of `program` where that saves copies and costs no memory."""
    # From the last one on, so that a result that is concatenated again lies in the larger one
    # before its own parts are placed.
    for op in [op for op in reversed(program.ops) if op.type == "concat"]:
        _join(program, op)
    for op in [op for op in program.ops if op.type in ("split", "slice")]:
        _cut(program, op)


def _join(program: Program, op: Op) -> None:
    y = program.vars[op.outputs[0]]
    if not is_image(y) or op.attributes["axis"] not in (1, -3):
        return
    ready = {x for x in op.inputs if op.inputs.count(x) == 1 and can_be_part(program, x, op)}
    made = [name for other in program.ops for name in other.outputs if name in ready]
    # The earlier the first part is made, the longer the whole lives.
    while made and not _join_some(program, op, set(made)):
        made.pop(0)


def _join_some(program: Program, op: Op, ready: set[str]) -> bool:
    """Makes parts of the inputs `ready` of concatenation `op`, and copies the others; False, and
    nothing changed, when that takes more memory.
    """
    y = program.vars[op.outputs[0]]
    parts: dict[str, int] = {}
    copies: list[Op] = []
    channel = 0
    for is_ready, group in groupby(op.inputs, key=lambda name: name in ready):
        names = list(group)
        if not is_ready:
            copy = program.block.make_op("concat", names, op.attributes, name=f"{op.name}.copy")
            program.vars[copy.outputs[0]].layout = "nhwc"
            copies.append(copy)
            names = copy.outputs
        for name in names:
            parts[name] = channel
            channel += program.vars[name].shape[1]
    if _replace(program, op, copies, y, parts):
        return True
    for copy in copies:
        del program.vars[copy.outputs[0]]
    return False


def _cut(program: Program, op: Op) -> None:
    x = program.vars[op.inputs[0]]
    if not is_image(x) or x.data is not None or x.name in program.inputs:
        return
    if op.type == "split":
        along_channels, channel = op.attributes["axis"] in (1, -3), 0
    else:
        along_channels = op.attributes["axes"] in ((1,), (-3,))
        along_channels = along_channels and op.attributes["steps"] in ((), (1,))
        start = op.attributes["starts"][0] if along_channels else 0
        channel = min(max(start + x.shape[1] if start < 0 else start, 0), x.shape[1])
    if not along_channels or not all(can_be_part(program, y, None) for y in op.outputs):
        return
    parts = {}
    for name in op.outputs:
        parts[name] = channel
        channel += program.vars[name].shape[1]
    _replace(program, op, [], x, parts)


def pixel_stride(program: Program, name: str) -> int:
    """Elements from one pixel of an image to the next."""
    var = program.vars[name]
    return program.vars[var.parent or name].shape[1]


def is_image(var: Var) -> bool:
    """Whether a variable holds pixels."""
    return len(var.shape) == 4 and var.layout == "nhwc"


def can_be_part(program: Program, name: str, joined_by: Op | None) -> bool:
    """Whether all operators at variable `name`, but the one that joins it, can step over channels
    between its own.
    """
    var, maker = program.vars[name], program.block.producer(name)
    if maker is None or var.parent or 0 in var.shape or program.is_output(name):
        return False
    if any(other.parent == name for other in program.vars.values()):
        return False
    ends = [(maker.schema.outputs, maker.outputs)]
    ends += [
        (r.schema.inputs, r.inputs) for r in program.block.consumers(name) if r is not joined_by
    ]
    return all(
        ports[min(i, len(ports) - 1)].strided
        for ports, operands in ends
        for i, operand in enumerate(operands)
        if operand == name
    )


def _replace(
    program: Program, op: Op, copies: Iterable[Op], whole: Var, parts: dict[str, int]
) -> bool:
    """Puts `copies` in the place of `op` and makes `parts` (name -> first channel) those of
    `whole`; not if the tensors would then need more memory.
    """
    before, ops = activation_bytes(program), list(program.ops)
    at = next(i for i, other in enumerate(ops) if other is op)
    program.ops[at : at + 1] = copies
    for name, channel in parts.items():
        var = program.vars[name]
        var.parent, var.channel = whole.parent or whole.name, whole.channel + channel
    if activation_bytes(program) <= before:
        return True
    program.ops[:] = ops
    for name in parts:
        program.vars[name].parent, program.vars[name].channel = "", 0
    return False
