"""Finds the raw tensors of a head inside a network that decodes them itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.program import Op, Program, Var

_PICTURE = 4  # dimensions
_STRIDES = tuple(2**i for i in range(1, 8))

CHANNELS = (1, 3, 4)
"""The numbers of channels of a picture."""

_LEAST_SIDE = 16

CAMERA = "camera_image"
"""The operator that makes an input of the network from a camera's frame."""


def raw_tensors(program: Program, output: str) -> list[Var]:
    """The nearest results of convolutions on grids of the network's input that `output` depends on,
    in execution order. A quantized one counts as its dequantized values.
    """
    producers = {name: op for op in program.ops for name in op.outputs}
    names = {var.name for var in _nearest(program, producers, output)}
    return [program.vars[name] for op in program.ops for name in op.outputs if name in names]


def _nearest(program: Program, producers: dict[str, Op], output: str) -> Iterator[Var]:
    pending, visited = [output], {output}
    while pending:
        name = pending.pop()
        op, var = producers.get(name), program.vars[name]
        if op is None:
            continue
        if op.type == "conv" and stride(program, var):
            yield var
            continue
        new = [x for x in op.inputs if x and x not in visited]
        pending += new
        visited |= set(new)


def is_raw(program: Program, output: str) -> bool:
    """Whether `output` holds results of convolutions, which are moved and not changed."""
    op = program.block.producer(output)
    if op is None or op.type == "conv":
        return op is not None
    if not op.schema.moves(op.attributes):
        return False
    moved = op.inputs if op.schema.inputs[0].variadic else op.inputs[:1]
    return all(is_raw(program, name) for name in moved)


def stride(program: Program, var: Var) -> int:
    """Pixels of the network's input per pixel of `var`; 0 if it is no grid of the input."""
    if len(var.shape) != _PICTURE:
        return 0
    _, _, h, w = var.shape
    for height, width in image_sizes(program):
        if h and w and height % h == 0 and width % w == 0:
            step = height // h
            return step if step == width // w and step > 1 else 0
    return 0


def on_strides(size: tuple[int, int], rows: int, anchors: Sequence[int] = (1,)) -> Sequence[int]:
    """Adjacent strides, of which an image of `size` (height, width) has as many places as there are
    `rows`, with one of these numbers of anchors at each; () if there are none.
    """
    height, width = size
    strides = [s for s in _STRIDES if s <= min(size)]
    places = [-(-height // s) * -(-width // s) for s in strides]
    for first in range(len(places)):
        for last in range(first + 2, len(places) + 1):
            if any(n * sum(places[first:last]) == rows for n in anchors):
                return strides[first:last]
    return ()


def is_alone(shape: Sequence[int]) -> bool:
    """Whether the shape is that of a picture [3, h, w] without a batch, as torchvision has it."""
    return len(shape) == _PICTURE - 1 and shape[0] == 3 and min(shape[1:]) >= _LEAST_SIDE


def image_sizes(program: Program) -> Iterator[tuple[int, int]]:
    """Height and width of each image [n, c, h, w], [n, h, w, c] or [3, h, w] that the network sees:
    that of a camera, if it is behind one, or an input.
    """
    for op in program.ops:
        if op.type == CAMERA:
            height, width = op.attributes["sizes"]
            yield int(height), int(width)
    for name in program.inputs:
        shape = program.vars[name].shape
        if len(shape) == _PICTURE:
            is_last = shape[1] not in CHANNELS and shape[3] in CHANNELS
            yield (shape[1], shape[2]) if is_last else (shape[2], shape[3])
        elif is_alone(shape):
            yield shape[1], shape[2]
