"""YOLOv10 and YOLO26, which need no suppression, and exports with `nms`: reads the output [n, rows,
6] of boxes that the network has chosen, in any order; or [n, 4 + classes, places], or raw tensors
of each level, as yolov8, with 16 bins or none.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._chosen import VALUES, append_chosen
from trimtab.heads._distance import BINS, append_decoded, append_distances
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The best boxes that the network has chosen, or those of decoded or raw tensors."""
    shapes = [var.shape for var in builder.tensors]
    if len(shapes) == 1 and len(shapes[0]) == 3 and shapes[0][2] == VALUES:
        append_chosen(builder, builder.tensors[0])
    elif len(shapes) == 1 and len(shapes[0]) == 3:
        classes = builder.request.classes or shapes[0][1] - 4
        if not 0 < classes <= shapes[0][1] - 4:
            raise builder.invalid("[n, rows, 6] or [n, 4 + classes, places]")
        append_decoded(builder, builder.tensors[0], classes, nms=False)
    else:
        has_bins = all(len(shape) == 4 and shape[1] >= 4 * BINS for shape in shapes[::2])
        append_distances(builder, BINS if has_bins else 1, nms=False)
