"""YOLOv8, 9 and 11: no anchors; each side of a box is the mean of 16 bins. Reads the output [n, 4 +
classes, places], and computes neither the sigmoid nor the bins of boxes that it drops; or one
tensor per level, [n, 64 + classes, h, w]; or two, boxes and classes.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._distance import BINS, append_decoded, append_distances, levels_behind
from trimtab.program import Program, Var


def tensors(program: Program) -> Sequence[str]:
    """The convolutions of each level, if they are found behind a single output."""
    if len(program.outputs) != 1:
        return program.outputs
    output = program.vars[program.outputs[0]]
    if len(output.shape) != 3:
        return program.outputs
    return levels_behind(program, output, (4 * BINS, output.shape[1] - 4)) or program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of the decoded output, or of the raw tensors."""
    if len(builder.tensors) == 1 and len(builder.tensors[0].shape) == 3:
        _append_decoded(builder, builder.tensors[0])
    else:
        append_distances(builder)


def _append_decoded(builder: HeadBuilder, output: Var) -> None:
    classes = builder.request.classes or output.shape[1] - 4
    if not 0 < classes <= output.shape[1] - 4:
        raise builder.invalid("[n, 4 + classes, places]")
    append_decoded(builder, output, classes)
