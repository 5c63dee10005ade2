"""Connectionist temporal classification, greedy: the best label of each step of [n, steps, labels],
as the output `labels`; -1 where it is blank or the same as the one before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """[n, steps]: the labels that are not -1 are the text. Their characters follow, if known."""
    if len(builder.tensors) != 1 or len(builder.tensors[0].shape) != 3:
        raise builder.invalid("[n, steps, labels]")
    (x,) = builder.tensors
    builder.reads(Reading())  # characters may have further labels, such as a space
    images, steps, _ = x.shape
    (best,) = builder.add("arg_max", [x.name], axis=2, keep_dims=False)
    dtype = np.int64 if builder.program.vars[best].dtype == "i64" else np.int32
    none = builder.constant(np.array(-1, dtype), "none")
    before = builder.constant(np.full((images, 1), -1, dtype), "start")
    if steps > 1:
        (head,) = builder.add("slice", [best], starts=(0,), ends=(steps - 1,), axes=(1,))
        (before,) = builder.add("concat", [before, head], axis=1)
    blank = builder.constant(np.array(builder.request.blank, dtype), "blank")
    for other in (before, blank):
        (same,) = builder.add("compare", [best, other], relation="equal")
        if other == before:
            (labels,) = builder.add("where", [same, none, best])
        else:
            results = builder.add("where", [same, none, labels], ["labels"])
    builder.program.outputs = [*results, *builder.labels()]
