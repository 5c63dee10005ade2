"""Detected boxes: the results of a network with a head, as rows that print as a table and draw
themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import MissingRequirementError, UsageError
from trimtab.tables import Column, Table


@dataclass(frozen=True)
class DetectedBox:
    """One box, in pixels, with its score and class; `label` names the class. `corners`: x and y of
    the corners of an oriented box in turn, of which the others are the extent; empty: it is
    upright.
    """

    xmin: float
    ymin: float
    xmax: float
    ymax: float
    score: float
    class_index: int
    label: str
    corners: tuple[tuple[float, float], ...] = ()

    @property
    def angle(self) -> float:
        """The angle of a side from x to y, in radians from 0 to pi / 2; 0 if it is upright."""
        if not self.corners:
            return 0.0
        (x, y), _, _, (left, top) = self.corners
        return math.atan2(y - top, x - left) % (math.pi / 2)


class DetectedBoxes(Sequence[DetectedBox]):
    """The boxes of one image, best first."""

    def __init__(self, rows: Sequence[DetectedBox]) -> None:
        self.rows = tuple(rows)

    @staticmethod
    def of(
        results: Mapping[str, NDArray[Any]], labels: Sequence[str] = (), image: int = 0
    ) -> DetectedBoxes:
        """The boxes of an image among the outputs of a session. `labels`: the names of classes;
        default: those of the model file, or their numbers. UsageError for outputs without boxes.
        """
        boxes, counts = results.get("boxes"), results.get("count")
        if boxes is None or counts is None or boxes.ndim != 3 or not 0 <= image < len(boxes):
            raise UsageError(
                f"the outputs hold no boxes of image {image}",
                hint="attach a detector's head: trimtab.attach_head(program, NAME)",
            )
        labels = labels or label_names(results)
        rows, corners = [], results.get("corners")
        for i, values in enumerate(np.asarray(boxes[image, : int(counts[image])], float)):
            index = int(values[5])
            label = labels[index] if index < len(labels) else str(index)
            xmin, ymin, xmax, ymax, score = (float(value) for value in values[:5])
            turned = (
                () if corners is None else tuple((float(x), float(y)) for x, y in corners[image, i])
            )
            rows.append(DetectedBox(xmin, ymin, xmax, ymax, score, index, label, turned))
        return DetectedBoxes(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return DetectedBoxes(self.rows[index]) if isinstance(index, slice) else self.rows[index]

    def __iter__(self) -> Iterator[DetectedBox]:
        return iter(self.rows)

    def __str__(self) -> str:
        return self.table().text()

    def table(self) -> Table:
        """The boxes as a table."""
        corners = ("xmin", "ymin", "xmax", "ymax")
        is_turned = any(row.corners for row in self.rows)
        names = ("class", "score", *corners, *(["angle"] if is_turned else []))
        return Table(
            [Column(name) for name in names],
            [
                (row.label, f"{row.score:.3f}", *(f"{getattr(row, name):.1f}" for name in corners))
                + ((f"{math.degrees(row.angle):.1f}°",) if is_turned else ())
                for row in self.rows
            ],
        )

    def draw(self, image: Any) -> Any:
        """A copy of a Pillow image, or an RGB array [h, w, 3], with the boxes drawn, as a Pillow
        image. MissingRequirementError without Pillow.
        """
        try:
            from PIL import Image, ImageDraw
        except ImportError as error:
            raise MissingRequirementError(
                "drawing boxes needs Pillow", hint="pip install pillow"
            ) from error
        picture = Image.fromarray(image) if isinstance(image, np.ndarray) else image.copy()
        pen = ImageDraw.Draw(picture)
        for row in reversed(self.rows):  # the best on top
            color = f"hsl({row.class_index * 47 % 360}, 90%, 50%)"
            low, high = (row.xmin, row.ymin), (row.xmax, row.ymax)
            if low <= high and low[1] <= high[1]:
                if row.corners:
                    pen.line([*row.corners, row.corners[0]], fill=color, width=2)
                else:
                    pen.rectangle((*low, *high), outline=color, width=2)
                pen.text((row.xmin + 3, row.ymin + 2), f"{row.label} {row.score:.2f}", fill=color)
        return picture


def label_names(results: Mapping[str, NDArray[Any]]) -> Sequence[str]:
    """The names of classes that a model file has, from the outputs of a session; empty if none."""
    labels = results.get("labels")
    if labels is None or labels.dtype != np.uint8:
        return ()
    return labels.tobytes().decode().split("\0")[:-1]


def overlaps(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Intersection over union of boxes a[n, 4] with boxes b[m, 4]: [n, m]."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:4], b[None, :, 2:4])
    common = np.clip(high - low, 0, None).prod(axis=2)
    areas = [np.clip(box[:, 2:4] - box[:, :2], 0, None).prod(axis=1) for box in (a, b)]
    union = areas[0][:, None] + areas[1][None, :] - common
    return np.asarray(common / np.maximum(union, 1e-12))
