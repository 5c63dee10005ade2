"""YOLOv8-seg and YOLO11-seg: reads the outputs [n, 4 + classes + m, places] and prototypes [n, m,
h, w]; the output `masks`, f32[n, rows, h, w], has the probability of each pixel within the box, on
the prototypes' grid.
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
    expected = "[n, 4 + classes + m, places] and prototypes [n, m, h, w]"
    ranks = sorted(len(var.shape) for var in builder.tensors)
    if ranks != [3, 4]:
        raise builder.invalid(expected)
    x, prototypes = sorted(builder.tensors, key=lambda var: len(var.shape))
    images, count, height, width = prototypes.shape
    classes = x.shape[1] - 4 - count
    if classes < 1 or builder.request.classes not in (0, classes):
        raise builder.invalid(expected)
    builder.boxes(
        [x.name], box="center_size", channels_first=True, score_channel=4, classes=classes
    )
    starts, ends = (4 + classes,), (x.shape[1],)
    (factors,) = builder.add("slice", [x.name], starts=starts, ends=ends, axes=(1,))
    factors = builder.of_selected(factors, axis=2)
    (grid,) = builder.add("reshape", [prototypes.name], shape=(images, count, height * width))
    (sums,) = builder.add("mat_mul", [factors, grid])
    rows = builder.program.vars[factors].shape[1]
    (sums,) = builder.add("reshape", [sums], shape=(images, rows, height, width))
    (masks,) = builder.add("sigmoid", [sums])
    builder.add_output(builder.within_boxes(masks, "masks"))
