"""Measures how near int8 networks are to their float32 twins, on this machine."""

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
from lab.accuracy.figures import PEER, Cosine, Found, Measured, of_boxes, of_cosines
from lab.peers import quantized as twins
from trimtab import files, passes, paths, quantization
from trimtab.errors import CalibrationError, MissingRequirementError, UsageError
from trimtab.pipeline.resolve import model_path
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import insert_qdq
from trimtab.quantization.accuracy import Reference, cosine
from trimtab.quantization.calibration import Watched, watch
from trimtab.quantization.methods import DEFAULT, check
from trimtab.quantization.samples import PICTURES, SETTINGS, Samples
from trimtab.target import Target

if TYPE_CHECKING:
    from PIL import Image

_CROP = 0.7  # of a photograph's sides
_PLACES = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5))


@dataclass(frozen=True)
class Boxes:
    """What is counted: boxes of `detectors` on `photographs`, a folder; in int8 by each of `ways`,
    and in mixed precision with each of `budgets`, for each of `targets`.
    """

    detectors: Sequence[Detector]
    photographs: Path
    ways: Sequence[str]
    budgets: Sequence[str]
    targets: Sequence[Target]


def cosines(models: Sequence[str], ways: Sequence[str], progress: Progress = SILENT) -> Measured:
    """Each model by the peer's quantizer and by each of our methods, with the same pictures.

    UsageError for an unknown method; MissingRequirementError without onnxruntime.
    """
    _check(ways)
    found = []
    with progress.step("quantize beside the peer", "networks") as step:
        for number, model in enumerate(models):
            step.update(number, len(models), model)
            found += _cosines(model_path(model, progress=progress), ways)
    return of_cosines(found)


def boxes(work: Boxes, progress: Progress = SILENT) -> Measured:
    """What is found again of the boxes in float32, for each detector and way.

    UsageError without photographs, or where float32 finds no box on them, or for an unknown method.
    """
    _check(work.ways)
    halves = _halves(work.photographs)
    found: list[Found] = []
    with progress.step("count boxes", "detectors") as step:
        for number, detector in enumerate(work.detectors):
            step.update(number, len(work.detectors), detector.name)
            found += _detector(detector, halves, work, progress)
    settings = f"Detectors: {'; '.join(map(str, work.detectors))}."
    return of_boxes(found, [_told(halves), settings], mixed=bool(work.budgets))


def _check(ways: Sequence[str]) -> None:
    for way in ways:
        check(way)


# Beside onnxruntime.


def _cosines(path: Path, ways: Sequence[str]) -> list[Cosine]:
    program = trimtab.load(path)
    shapes = {name: program.vars[name].shape for name in program.inputs}
    given, others = twins.pictures(shapes)
    twin = twins.quantized(path, paths.cache() / "peers")
    found = [Cosine(path.stem, PEER, _peer_cosine(path, twin, others))]
    simple = passes.simplify(program, before="fuse_residual")
    watched = watch(simple, Samples(len(given), given.__getitem__))
    reference = Reference(simple, Samples(len(others), others.__getitem__))
    for way in ways:
        made = insert_qdq.quantized(simple, watched.ranges(way), (), watched.rounding)
        found.append(Cosine(path.stem, way, reference.compare(made).cosine))
    return found


def _watched(program: Program, samples: Samples) -> Watched:
    """What all methods take ranges of, so that the network runs once for all."""
    return watch(passes.simplify(program, before="fuse_residual"), samples.calibrating)


def _peer_cosine(model: Path, twin: Path, pictures: Sequence[Mapping[str, Any]]) -> float:
    """That of the peer's int8 network with the peer's float32 one."""
    import onnxruntime

    def run(path: Path) -> list[list[Any]]:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return [session.run(None, dict(feed)) for feed in pictures]

    pairs = zip(run(model), run(twin), strict=True)
    each = [
        cosine(a.astype(np.float64).ravel(), b.astype(np.float64).ravel())
        for real, integers in pairs
        for a, b in zip(real, integers, strict=True)
    ]
    return float(np.mean(each))


# Boxes.


def _halves(folder: Path) -> tuple[list[Path], list[Path]]:
    """Photographs to calibrate with and others, in turns by name."""
    if not folder.is_dir():
        raise UsageError("is no folder", where=str(folder), hint="--photographs FOLDER")
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES)
    if len(found) < 2:
        raise UsageError("one photograph or none", where=str(folder), hint="it needs two or more")
    return found[::2], found[1::2]


def _told(halves: tuple[list[Path], list[Path]]) -> str:
    """Which photographs these were, by name and digest of what is in them."""
    named = [
        ", ".join(f"{p.name} ({hashlib.sha256(p.read_bytes()).hexdigest()[:8]})" for p in half)
        for half in halves
    ]
    return f"Photographs that ranges are of: {named[0]}; that boxes are counted on: {named[1]}."


def _views(path: Path) -> Iterator[Image.Image]:
    """The whole photograph and parts of it, each also mirrored."""
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
        raise CalibrationError(f"is no picture: {error}", where=str(path)) from error
    width, height = (round(side * _CROP) for side in whole.size)
    for view in (whole, *(_part(whole, width, height, *place) for place in _PLACES)):
        yield view
        yield ImageOps.mirror(view)


def _part(whole: Image.Image, width: int, height: int, x: float, y: float) -> Image.Image:
    left, top = round(x * (whole.width - width)), round(y * (whole.height - height))
    return whole.crop((left, top, left + width, top + height))


def _write(photographs: Sequence[Path], settings: Mapping[str, Any], folder: Path) -> Path:
    """The views of photographs as a folder of pictures, as a network is calibrated with."""
    folder.mkdir()
    for photograph in photographs:
        for number, view in enumerate(_views(photograph)):
            view.save(folder / f"{photograph.stem}-{number:02}.ppm")
    files.write_text(folder / SETTINGS, tomli_w.dumps(dict(settings)))
    return folder


def _detector(
    detector: Detector, halves: tuple[list[Path], list[Path]], work: Boxes, progress: Progress
) -> list[Found]:
    program = trimtab.load(detector.model, inputs=dict(detector.inputs))
    with tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        given, others = (
            quantization.read_samples(
                _write(half, detector.pictures, Path(scratch) / name), program
            )
            for half, name in zip(halves, ("calibrating", "held_out"), strict=True)
        )
        count = _Count(detector, program, others)
        watched = _watched(program, given)
        found = []
        for way in work.ways:
            ranges = watched.ranges(way)
            twin = insert_qdq.quantized(watched.program, ranges, (), watched.rounding)
            found += count.of(f"int8, {way}", twin, Plan(precision="int8"), work.targets)
        for budget, target in product(work.budgets, work.targets):
            ranges = watched.ranges(DEFAULT)
            made = quantization.quantize(
                program, given, ranges=ranges, budget=budget, target=target, progress=progress
            )
            found += count.of(f"mixed, {budget}", made.program, made.plan, [target])
    return found


class _Count:
    """Counts the boxes of a float32 program that others find again."""

    def __init__(self, detector: Detector, program: Program, samples: Samples) -> None:
        self._detector, self._program, self._samples = detector, program, samples
        session = trimtab.Session(program)
        self._outputs = [session.run(feed) for feed in samples]
        *_, height, width = program.vars[program.inputs[0]].shape
        self._size = height, width
        self._boxes = [detector.boxes(outputs, self._size) for outputs in self._outputs]

    def of(self, way: str, program: Program, plan: Plan, targets: Iterable[Target]) -> list[Found]:
        """What `program` with `plan` finds again, and what it costs on each of `targets`."""
        session = trimtab.Session(program, plan=plan)
        overlaps, cosines, new = [], [], 0
        for number, feed in enumerate(self._samples):
            wanted, outputs = self._outputs[number], session.run(feed)
            boxes = self._detector.boxes(outputs, self._size)
            overlaps.append(detectors.again(self._boxes[number], boxes))
            new += int((detectors.again(boxes, self._boxes[number]) < detectors.FOUND).sum())
            cosines += [cosine(wanted[n].ravel(), outputs[n].ravel()) for n in wanted]
        each = np.concatenate(overlaps)
        if not each.size:
            raise UsageError(
                "float32 finds no box on these photographs",
                where=self._detector.name,
                hint="give photographs of what it detects, and look at its pictures and score",
            )
        return [
            Found(
                self._detector.name,
                way,
                self._samples.count,
                len(each),
                float((each >= detectors.FOUND).mean()),
                float((each >= detectors.ROUGHLY).mean()),
                new,
                float(np.mean(cosines)),
                target.name,
                _cost(program, target, plan) / _cost(self._program, target, Plan()),
            )
            for target in targets
        ]


def _cost(program: Program, target: Target, plan: Plan) -> float:
    return planner.total_cycles(planner.decide(passes.optimize(program), target, plan), target)
