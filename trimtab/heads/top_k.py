"""Classification: the `top` best classes of [n, classes], as the outputs `scores` and `classes`;
the softmax is not computed if the network does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Values and indices, best first; all of them if there are fewer."""
    if len(builder.tensors) != 1 or len(builder.tensors[0].shape) != 2:
        raise builder.invalid("[n, classes]")
    (x,) = builder.tensors
    builder.reads(Reading(classes=x.shape[1]))
    names = ["scores", "classes"]
    results = builder.add("top_k", [x.name], names, k=min(builder.request.top, x.shape[1]), axis=1)
    builder.program.outputs = [*results, *builder.labels()]
