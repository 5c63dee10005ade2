"""The boxes of detectors on photographs, beside those of a reference pipeline: OpenCV's letterbox,
its network of the published Darknet files, its decoding and suppression. The reference resizes
bytes, as detectors' programs do, or float32: OpenCV interpolates bytes in fixed point and rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

import trimtab
from lab.experiment import Experiment, FigureRow, figure, figure_row, text
from lab.photographs.pictures import Picture
from trimtab.camera import Frame
from trimtab.detections import overlaps
from trimtab.errors import UsageError

BAR = 0.99
"""The overlap (intersection over union) of a box with that of the reference pipeline."""
SCORE, IOU = 0.25, 0.45
FRAMES = "32x32..2048x2048"

Array = NDArray[Any]
Detector = Callable[[Picture], Array]  # rows of xmin, ymin, xmax, ymax, score, class

BYTES, FLOATS, OWN = "OpenCV, bytes", "OpenCV, float32", "trimtab"
PAIRS = ((BYTES, OWN), (FLOATS, OWN), (BYTES, FLOATS))
"""Reference and other pipeline of each comparison."""


@figure_row
class PhotographsRow(FigureRow):
    """One network and two pipelines. `boxes`: of the reference; `same`: those with a box of the
    same class and at least `BAR` overlap; `others`: boxes of the other pipeline without one there;
    `lowest`: the smallest best overlap of a reference box; `equal`: photographs all of whose boxes
    are the same.
    """

    network: str = text("network")
    reference: str = text("reference")
    other: str = text("beside it")
    photographs: int = figure("photographs", ",")
    equal: int = figure("all boxes the same", ",")
    boxes: int = figure("boxes", ",")
    same: int = figure("the same", ",")
    others: int = figure("others", ",")
    lowest: float = figure("lowest overlap", ".3f", digits=4)


PHOTOGRAPHS = Experiment(
    "bench.photographs",
    "photographs",
    PhotographsRow,
    packages=("opencv-python-headless", "numpy"),
    stand_ins={"models": "FOLDER"},
)


def letterboxed(picture: Array, width: int, height: int) -> tuple[Array, Array, Array]:
    """The picture in a gray frame, as Ultralytics places it; factors and offsets of x and y that
    map boxes back.
    """
    h, w = picture.shape[:2]
    ratio = min(width / w, height / h)
    size = round(w * ratio), round(h * ratio)
    left, top = round((width - size[0]) / 2 - 0.1), round((height - size[1]) / 2 - 0.1)
    small = cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR)
    edges = top, height - size[1] - top, left, width - size[0] - left
    placed = cv2.copyMakeBorder(small, *edges, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    factors = np.array([w / size[0], h / size[1]])
    return np.asarray(placed), factors, -factors * [left, top]


def suppressed(boxes: Array, scores: Array, size: tuple[int, int]) -> Array:
    """The rows that OpenCV keeps, clipped to (width, height)."""
    best, classes = scores.max(1).astype(float), scores.argmax(1)
    rectangles = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], 1)
    arguments = rectangles.tolist(), best.tolist(), classes.tolist(), SCORE, IOU
    chosen = np.asarray(cv2.dnn.NMSBoxesBatched(*arguments), int).ravel()
    inside = boxes[chosen].clip(0, [*size, *size])
    return np.column_stack([inside, best[chosen], classes[chosen]])


def yolo_fastest(folder: Path) -> dict[str, Detector]:
    """The pipelines of Yolo-Fastest, whose Darknet files OpenCV runs."""
    config, weights = _file(folder, "*.cfg"), _file(folder, "*.weights")
    net = cv2.dnn.readNetFromDarknet(str(config), str(weights))
    decoded = trimtab.load(config)
    _, _, height, width = decoded.vars[decoded.inputs[0]].shape
    # The raw tensors, and the file's anchors, from the finest level on.
    layers = [op for op in decoded.ops if op.type == "yolo"][::-1]
    relative = np.reshape([a for op in layers for a in op.attributes["anchors"]], (-1, 2))
    anchors = tuple((relative * [width, height]).ravel().tolist())
    program = trimtab.load(config, outputs=[op.inputs[0] for op in layers])

    def reference(picture: Array) -> Array:
        placed, factors, offsets = letterboxed(picture, width, height)
        net.setInput(cv2.dnn.blobFromImage(placed, 1 / 255, (width, height)))
        rows = np.concatenate(net.forward(net.getUnconnectedOutLayersNames()))
        centers, sizes = rows[:, :2] * [width, height], rows[:, 2:4] * [width, height]
        corners = [p * factors + offsets for p in (centers - sizes / 2, centers + sizes / 2)]
        size = picture.shape[1], picture.shape[0]
        return suppressed(np.concatenate(corners, 1), rows[:, 5:], size)

    steps = f"camera(rgb, {FRAMES}) | letterbox(auto, 114) | rgb | scale(1/255)"
    return {
        BYTES: reference,
        FLOATS: lambda picture: reference(picture.astype(np.float32)),
        OWN: _trimtab_detector(program, steps, "yolov3", anchors=anchors),
    }


NETWORKS = {"yolo_fastest_darknet": yolo_fastest}


def _trimtab_detector(program: trimtab.Program, steps: str, head: str, **options: Any) -> Detector:
    behind = trimtab.camera.attach(program, steps)
    detector = trimtab.attach_head(behind, head, score=SCORE, iou=IOU, **options)
    session = trimtab.Session(detector, cache=False)

    def run(picture: Picture) -> Array:
        results = session.run(Frame(picture, "rgb"))
        return np.asarray(results["boxes"][0, : int(results["count"][0])])

    return run


def _file(folder: Path, pattern: str) -> Path:
    if paths := sorted(folder.glob(pattern)):
        return paths[0]
    raise UsageError(
        f"there is no {pattern} in {folder}",
        hint=f"--models takes a folder with the folders {', '.join(NETWORKS)}",
    )


def same_class_overlaps(a: Array, b: Array) -> Array:
    """Intersection over union of each row of a with each of b; 0 for other classes."""
    return np.where(a[:, None, 5] == b[None, :, 5], overlaps(a, b), 0)


def compare(
    network: str, folder: Path, pictures: Iterable[tuple[str, Picture]]
) -> list[PhotographsRow]:
    """The boxes of one network on all pictures, for each of `PAIRS`."""
    pipelines = NETWORKS[network](folder / network)
    boxes = [{name: run(picture) for name, run in pipelines.items()} for _, picture in pictures]
    return [
        _agreement(network, pair, [(of[pair[0]], of[pair[1]]) for of in boxes]) for pair in PAIRS
    ]


def _agreement(
    network: str, pair: tuple[str, str], boxes: Sequence[tuple[Array, Array]]
) -> PhotographsRow:
    equal = count = same = others = 0
    lowest = 1.0
    for expected, actual in boxes:
        table = same_class_overlaps(expected, actual)
        best = table.max(1, initial=0)
        lone = int((table.max(0, initial=0) < BAR).sum())
        count, same = count + len(expected), same + int((best >= BAR).sum())
        others += lone
        equal += bool((best >= BAR).all()) and not lone
        lowest = min(lowest, float(best.min(initial=1)))
    return PhotographsRow(network, *pair, len(boxes), equal, count, same, others, lowest)
