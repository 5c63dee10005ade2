"""From a camera's frame to boxes: what that takes beside the network of a detector alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lab.camera.measure import Image, picture
from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from trimtab import attach_head, heads, load
from trimtab.camera import Camera, attach, parse
from trimtab.pipeline.instructions import count_instructions
from trimtab.pipeline.recipe import Recipe
from trimtab.program import Program
from trimtab.progress import Progress
from trimtab.session import Session

BAR = 1.05
"""The largest ratio to the network's own time that the project promises."""

DETECTORS = {
    "yolo_fastest": "yolov3",
    "yolov3_tiny": "yolov3",
    "detector_nanodet_m": "nanodet",
    "detector_picodet_s": "nanodet",
    "detector_yolox_nano": "yolox",
    "detector_yolo11n": "yolov8",
    "detector_yolo26n": "yolov10",
}
"""Detectors of the zoo, and their heads."""

FRAME = "nv12, 1920x1080"
CPU = "cortex-a53"
CANDIDATES = 100
_ADDED = {"camera_image", "decode_boxes", "suppress_boxes", "boxes_to_frame"}
_STEPS = 12  # of the search for a threshold


@figure_row
class CameraBoxesRow(FigureRow):
    """One detector: milliseconds here and instructions on the core, of the network and from a frame
    to boxes.
    """

    model: str = text("network")
    head: str = text("head")
    score: float = figure(digits=4)
    network_ms: float = figure("x86: network", ".2f", digits=3)
    boxes_ms: float = figure("frame to boxes", ".2f", digits=3)
    time_ratio: float = computed("ratio", ".3f", of=lambda row: row.boxes_ms / row.network_ms)
    network_instructions: int = figure()
    boxes_instructions: int = figure()
    network_millions: float = computed(
        "A53: network", ".2f", of=lambda row: row.network_instructions / 1e6
    )
    boxes_millions: float = computed(
        "frame to boxes", ".2f", of=lambda row: row.boxes_instructions / 1e6
    )
    count_ratio: float = computed(
        "ratio", ".3f", of=lambda row: row.boxes_millions / row.network_millions
    )


BOXES = Experiment("bench.camera", "camera/boxes", CameraBoxesRow, is_timed=True)


def measure(rounds: int, progress: Progress) -> tuple[list[CameraBoxesRow], dict[str, str]]:
    """CPU times of this machine, medians of interleaved rounds, and counted instructions, with one
    thread; and the versions of programs. Networks of random weights find no objects: the threshold
    is such that some hundred candidates pass it, as in a picture of ten objects. EmulatorError
    without QEMU's plug-ins.
    """
    rows = []
    versions: dict[str, str] = {}
    for name, head in DETECTORS.items():
        with progress.step(name):
            network = load(name)
            camera = camera_of(network)
            pixels = picture(camera)
            options = {"score": threshold(network, camera, head, pixels)}
            times = _times(network, camera, head, options, pixels, rounds)
            request = heads.HeadRequest.of(head, options)
            with TemporaryDirectory(prefix="trimtab-") as folder:
                (x,) = network.inputs
                recipe = Recipe(model=name, cpu=CPU, cameras={x: camera}, head=request)
                counts = count_instructions(recipe, Path(folder), progress)
            added = sum(n for label, n in counts.operators if label.split()[0] in _ADDED)
            total = sum(n for _, n in counts.operators)
            rows.append(CameraBoxesRow(name, head, options["score"], *times, total - added, total))
            versions |= counts.versions
    return rows, versions


def camera_of(network: Program) -> Camera:
    """The frame, in a letterbox of the network's input."""
    (x,) = network.inputs
    height, width = network.vars[x].shape[2:]
    return parse(f"camera({FRAME}) | letterbox({width}x{height}, 114) | rgb | scale(1/255)")


def threshold(network: Program, camera: Camera, head: str, pixels: Image) -> float:
    """The score that `CANDIDATES` boxes of a frame exceed, about."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        score = (low + high) / 2
        options = {"score": score, "iou": 1.0, "max_boxes": 2 * CANDIDATES}
        behind = attach_head(attach(network, camera), head, **options)
        count = int(Session(behind, cache=False).run(pixels)["count"][0])
        low, high = (score, high) if count > CANDIDATES else (low, score)
    return (low + high) / 2


def _times(
    network: Program,
    camera: Camera,
    head: str,
    options: Mapping[str, Any],
    pixels: Image,
    rounds: int,
) -> tuple[float, float]:
    """Milliseconds of the network up to its raw tensors, and from frame to boxes."""
    alone = Session(heads.without_decoding(network, heads.HeadRequest.of(head, options)))
    whole = Session(attach_head(attach(network, camera), head, **options))
    (x,) = network.inputs
    values = np.random.default_rng(1).random(network.vars[x].shape, np.float32)
    alone.run(values)
    whole.run(pixels)
    times: tuple[list[int], list[int]] = ([], [])
    for _ in range(rounds):
        for spans, session, feed in ((times[0], alone, values), (times[1], whole, pixels)):
            begin = time.process_time_ns()
            session.run(feed)
            spans.append(time.process_time_ns() - begin)
    return median(times[0]) / 1e6, median(times[1]) / 1e6
