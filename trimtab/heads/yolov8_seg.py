"""YOLOv8-seg and YOLO11-seg: reads the outputs [1, 4 + classes + m, places] and prototypes [1, m,
h, w]; the output `masks`, f32[1, rows, h, w], has the probability of each pixel on the prototypes'
grid. A box's mask is the part within the box.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes, and the masks of those that remain."""
    expected = "[1, 4 + classes + m, places] and prototypes [1, m, h, w]"
    ranks = sorted(len(var.shape) for var in builder.tensors)
    if ranks != [3, 4]:
        raise builder.invalid(expected)
    x, prototypes = sorted(builder.tensors, key=lambda var: len(var.shape))
    _, count, height, width = prototypes.shape
    classes = x.shape[1] - 4 - count
    if classes < 1 or builder.request.classes not in (0, classes):
        raise builder.invalid(expected)
    builder.boxes(
        [x.name], box="center_size", channels_first=True, score_channel=4, classes=classes
    )
    starts, ends = (4 + classes,), (x.shape[1],)
    (factors,) = builder.add("slice", [x.name], starts=starts, ends=ends, axes=(1,))
    factors = builder.of_selected(factors, axis=2)
    (grid,) = builder.add("reshape", [prototypes.name], shape=(1, count, height * width))
    (sums,) = builder.add("mat_mul", [factors, grid])
    rows = builder.program.vars[factors].shape[1]
    (sums,) = builder.add("reshape", [sums], shape=(1, rows, height, width))
    builder.add_output(builder.add("sigmoid", [sums], ["masks"])[0])
