"""Boxes of a detector, and their overlap with the boxes of another version of it.

Errors of tensors say little about boxes: few outputs become boxes, with large values, and the sizes
of boxes are exponentials of outputs. A TOML file describes the detectors:

    [ultraface]
    model = "RFB-320.onnx"    # beside the file
    head = "corners"          # layout of the outputs: a key of HEADS
    score = 0.7               # boxes with a lower score are dropped
    overlap = 0.3             # threshold of non-maximum suppression
    priors = [[8, 10, 16, 24], [16, 32, 48]]          # prior boxes: stride and sizes of each grid,
                                                      # in pixels
    inputs = { input = [1, 3, 240, 320] }             # shapes of inputs with free dimensions
    pictures = { mean = 127, scale = 0.0078125 }      # as in pictures.toml
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.detections import overlaps
from trimtab.errors import UsageError
from trimtab.toml_table import TomlFile

Array = NDArray[Any]

CLOSE = 0.9  # intersection over union of a close match
LOOSE = 0.5  # and of a loose one


@dataclass(frozen=True)
class Detections:
    """Boxes with scores and classes. `corners`: [n, 4], left, top, right, bottom."""

    corners: Array
    scores: Array
    classes: Array


def suppress(boxes: Detections, score: float, overlap: float) -> Detections:
    """Non-maximum suppression per class, of the boxes with at least that score."""
    order = np.argsort(-boxes.scores, kind="stable")
    order = order[boxes.scores[order] >= score]
    corners, classes = boxes.corners[order], boxes.classes[order]
    hides = (overlaps(corners, corners) > overlap) & (classes[:, None] == classes[None])
    survivors: list[int] = []
    for i in range(len(order)):
        if not hides[i, survivors].any():
            survivors.append(i)
    return Detections(corners[survivors], boxes.scores[order][survivors], classes[survivors])


def best_overlaps(a: Detections, b: Detections) -> Array:
    """The largest overlap [n] of each box of `a` with a box of its class in `b`."""
    same = a.classes[:, None] == b.classes[None]
    both = overlaps(a.corners, b.corners) * same
    return np.asarray(both.max(axis=1, initial=0.0))


# Decoding of outputs.


def _corners(outputs: Mapping[str, Array]) -> Detections:
    """SSD: boxes [1, n, 4], or offsets from prior boxes, and scores [1, n, classes], of which class
    0 is the background.
    """
    rows = [value.reshape(-1, value.shape[-1]) for value in outputs.values()]
    (corners,) = (row for row in rows if row.shape[1] == 4)
    (scores,) = (row for row in rows if row.shape[1] != 4)
    return Detections(corners, scores[:, 1:].max(axis=1), scores[:, 1:].argmax(axis=1))


def _rows(outputs: Mapping[str, Array]) -> Detections:
    """YOLO: rows of x, y, width, height, objectness and class scores, in all outputs."""
    width = next(iter(outputs.values())).shape[-1]
    rows = np.concatenate([value.reshape(-1, width) for value in outputs.values()])
    half = rows[:, 2:4] / 2
    corners = np.concatenate([rows[:, :2] - half, rows[:, :2] + half], axis=1)
    return Detections(corners, rows[:, 5:].max(axis=1), rows[:, 5:].argmax(axis=1))


_CENTERS, _SIZES = 0.1, 0.2  # SSD's variances: offsets in prior sizes, log sizes


def decoded(offsets: Array, priors: Sequence[Sequence[float]], size: tuple[int, int]) -> Array:
    """Decodes SSD's offsets [n, 4] into corners [n, 4] relative to an image of (height, width).

    The prior boxes are squares of each size at the center of each grid cell (Liu et al. 2016, 2.2).
    """
    grids = []
    for stride, *sides in priors:
        rows, columns = np.indices([math.ceil(side / stride) for side in size])
        centers = (np.stack([columns, rows], axis=-1) + 0.5) * stride
        cells = np.broadcast_to(centers[:, :, None], (*rows.shape, len(sides), 2))
        squares = np.broadcast_to(np.array(sides)[:, None], cells.shape)
        grids.append(np.concatenate([cells, squares], axis=-1).reshape(-1, 4))
    prior = np.concatenate(grids) / [size[1], size[0], size[1], size[0]]
    center = prior[:, :2] + offsets[:, :2] * _CENTERS * prior[:, 2:]
    half = prior[:, 2:] * np.exp(offsets[:, 2:] * _SIZES) / 2
    return np.concatenate([center - half, center + half], axis=1)


_STRIDE, _CELL = 2, 12  # pixels, MTCNN's first network


def _cells(outputs: Mapping[str, Array]) -> Detections:
    """MTCNN's first network: logits [1, 2, h, w] and offsets of each cell's sides [1, 4, h, w], in
    cell sizes.
    """
    maps = {value.shape[1]: value[0] for value in outputs.values()}
    logits, offsets = maps[2], maps[4].reshape(4, -1)
    rows, columns = (grid.reshape(-1) * _STRIDE for grid in np.indices(logits.shape[1:]))
    cells = np.stack([columns, rows, columns + _CELL, rows + _CELL])
    scores = 1 / (1 + np.exp(logits[0] - logits[1])).reshape(-1)
    return Detections((cells + offsets * _CELL).T, scores, np.zeros(len(scores), int))


Head = Callable[[Mapping[str, Array]], Detections]
HEADS: Mapping[str, Head] = {"corners": _corners, "rows": _rows, "cells": _cells}


@dataclass(frozen=True)
class DetectorKeys:
    """The keys of a detector in the file. `pictures`: preprocessing, as in pictures.toml."""

    model: str
    head: str
    score: float
    overlap: float
    priors: tuple[Any, ...] = ()
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    pictures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Detector(DetectorKeys):
    """A detector of a file. `path`: of its model."""

    name: str
    path: Path

    def __str__(self) -> str:
        """The settings that its boxes depend on, except prior boxes."""
        shapes = [f"{name} {'x'.join(map(str, shape))}" for name, shape in self.inputs.items()]
        pictures = [f"{key} {value}" for key, value in self.pictures.items()]
        facts = [f"score {self.score}", f"overlap {self.overlap}", *shapes, *pictures]
        return f"{self.name} ({self.path.name}, {self.head}, {', '.join(facts)})"

    def boxes(self, outputs: Mapping[str, Array], size: tuple[int, int]) -> Detections:
        """The final boxes, on an image of (height, width)."""
        raw = HEADS[self.head](outputs)
        if self.priors:
            raw = Detections(decoded(raw.corners, self.priors, size), raw.scores, raw.classes)
        return suppress(raw, self.score, self.overlap)


def read(path: Path) -> list[Detector]:
    """Reads the detectors of a file; UsageError for an invalid file."""
    file = TomlFile(path, UsageError, hint=f"head is one of {', '.join(HEADS)}")
    return [_detector(file, name) for name in file.table]


def _detector(file: TomlFile, name: str) -> Detector:
    keys = file.record(DetectorKeys, file.table[name], key=name)
    if keys.head not in HEADS:
        raise file.wrong(f"{name}.head", f"one of {', '.join(HEADS)}")
    return Detector(**vars(keys), name=name, path=file.path.parent / keys.model)
