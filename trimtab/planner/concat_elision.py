"""Concat elision: concatenation and splitting of channels without copies.

In NHWC layout, the channels of a tensor can lie inside the pixels of a larger tensor. An operand of
a concatenation is therefore written directly to its final position, and a slice is read where it
lies: the variable becomes a sub-tensor of another one (`Var.parent`), and `concat`, `split` or
`slice` is removed. All operators that read or write the variable must support strided pixels
(`strided` in their schemas).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from trimtab.program import Op, Program, Var
from trimtab.program.memory import Operands, activation_bytes

ELIDED_TYPES = frozenset(("concat", "split", "slice"))
"""Operator types that elision removes; those that remain copy."""


def elide(program: Program) -> None:
    """Turns variables into sub-tensors where that avoids copies and does not need more memory."""
    candidates = [
        op for op in program.ops if op.type in ELIDED_TYPES and op.size_source == "attributes"
    ]
    operands: Operands = {}
    peak = activation_bytes(program, operands) if candidates else 0
    # In reverse order, so that the result of one concatenation that feeds another is placed in the
    # larger tensor before its own operands are.
    for op in reversed(candidates):
        if op.type == "concat":
            peak = _elide_concat(program, op, peak, operands)
    for op in candidates:
        if op.type != "concat":
            peak = _elide_split(program, op, peak, operands)


def _elide_concat(program: Program, op: Op, peak: int, operands: Operands) -> int:
    """Elides operands of a concatenation; `peak` and the result are the bytes of activations before
    and after.
    """
    y = program.vars[op.outputs[0]]
    if not is_image(y) or op.attributes["axis"] not in (1, -3):
        return peak
    eligible = {
        x for x in op.inputs if op.inputs.count(x) == 1 and can_be_sub_tensor(program, x, op)
    }
    in_order = [name for other in program.ops for name in other.outputs if name in eligible]
    # The earlier the first operand is computed, the longer the whole tensor lives.
    while in_order:
        new_peak = _place_operands(program, op, set(in_order), peak, operands)
        if new_peak is not None:
            return new_peak
        in_order.pop(0)
    return peak


def _place_operands(
    program: Program, op: Op, eligible: set[str], peak: int, operands: Operands
) -> int | None:
    """Turns the `eligible` inputs of concatenation `op` into sub-tensors and copies the others.

    Returns the new bytes of activations; None, with the program unchanged, if they exceed `peak`.
    """
    y = program.vars[op.outputs[0]]
    offsets: dict[str, int] = {}
    copies: list[Op] = []
    channel = 0
    for is_eligible, group in groupby(op.inputs, key=lambda name: name in eligible):
        names = list(group)
        if not is_eligible:
            copy = program.block.make_op("concat", names, op.attributes, name=f"{op.name}.copy")
            program.vars[copy.outputs[0]].layout = "nhwc"
            copies.append(copy)
            names = copy.outputs
        for name in names:
            offsets[name] = channel
            channel += program.vars[name].shape[1]
    new_peak = _replace(program, op, copies, y, offsets, peak, operands)
    for copy in copies if new_peak is None else ():
        del program.vars[copy.outputs[0]]
    return new_peak


def _elide_split(program: Program, op: Op, peak: int, operands: Operands) -> int:
    """Elides a split or a slice; `peak` and the result are the bytes of activations before and
    after.
    """
    x = program.vars[op.inputs[0]]
    if not is_image(x) or x.data is not None or x.name in program.inputs:
        return peak
    if op.type == "split":
        along_channels, channel = op.attributes["axis"] in (1, -3), 0
    else:
        along_channels = op.attributes["axes"] in ((1,), (-3,))
        along_channels = along_channels and op.attributes["steps"] in ((), (1,))
        start = op.attributes["starts"][0] if along_channels else 0
        channel = min(max(start + x.shape[1] if start < 0 else start, 0), x.shape[1])
    if not along_channels or not all(can_be_sub_tensor(program, y, None) for y in op.outputs):
        return peak
    offsets = {}
    for name in op.outputs:
        offsets[name] = channel
        channel += program.vars[name].shape[1]
    new_peak = _replace(program, op, [], x, offsets, peak, operands)
    return peak if new_peak is None else new_peak


def pixel_stride(program: Program, name: str) -> int:
    """Elements from one pixel of an image to the next."""
    var = program.vars[name]
    return program.vars[var.parent or name].shape[1]


def is_image(var: Var) -> bool:
    """Whether a variable is a 4-D tensor in NHWC layout."""
    return len(var.shape) == 4 and var.layout == "nhwc"


def can_be_sub_tensor(program: Program, name: str, concat: Op | None) -> bool:
    """Whether the variable `name` can lie inside a larger one: every operator that reads or writes
    it, except the eliminated `concat`, supports strided pixels.
    """
    var = program.vars[name]
    if var.parent or 0 in var.shape or program.is_output(name):
        return False
    producer = program.block.producer(name)
    if producer is None:
        return False
    ends = [(producer.schema.outputs, producer.outputs)]
    ends += [(r.schema.inputs, r.inputs) for r in program.block.consumers(name) if r is not concat]
    are_strided = all(
        ports[min(i, len(ports) - 1)].strided
        for ports, operands in ends
        for i, operand in enumerate(operands)
        if operand == name
    )
    return are_strided and name not in {other.parent for other in program.vars.values()}


def _replace(
    program: Program,
    op: Op,
    copies: Iterable[Op],
    whole: Var,
    offsets: dict[str, int],
    peak: int,
    operands: Operands,
) -> int | None:
    """Replaces `op` by `copies` and turns the variables of `offsets` (name -> first channel) into
    sub-tensors of `whole`; returns the new bytes of activations. Undoes that and returns None if
    they exceed `peak`.
    """
    ops = list(program.ops)
    at = next(i for i, other in enumerate(ops) if other is op)
    program.ops[at : at + 1] = copies
    for name, channel in offsets.items():
        var = program.vars[name]
        var.parent, var.channel = whole.parent or whole.name, whole.channel + channel
    new_peak = activation_bytes(program, operands)
    if new_peak <= peak:
        return new_peak
    program.ops[:] = ops
    for name in offsets:
        program.vars[name].parent, program.vars[name].channel = "", 0
    return None
