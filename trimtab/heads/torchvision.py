"""Detectors of torchvision (SSDLite, RetinaNet, FCOS, Faster R-CNN) as `torch.onnx.export`
writes them: reads boxes [rows, 4] in pixels, scores [rows] and classes [rows], of which 0 is the
background, for as many rows as the network has chosen. Nothing is suppressed again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._chosen import VALUES, append_chosen
from trimtab.heads._reading import Reading, Values
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The rows above the threshold."""
    forms = {(len(var.shape), var.dtype): var for var in builder.tensors}
    names = [(2, "f32"), (1, "f32"), (1, "i64")]
    rows = builder.tensors[0].shape[0] if builder.tensors else 0
    if {*forms} != {*names} or any(var.shape not in ((rows,), (rows, 4)) for var in forms.values()):
        raise builder.invalid(
            "boxes [rows, 4], scores [rows] and integer classes [rows]; of Mask and Keypoint R-CNN "
            "export these three"
        )
    boxes, scores, classes = (forms[name].name for name in names)
    count = builder.label_count
    last = count - 1 if count else math.inf
    builder.reads(
        Reading(
            classes=count,
            rows=rows,
            values=(
                Values("boxes", boxes, 1, 0, 4, -math.inf, math.inf, in_pixels=True),
                Values("scores", scores, 0, 0, rows),
                Values("classes", classes, 0, 0, rows, high=last, whole=True),
            ),
        )
    )
    (classes,) = builder.add("cast", [classes], to="f32")
    ways = {boxes: (-1, 0, 1), scores: (-1, 0, -1), classes: (-1, 0, -1)}
    columns = [builder.add("free_view", [name], dimensions=way)[0] for name, way in ways.items()]
    (chosen,) = builder.add("concat", columns, axis=2)
    # As many rows in every run: those of zeros are below any threshold.
    zeros = builder.constant(np.zeros((1, rows, VALUES), np.float32), "zeros")
    (filled,) = builder.add("concat", [chosen, zeros], axis=1)
    (filled,) = builder.add("slice", [filled], starts=(0,), ends=(rows,), axes=(1,))
    append_chosen(builder, builder.program.vars[filled], builder.request.scale)
