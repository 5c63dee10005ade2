"""YOLOv8-seg and YOLO11-seg: reads the outputs [n, 4 + classes + m, places] and prototypes [n, m,
h, w]; or [n, rows, 6 + m] of boxes that the network has chosen, and prototypes; or the prototypes,
the raw tensors of yolov8 and those of the factors: [n, m, h, w] of each level, or one of all
places, [n, m, places]. The output `masks`, f32[n, rows, h, w], has the probability of each pixel
within the box, on the prototypes' grid.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._chosen import VALUES, append_chosen
from trimtab.heads._distance import (
    BINS,
    append_decoded,
    append_distances,
    levels_behind,
    values_of_locations,
)
from trimtab.program import Program, Var

_EXPECTED = (
    "[n, 4 + classes + m, places] or [n, rows, 6 + m] and prototypes [n, m, h, w], or raw tensors "
    "of boxes, classes and m factors of each level, and prototypes"
)


def tensors(program: Program) -> Sequence[str]:
    """The convolutions of each level and the prototypes, if they are found behind the outputs."""
    outputs = sorted((program.vars[name] for name in program.outputs), key=lambda x: len(x.shape))
    if [len(var.shape) for var in outputs] != [3, 4]:
        return program.outputs
    x, prototypes = outputs
    count = prototypes.shape[1]
    levels = levels_behind(program, x, (4 * BINS, x.shape[1] - 4 - count, count))
    return [*levels, prototypes.name] if levels else program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes, and the masks of those that remain."""
    pictures = [var for var in builder.tensors if len(var.shape) == 4]
    others = [var for var in builder.tensors if len(var.shape) == 3]
    if not pictures or len(pictures) + len(others) != len(builder.tensors):
        raise builder.invalid(_EXPECTED)
    prototypes = max(pictures, key=lambda var: var.shape[2] * var.shape[3])
    levels = [var for var in pictures if var is not prototypes]
    if levels:
        raw = _append_raw(builder, prototypes, [*levels, *others])
        factors = builder.of_selected(raw, axis=2)
    elif len(others) != 1:
        raise builder.invalid(_EXPECTED)
    elif others[0].shape[2] == VALUES + prototypes.shape[1]:
        factors = append_chosen(builder, others[0])
    else:
        raw = _append_decoded(builder, prototypes, others[0])
        factors = builder.of_selected(raw, axis=2)
    images, count, height, width = prototypes.shape
    (grid,) = builder.add("reshape", [prototypes.name], shape=(images, count, height * width))
    (sums,) = builder.add("mat_mul", [factors, grid])
    rows = builder.program.vars[factors].shape[1]
    (sums,) = builder.add("reshape", [sums], shape=(images, rows, height, width))
    (masks,) = builder.add("sigmoid", [sums])
    builder.add_output(builder.within_boxes(masks, "masks"))


def _append_decoded(builder: HeadBuilder, prototypes: Var, x: Var) -> str:
    """Boxes of the decoded output; the factors, [n, m, places]."""
    classes = x.shape[1] - 4 - prototypes.shape[1]
    if classes < 1 or builder.request.classes not in (0, classes):
        raise builder.invalid(_EXPECTED)
    append_decoded(builder, x, classes)
    starts, ends = (4 + classes,), (x.shape[1],)
    return builder.add("slice", [x.name], starts=starts, ends=ends, axes=(1,))[0]


def _append_raw(builder: HeadBuilder, prototypes: Var, tensors: Sequence[Var]) -> str:
    """Boxes of the raw tensors; the factors, [n, m, places]."""
    count = prototypes.shape[1]
    boxes = [var for var in tensors if len(var.shape) == 4 and var.shape[1] != count]
    if not boxes:
        raise builder.invalid(_EXPECTED)
    grids = append_distances(builder, tensors=boxes)
    raw = values_of_locations(builder, [var for var in tensors if var not in boxes], grids)
    if raw is None or raw[1] != count:
        raise builder.invalid(_EXPECTED)
    return raw[0]
