"""Measures the accuracy of int8 networks against their float32 originals, on this machine."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

import trimtab
from lab.accuracy import detectors
from lab.accuracy.detectors import Detector
from lab.accuracy.figures import PEER, BoxScoreRow, CosineRow
from lab.peers import quantized as qdq
from trimtab import files, passes, paths, quantization
from trimtab.errors import CalibrationError, MissingRequirementError, UsageError
from trimtab.pipeline.resolve import model_path
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import insert_qdq
from trimtab.quantization.accuracy import Reference, cosine
from trimtab.quantization.calibration import Observed, observe
from trimtab.quantization.methods import DEFAULT, check
from trimtab.quantization.picture_samples import PICTURES, SETTINGS
from trimtab.quantization.samples import Samples
from trimtab.target import Target

if TYPE_CHECKING:
    from PIL import Image

_CROP = 0.7  # of a photograph's width and height
_POSITIONS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5))


@dataclass(frozen=True)
class BoxRequest:
    """A comparison of the boxes of `detectors` on a folder of `photographs`.

    In int8 with each calibration method, and in mixed precision with each of `budgets`, for each of
    `targets`.
    """

    detectors: Sequence[Detector]
    photographs: Path
    methods: Sequence[str]
    budgets: Sequence[str]
    targets: Sequence[Target]


def cosines(
    models: Sequence[str], methods: Sequence[str], progress: Progress = SILENT
) -> list[CosineRow]:
    """Quantizes each model with the peer and with each of our methods, on the same images.

    UsageError for an unknown method; MissingRequirementError without onnxruntime.
    """
    _check(methods)
    similarities: list[CosineRow] = []
    with progress.step("quantize beside the peer", "networks") as step:
        for number, model in enumerate(models):
            step.update(number, len(models), model)
            similarities += _cosines(model_path(model, progress=progress), methods)
    return similarities


def boxes(request: BoxRequest, progress: Progress = SILENT) -> tuple[list[BoxScoreRow], list[str]]:
    """Counts the float32 boxes that each quantized version of each detector finds as well. Returns
    the rows, and notes about photographs and detectors.

    UsageError without photographs, for photographs without boxes in float32, and for an unknown
    method.
    """
    _check(request.methods)
    halves = _halves(request.photographs)
    scores: list[BoxScoreRow] = []
    with progress.step("count boxes", "detectors") as step:
        for number, detector in enumerate(request.detectors):
            step.update(number, len(request.detectors), detector.name)
            scores += _detector(detector, halves, request, progress)
    settings = f"Detectors: {'; '.join(map(str, request.detectors))}."
    return scores, [_photographs_note(halves), settings]


def _check(methods: Sequence[str]) -> None:
    for method in methods:
        check(method)


# Beside onnxruntime.


def _cosines(path: Path, methods: Sequence[str]) -> list[CosineRow]:
    program = trimtab.load(path)
    shapes = {name: program.vars[name].shape for name in program.inputs}
    calibration, tests = qdq.pictures(shapes)
    peer = qdq.quantized(path, paths.cache() / "peers")
    similarities = [CosineRow(path.stem, PEER, _peer_cosine(path, peer, tests))]
    simple = passes.simplify(program, before="fuse_residual")
    observed = observe(simple, Samples(len(calibration), calibration.__getitem__))
    reference = Reference(simple, Samples(len(tests), tests.__getitem__))
    for method in methods:
        quantized = insert_qdq.quantized(simple, observed.ranges(method), (), observed.rounding)
        similarities.append(CosineRow(path.stem, method, reference.compare(quantized).cosine))
    return similarities


def _observe(program: Program, samples: Samples) -> Observed:
    """Statistics for the ranges of all methods, from a single run of the network."""
    return observe(passes.simplify(program, before="fuse_residual"), samples.calibrating)


def _peer_cosine(model: Path, quantized: Path, images: Sequence[Mapping[str, Any]]) -> float:
    """Mean cosine of the peer's int8 outputs with the peer's float32 outputs."""
    import onnxruntime

    def run(path: Path) -> list[list[Any]]:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return [session.run(None, dict(feed)) for feed in images]

    pairs = zip(run(model), run(quantized), strict=True)
    each = [
        cosine(a.astype(np.float64).ravel(), b.astype(np.float64).ravel())
        for float32, int8 in pairs
        for a, b in zip(float32, int8, strict=True)
    ]
    return float(np.mean(each))


# Boxes.


def _halves(folder: Path) -> tuple[list[Path], list[Path]]:
    """Photographs for calibration and for the test, alternately by name."""
    if not folder.is_dir():
        raise UsageError("not a folder", where=str(folder), hint="--photographs FOLDER")
    photographs = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES)
    if len(photographs) < 2:
        raise UsageError("fewer than two photographs", where=str(folder), hint="add some")
    return photographs[::2], photographs[1::2]


def _photographs_note(halves: tuple[list[Path], list[Path]]) -> str:
    """Names and content hashes of the photographs."""
    calibration, tests = (
        ", ".join(f"{p.name} ({hashlib.sha256(p.read_bytes()).hexdigest()[:8]})" for p in half)
        for half in halves
    )
    return f"Calibration photographs: {calibration}; test photographs: {tests}."


def _views(path: Path) -> Iterator[Image.Image]:
    """The whole photograph and crops of it, each also mirrored."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise MissingRequirementError(
            "photographs are read with Pillow", where=str(path), hint="install trimtab[pictures]"
        ) from error
    try:
        with Image.open(path) as file:
            whole = file.convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise CalibrationError(f"not an image: {error}", where=str(path)) from error
    width, height = (round(side * _CROP) for side in whole.size)
    for view in (whole, *(_crop(whole, width, height, *position) for position in _POSITIONS)):
        yield view
        yield ImageOps.mirror(view)


def _crop(whole: Image.Image, width: int, height: int, x: float, y: float) -> Image.Image:
    left, top = round(x * (whole.width - width)), round(y * (whole.height - height))
    return whole.crop((left, top, left + width, top + height))


def _write(photographs: Sequence[Path], settings: Mapping[str, Any], folder: Path) -> Path:
    """Writes the views of photographs as a folder of calibration images."""
    folder.mkdir()
    for photograph in photographs:
        for number, view in enumerate(_views(photograph)):
            view.save(folder / f"{photograph.stem}-{number:02}.ppm")
    files.write_text(folder / SETTINGS, tomli_w.dumps(dict(settings)))
    return folder


def _detector(
    detector: Detector,
    halves: tuple[list[Path], list[Path]],
    request: BoxRequest,
    progress: Progress,
) -> list[BoxScoreRow]:
    program = trimtab.load(detector.path, inputs=dict(detector.inputs))
    with tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        calibration, tests = (
            quantization.read_samples(
                _write(half, detector.pictures, Path(scratch) / name), program
            )
            for half, name in zip(halves, ("calibrating", "held_out"), strict=True)
        )
        reference = _ReferenceBoxes(detector, program, tests)
        observed = _observe(program, calibration)
        scores = []
        for method in request.methods:
            ranges = observed.ranges(method)
            int8 = insert_qdq.quantized(observed.program, ranges, (), observed.rounding)
            plan = Plan(precision="int8")
            scores += reference.compare(f"int8, {method}", int8, plan, request.targets)
        for budget, target in product(request.budgets, request.targets):
            ranges = observed.ranges(DEFAULT)
            mixed = quantization.quantize(
                program, calibration, ranges=ranges, budget=budget, target=target, progress=progress
            )
            scores += reference.compare(f"mixed, {budget}", mixed.program, mixed.plan, [target])
    return scores


class _ReferenceBoxes:
    """The boxes of a float32 program on the test images, to compare other programs with."""

    def __init__(self, detector: Detector, program: Program, samples: Samples) -> None:
        self._detector, self._program, self._samples = detector, program, samples
        session = trimtab.Session(program)
        self._outputs = [session.run(feed) for feed in samples]
        *_, height, width = program.vars[program.inputs[0]].shape
        self._size = height, width
        self._boxes = [detector.boxes(outputs, self._size) for outputs in self._outputs]

    def compare(
        self, method: str, program: Program, plan: Plan, targets: Iterable[Target]
    ) -> list[BoxScoreRow]:
        """The recall of `program` with `plan`, and its cost on each of `targets`."""
        session = trimtab.Session(program, plan=plan)
        overlaps, cosines, false_positives = [], [], 0
        for number, feed in enumerate(self._samples):
            expected, outputs = self._outputs[number], session.run(feed)
            boxes = self._detector.boxes(outputs, self._size)
            overlaps.append(detectors.best_overlaps(self._boxes[number], boxes))
            unmatched = detectors.best_overlaps(boxes, self._boxes[number]) < detectors.CLOSE
            false_positives += int(unmatched.sum())
            cosines += [cosine(expected[n].ravel(), outputs[n].ravel()) for n in expected]
        each = np.concatenate(overlaps)
        if not each.size:
            raise UsageError(
                "float32 finds no box on these photographs",
                where=self._detector.name,
                hint="use photographs of objects it detects; check `pictures` and `score`",
            )
        return [
            BoxScoreRow(
                self._detector.name,
                method,
                self._samples.count,
                len(each),
                float((each >= detectors.CLOSE).mean()),
                float((each >= detectors.LOOSE).mean()),
                false_positives,
                float(np.mean(cosines)),
                target.name,
                _cost(program, target, plan) / _cost(self._program, target, Plan()),
            )
            for target in targets
        ]


def _cost(program: Program, target: Target, plan: Plan) -> float:
    return planner.total_cycles(planner.decide(passes.optimize(program), target, plan), target)
