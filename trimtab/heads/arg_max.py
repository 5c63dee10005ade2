"""Segmentation: the best class of each pixel of [n, classes, h, w], as the output `classes`, i64[n,
h, w]; of one class whether its value is positive; or the classes [n, h, w] that the network has
chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading
from trimtab.program import Program

_OUTPUT = "classes"


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The class with the largest score of each pixel, the first of equal ones: [n, h, w]."""
    dims = [len(var.shape) for var in builder.tensors]
    (x,) = builder.tensors if dims in ([3], [4]) else (None,)
    if x is None or (dims == [3] and x.dtype not in ("u8", "i32", "i64", "f32")):
        raise builder.invalid("[n, classes, h, w] or classes [n, h, w]")
    if dims == [3]:
        builder.reads(Reading())
        results = builder.add("cast", [x.name], [_OUTPUT], to="i64")
    elif x.shape[1] == 1:
        builder.reads(Reading())
        zero = builder.constant(np.float32(0), "zero")
        (is_it,) = builder.add("compare", [zero, x.name], relation="less")
        (chosen,) = builder.add("cast", [is_it], to="i64")
        shape = (x.shape[0], *x.shape[2:])
        results = builder.add("reshape", [chosen], [_OUTPUT], shape=shape)
    else:
        builder.reads(Reading(classes=x.shape[1]))
        results = builder.add("arg_max", [x.name], [_OUTPUT], axis=1, keep_dims=False)
    builder.program.outputs = [*results, *builder.labels()]
