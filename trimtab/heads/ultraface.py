"""UltraFace (Ultra-Light-Fast-Generic-Face-Detector): reads scores [n, places, classes], of which
the first is the background, and corners [n, places, 4] relative to the image; or, of exports
without postprocessing, offsets [n, places, 4] from the priors of its strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._priors import squares
from trimtab.heads._reading import Values
from trimtab.heads._trace import is_raw
from trimtab.program import Program, Var

_SIDES = {8: (10, 16, 24), 16: (32, 48), 32: (64, 96), 64: (128, 192, 256)}
_VARIANCES = (0.1, 0.1, 0.2, 0.2)


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of the outputs."""
    scores, boxes = pair(builder)
    height, width = builder.image_size()
    x, y = builder.request.scale
    read, how = [boxes.name, scores.name], dict[str, Any](box="corners")
    values = [Values("corners", boxes.name, 2, 0, 4, -np.inf, np.inf, ordered=True)]
    if is_raw(builder.program, boxes.name):
        # At most 1: generate_priors of the authors' vision/utils/box_utils.py.
        places = np.clip(squares(height, width, _SIDES), 0, 1)
        if len(places) != boxes.shape[1]:
            raise builder.invalid(f"offsets from {len(places):,} priors of {width} x {height}")
        read.append(builder.constant(places, "priors"))
        how, values = {"box": "prior", "variances": _VARIANCES}, []
    builder.boxes(
        read,
        parts=2,
        classes=scores.shape[2],
        background=0,
        scale=(x * width, y * height),
        values=values,
        **how,
    )


def pair(builder: HeadBuilder) -> tuple[Var, Var]:
    """Scores and boxes, in either order."""
    boxes = [var for var in builder.tensors if len(var.shape) == 3 and var.shape[2] == 4]
    scores = [var for var in builder.tensors if len(var.shape) == 3 and var.shape[2] != 4]
    if len(builder.tensors) != 2 or len(boxes) != 1 or boxes[0].shape[1] != scores[0].shape[1]:
        raise builder.invalid("scores [n, places, classes] and boxes [n, places, 4]")
    return scores[0], boxes[0]
