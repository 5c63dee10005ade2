"""Finds the raw tensors of a head inside a network that decodes them itself."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.program import Op, Program, Var

_PICTURE = 4  # dimensions


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


def stride(program: Program, var: Var) -> int:
    """Pixels of the network's input per pixel of `var`; 0 if it is no grid of the input."""
    if len(var.shape) != _PICTURE:
        return 0
    _, _, h, w = var.shape
    for name in program.inputs:
        shape = program.vars[name].shape
        if len(shape) == _PICTURE and h and w and shape[2] % h == 0 and shape[3] % w == 0:
            step = shape[2] // h
            return step if step == shape[3] // w and step > 1 else 0
    return 0
