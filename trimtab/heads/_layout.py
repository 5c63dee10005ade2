"""Outputs of networks in half precision, or of pictures [n, h, w, c], as those of others."""

from __future__ import annotations

from itertools import islice

from trimtab.heads._trace import CAMERA, CHANNELS, image_sizes
from trimtab.program import Op, Program, Var

_FIRST, _LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def with_plain_outputs(program: Program) -> None:
    """Makes outputs in half precision f32, and outputs [n, h, w, c] that are grids of a picture
    [n, h, w, c] outputs [n, c, h, w].
    """
    is_last = _is_channels_last(program)
    program.outputs = [_plain(program, name, is_last) for name in program.outputs]


def _plain(program: Program, name: str, is_last: bool) -> str:
    producer = program.block.producer(name)
    if program.vars[name].dtype == "f16":
        is_cast = producer is not None and producer.type == "cast"
        source = producer.inputs[0] if producer is not None and is_cast else name
        if program.vars[source].dtype != "f32":
            (source,) = program.block.add_op("cast", [name], {"to": "f32"}, 1)
        return _plain(program, source, is_last)
    var = program.vars[name]
    return _as_first(program, var) if is_last and _is_grid(program, var) else name


def _is_channels_last(program: Program) -> bool:
    """Whether a picture is [n, h, w, c]: that of a camera, or the first input that may be one."""
    pixels = {op.outputs[0] for op in program.ops if op.type == CAMERA}
    if pixels:
        return any(_is_transpose(op, _LAST) and op.inputs[0] in pixels for op in program.ops)
    shapes = (program.vars[name].shape for name in program.inputs)
    pictures = (s for s in shapes if len(s) == 4 and not {s[1], s[3]}.isdisjoint(CHANNELS))
    return any(s[1] not in CHANNELS for s in islice(pictures, 1))


def _is_transpose(op: Op | None, permutation: tuple[int, ...]) -> bool:
    return (
        op is not None
        and op.type == "transpose"
        and tuple(op.attributes["permutation"]) == permutation
    )


def _is_grid(program: Program, var: Var) -> bool:
    """Whether [n, h, w, c] has a place for each cell of an image, and at least two of them."""
    if len(var.shape) != 4 or var.shape[1] * var.shape[2] == 1:
        return False
    cells = var.shape[1:3]
    return any(
        tuple(-(-size // step) for size in sizes) == cells
        for sizes in image_sizes(program)
        for step in range(1, max(sizes) + 1)
    )


def _as_first(program: Program, var: Var) -> str:
    """The tensor before the transposition to `var`, or a transposition of it."""
    producer = program.block.producer(var.name)
    if producer is not None and _is_transpose(producer, _LAST):
        return producer.inputs[0]
    (name,) = program.block.add_op("transpose", [var.name], {"permutation": _FIRST}, 1)
    program.vars[name].quantization = var.quantization
    return name
