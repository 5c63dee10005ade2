"""The accuracy of a network on labeled pictures: top-1 of classes, or mean average precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import camera, heads
from trimtab.camera import Camera
from trimtab.errors import UsageError
from trimtab.heads import HeadRequest
from trimtab.labels.average_precision import average_precision
from trimtab.labels.folder import LabeledFolder
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.quantization.picture_samples import read_pixels, seen
from trimtab.session import Session

Array = NDArray[Any]
Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class LabelScore:
    """The share of `pictures` whose class is right, `top1`; or of their boxes the mean average
    precision of COCO, `mean_ap`, and that with an overlap of 0.5. The other figures are None.
    """

    pictures: int
    top1: float | None = None
    mean_ap: float | None = None
    ap_at_half: float | None = None

    def __str__(self) -> str:
        if self.top1 is not None:
            return f"top-1 {self.top1:.1%} of {self.pictures:,} pictures"
        return f"mAP {self.mean_ap:.3f} (0.5: {self.ap_at_half:.3f}), {self.pictures:,} pictures"


def score(
    program: Program,
    view: Camera,
    head: HeadRequest | None,
    folder: LabeledFolder,
    plan: Plan | None = None,
    tick: Tick = lambda done, total: None,
) -> LabelScore:
    """The accuracy of a network, without camera and head, on labeled pictures.

    `view`: the preprocessing; its frames become pictures of each one's size. `head`: of a detector;
    None for classes, whose scores are the first output. `plan`: the precisions, as of a `Session`.
    `tick`: pictures done and all. UsageError for labels and networks that do not fit each other;
    PlanError if this machine cannot compute the precision.
    """
    (name, size), scores = _input(program), program.vars[program.outputs[0]]
    if folder.boxes and head is None:
        raise UsageError(
            "the labels are boxes, and the network has no head that computes boxes",
            where=str(folder.path),
            hint="--head NAME (docs/boxes.md)",
        )
    if folder.classes and folder.top_class >= int(np.prod(scores.shape)):
        raise UsageError(
            f"the labels have a class {folder.top_class}, and the network's first output "
            f"{int(np.prod(scores.shape))} scores",
            where=str(folder.path),
            hint="classes count from 0, as the network's scores do",
        )
    view = camera.with_steps_of(program, view)
    whole = heads.with_head(program, head) if folder.boxes and head else program
    session = Session(whole, plan=plan)
    right, labels, detected = 0, [], []
    paths = [*folder.classes, *folder.boxes]
    for done, path in enumerate(paths):
        tick(done, len(paths))
        pixels = read_pixels(path)
        height, width = pixels.shape[:2]
        own = camera.of_picture(view, width, height)
        results = session.run({name: seen(pixels, own, program.vars[name].shape)})
        if folder.classes:
            right += int(next(iter(results.values())).argmax()) == folder.classes[path]
            continue
        rows = [(*box.corners(width, height), box.class_index) for box in folder.boxes[path]]
        labels.append(np.array(rows, float).reshape(-1, 5))
        detected.append(_in_picture(results, own, size))
    if folder.classes:
        return LabelScore(len(paths), top1=right / len(paths))
    precision = average_precision(labels, detected)
    return LabelScore(len(paths), mean_ap=precision.mean, ap_at_half=precision.at_half)


def _input(program: Program) -> tuple[str, tuple[int, int]]:
    """The name, and width and height of the only input; UsageError for other networks."""
    shapes = [program.vars[name].shape for name in program.inputs]
    if len(shapes) != 1 or len(shapes[0]) != 4 or shapes[0][0] != 1:
        raise UsageError(
            "labeled pictures need a network with one input of one picture",
            where=program.name,
            hint="--input data=1,3,224,224 sets the size of a batch",
        )
    _, channels, height, width = shapes[0]
    if channels not in (1, 3):  # channels are last
        height, width = channels, height
    return program.inputs[0], (width, height)


def _in_picture(results: Mapping[str, Array], view: Camera, size: tuple[int, int]) -> Array:
    """The detected boxes in the pixels of the picture: [n, 6], corners, score, class."""
    boxes = np.array(results["boxes"][0, : int(results["count"][0])], float)
    place = view.placement(size)
    corners = place.to_frame(boxes[:, :4].reshape(-1, 2, 2))
    corners = np.clip(corners, 0, (view.width, view.height))
    ordered = np.concatenate((corners.min(axis=1), corners.max(axis=1)), axis=1)
    return np.concatenate((ordered, boxes[:, 4:]), axis=1)
