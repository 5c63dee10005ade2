"""Boxes that a detector finds, and how many of them are found again by another of its twins.

Errors of tensors are not errors of boxes: these are few, of strong values, and their sides are
exponentials of what a network computes. A file says what detectors there are:

    [ultraface]
    model = "RFB-320.onnx"    # beside the file
    head = "corners"          # what the outputs hold: a key of HEADS
    score = 0.7               # boxes below it do not count
    overlap = 0.3             # above it the lesser of two boxes of a class goes
    priors = [[8, 10, 16, 24], [16, 32, 48]]          # of a head that has them: step and sizes of
                                                      # each grid, in pixels
    inputs = { input = [1, 3, 240, 320] }             # where shapes are free
    pictures = { mean = 127, scale = 0.0078125 }      # as in pictures.toml
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UsageError

Array = NDArray[Any]

FOUND = 0.9  # intersection over union of a box that is found again
ROUGHLY = 0.5  # and of one that is found at all


@dataclass(frozen=True)
class Boxes:
    """`corners`: [n, 4], left, top, right, bottom; with a score and a class each."""

    corners: Array
    scores: Array
    classes: Array


def overlaps(a: Array, b: Array) -> Array:
    """Intersection over union of each of a [n, 4] with each of b [m, 4]: [n, m]."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=2)
    areas = [np.clip(x[:, 2:] - x[:, :2], 0, None).prod(axis=1) for x in (a, b)]
    union = areas[0][:, None] + areas[1][None] - common
    return np.asarray(common / np.maximum(union, 1e-12))


def best(found: Boxes, score: float, overlap: float) -> Boxes:
    """The boxes of at least that score, without those that overlap a better one of their class."""
    order = np.argsort(-found.scores, kind="stable")
    order = order[found.scores[order] >= score]
    corners, classes = found.corners[order], found.classes[order]
    hides = (overlaps(corners, corners) > overlap) & (classes[:, None] == classes[None])
    kept: list[int] = []
    for i in range(len(order)):
        if not hides[i, kept].any():
            kept.append(i)
    return Boxes(corners[kept], found.scores[order][kept], classes[kept])


def again(wanted: Boxes, found: Boxes) -> Array:
    """Of each wanted box the largest overlap with one of its class that was found: [n]."""
    same = wanted.classes[:, None] == found.classes[None]
    both = overlaps(wanted.corners, found.corners) * same
    return np.asarray(both.max(axis=1, initial=0.0))


# How outputs become boxes.


def _corners(outputs: Mapping[str, Array]) -> Boxes:
    """SSD: boxes [1, n, 4], or offsets from priors, and scores [1, n, classes], the first of
    which are the background.
    """
    rows = [value.reshape(-1, value.shape[-1]) for value in outputs.values()]
    (corners,) = (row for row in rows if row.shape[1] == 4)
    (scores,) = (row for row in rows if row.shape[1] != 4)
    return Boxes(corners, scores[:, 1:].max(axis=1), scores[:, 1:].argmax(axis=1))


def _rows(outputs: Mapping[str, Array]) -> Boxes:
    """YOLO: rows of x, y, width, height, objectness and the score of each class, of all outputs."""
    width = next(iter(outputs.values())).shape[-1]
    rows = np.concatenate([value.reshape(-1, width) for value in outputs.values()])
    half = rows[:, 2:4] / 2
    corners = np.concatenate([rows[:, :2] - half, rows[:, :2] + half], axis=1)
    return Boxes(corners, rows[:, 5:].max(axis=1), rows[:, 5:].argmax(axis=1))


_CENTERS, _SIZES = 0.1, 0.2  # how far offsets of SSD reach, in sizes of a prior and in powers of e


def decoded(offsets: Array, priors: Sequence[Sequence[float]], size: tuple[int, int]) -> Array:
    """Corners [n, 4], as shares of a picture of that height and width, of SSD's offsets [n, 4] from
    boxes of each size in the middle of each cell of the grids (Liu et al. 2016, 2.2).
    """
    grids = []
    for step, *sides in priors:
        rows, columns = np.indices([math.ceil(side / step) for side in size])
        centers = (np.stack([columns, rows], axis=-1) + 0.5) * step
        cells = np.broadcast_to(centers[:, :, None], (*rows.shape, len(sides), 2))
        squares = np.broadcast_to(np.array(sides)[:, None], cells.shape)
        grids.append(np.concatenate([cells, squares], axis=-1).reshape(-1, 4))
    prior = np.concatenate(grids) / [size[1], size[0], size[1], size[0]]
    center = prior[:, :2] + offsets[:, :2] * _CENTERS * prior[:, 2:]
    half = prior[:, 2:] * np.exp(offsets[:, 2:] * _SIZES) / 2
    return np.concatenate([center - half, center + half], axis=1)


_STEP, _CELL = 2, 12  # of MTCNN's first network, in pixels


def _cells(outputs: Mapping[str, Array]) -> Boxes:
    """MTCNN's first network: logits [1, 2, h, w] and how far the sides of each cell are off,
    [1, 4, h, w], in sizes of a cell.
    """
    maps = {value.shape[1]: value[0] for value in outputs.values()}
    logits, off = maps[2], maps[4].reshape(4, -1)
    rows, columns = (grid.reshape(-1) * _STEP for grid in np.indices(logits.shape[1:]))
    cells = np.stack([columns, rows, columns + _CELL, rows + _CELL])
    scores = 1 / (1 + np.exp(logits[0] - logits[1])).reshape(-1)
    return Boxes((cells + off * _CELL).T, scores, np.zeros(len(scores), int))


Head = Callable[[Mapping[str, Array]], Boxes]
HEADS: Mapping[str, Head] = {"corners": _corners, "rows": _rows, "cells": _cells}


@dataclass(frozen=True)
class Detector:
    """A detector as the file has it; `pictures`: the settings that pictures.toml has."""

    name: str
    model: Path
    head: str
    score: float
    overlap: float
    priors: Sequence[Sequence[float]]
    inputs: Mapping[str, tuple[int, ...]]
    pictures: Mapping[str, Any]

    def __str__(self) -> str:
        """What its boxes depend on, beside the priors."""
        shapes = [f"{name} {'x'.join(map(str, shape))}" for name, shape in self.inputs.items()]
        pictures = [f"{key} {value}" for key, value in self.pictures.items()]
        facts = [f"score {self.score}", f"overlap {self.overlap}", *shapes, *pictures]
        return f"{self.name} ({self.model.name}, {self.head}, {', '.join(facts)})"

    def boxes(self, outputs: Mapping[str, Array], size: tuple[int, int]) -> Boxes:
        """Those that count, on a picture of that height and width."""
        found = HEADS[self.head](outputs)
        if self.priors:
            corners = decoded(found.corners, self.priors, size)
            found = Boxes(corners, found.scores, found.classes)
        return best(found, self.score, self.overlap)


def read(path: Path) -> list[Detector]:
    """The detectors of a file; UsageError names what is wrong in it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", where=str(path)) from error
    return [_detector(name, row, path) for name, row in table.items()]


_KINDS: Mapping[str, Any] = {
    "model": str,
    "head": str,
    "score": int | float,
    "overlap": int | float,
    "priors": list,
    "inputs": dict,
    "pictures": dict,
}


def _detector(name: str, row: Any, path: Path) -> Detector:
    given = {"priors": [], "inputs": {}, "pictures": {}, **row} if isinstance(row, dict) else {}
    wrong = [key for key, kind in _KINDS.items() if not isinstance(given.get(key), kind)]
    wrong += sorted(set(given) - set(_KINDS))
    if wrong or given["head"] not in HEADS:
        raise UsageError(
            f"[{name}]: missing, unknown or of a wrong type: {', '.join(wrong) or 'head'}",
            where=str(path),
            hint=f"it has {', '.join(_KINDS)}; head is one of {', '.join(HEADS)}",
        )
    inputs = {key: tuple(shape) for key, shape in given["inputs"].items()}
    return Detector(
        name,
        path.parent / given["model"],
        given["head"],
        float(given["score"]),
        float(given["overlap"]),
        given["priors"],
        inputs,
        given["pictures"],
    )
