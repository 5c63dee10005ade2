"""The same values on every machine with fused multiply-add, so that a training can continue on
another one.
"""

from __future__ import annotations

from trimtab.gradients import OpBuilder
from trimtab.program import Block, Op


def make_reproducible(block: Block) -> None:
    """Replaces the operators whose kernels round differently on different machines: log_softmax is
    plain C++, whose multiplications and additions only some compilers fuse.
    """
    ops, block.ops = block.ops, []
    for op in ops:
        if op.type == "log_softmax":
            _logarithms(block, op)
        else:
            block.ops.append(op)


def _logarithms(block: Block, op: Op) -> None:
    """Appends x - max - log(sum(exp(x - max))): sums have a fixed order, and the vectors of all
    machines compute the same exponentials and logarithms.
    """
    builder, axes = OpBuilder(block, op.name), (op.attributes["axis"],)
    (x,), (y,) = op.inputs, op.outputs
    shifted = builder.add("sub", x, builder.add("reduce_max", x, axes=axes, keep_dims=True))
    logarithm = builder.add("log", builder.sum(builder.add("exp", shifted), *axes))
    del block.vars[y]
    OpBuilder(block, y).add("sub", shifted, logarithm)
