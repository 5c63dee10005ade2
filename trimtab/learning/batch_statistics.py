"""Batch normalization in training: by the mean and the variance of the batch, which a running mean
and a running variance follow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

from trimtab.errors import UsageError
from trimtab.gradients import OpBuilder, normalized
from trimtab.program import Block, Op


def use_batch_statistics(block: Block, patterns: Sequence[str], momentum: float) -> dict[str, str]:
    """Replaces the batch normalizations whose names fit one of `patterns`. Returns the tensor of
    the next value of each running mean and variance: momentum times the old one, and the rest from
    the batch.

    UsageError for a pattern that fits no batch normalization.
    """
    normalizations = [op for op in block.ops if op.type == "batch_normalization"]
    for pattern in patterns:
        if not any(fnmatchcase(op.name, pattern) for op in normalizations):
            names = ", ".join(op.name for op in normalizations[:8]) or "none"
            hint = f"there are: {names}"
            raise UsageError(f"no batch normalization fits {pattern!r}", hint=hint)
    running: dict[str, str] = {}
    ops, block.ops = block.ops, []
    for op in ops:
        is_chosen = op.type == "batch_normalization" and any(
            fnmatchcase(op.name, pattern) for pattern in patterns
        )
        if is_chosen:
            running |= _replace(block, op, momentum)
        else:
            block.ops.append(op)
    return running


def _replace(block: Block, op: Op, momentum: float) -> dict[str, str]:
    """Appends the operators that replace a batch normalization."""
    builder = OpBuilder(block, f"{op.name}.batch")
    x, scale, bias, mean, variance = op.inputs
    batch, channels, *image = builder.shape(x)
    axes = (0, *range(2, 2 + len(image)))
    y, batch_mean, batch_variance = normalized(builder, x, axes, op.attributes["epsilon"])
    per_channel = channels, *(1 for _ in image)
    y = builder.add("mul", y, builder.reshape(scale, *per_channel))
    (result,) = op.outputs
    del block.vars[result]
    OpBuilder(block, result).add("add", y, builder.reshape(bias, *per_channel))
    count = batch * math.prod(image)
    unbiased = builder.times(batch_variance, count / max(1, count - 1))
    running = {}
    for name, new in ((mean, batch_mean), (variance, unbiased)):
        share = builder.times(builder.reshape(new, channels), 1 - momentum)
        running[name] = builder.add("add", builder.times(name, momentum), share)
    return running
