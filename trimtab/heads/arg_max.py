"""Segmentation: the best class of each pixel of [n, classes, h, w], as the output `classes`."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The class with the largest score of each pixel, the first of equal ones: [n, h, w]."""
    if len(builder.tensors) != 1 or len(builder.tensors[0].shape) != 4:
        raise builder.invalid("[n, classes, h, w]")
    (x,) = builder.tensors
    builder.reads(Reading(classes=x.shape[1]))
    builder.program.outputs = builder.add("arg_max", [x.name], ["classes"], axis=1, keep_dims=False)
