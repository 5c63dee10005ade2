"""The results of a network for a picture, as tables and drawn into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.camera import FramePlacement
from trimtab.detections import DetectedBoxes, label_names
from trimtab.sight.difference import Difference, difference
from trimtab.tables import Column, Table

Array = NDArray[Any]

_POINT_SCORE = 0.3  # of a keypoint that is drawn
_MASK = 0.5  # probability of a pixel within a mask
_DOT = 2  # pixels


@dataclass(frozen=True)
class Sight:
    """The results of a network for one picture.

    `pixels`: the picture, uint8[h, w, 3]; `results`: the outputs by name, as `Session.run` gives
    them, with boxes and keypoints in pixels of the picture; `placement`: the place of the picture
    in the network's input of `size`, width and height. `milliseconds`: of one inference, None if
    nobody measured it; `reference`: the outputs of a reference for the same picture, None without.
    """

    pixels: Array
    results: Mapping[str, Array]
    placement: FramePlacement
    size: tuple[int, int]
    milliseconds: float | None = None
    reference: Mapping[str, Array] | None = None

    @property
    def names(self) -> Sequence[str]:
        """The names of classes that the model has."""
        return label_names(self.results)

    @property
    def boxes(self) -> DetectedBoxes | None:
        """The boxes, best first; None without a head that reads any."""
        return DetectedBoxes.of(self.results) if {"boxes", "count"} <= self.results.keys() else None

    @property
    def best(self) -> list[tuple[str, float]]:
        """The best classes of the whole picture with their scores; empty for other networks."""
        if not {"scores", "classes"} <= self.results.keys():
            return []
        scores, classes = (self.results[name][0] for name in ("scores", "classes"))
        return [(self._label(c), float(s)) for s, c in zip(scores, classes, strict=True)]

    @property
    def difference(self) -> Difference | None:
        """How the results differ from those of the reference; None without a reference."""
        return None if self.reference is None else difference(self.reference, self.results)

    def __str__(self) -> str:
        """One line: the number of boxes with the best ones, or the best class."""
        if self.boxes is not None:
            best = ", ".join(f"{box.label} {box.score:.2f}" for box in self.boxes[:3])
            return f"{len(self.boxes)} boxes" + f": {best}" * bool(best)
        if self.best:
            return "{} {:.4f}".format(*self.best[0])
        return ", ".join(self.results)

    def _label(self, index: int) -> str:
        return self.names[index] if index < len(self.names) else str(index)

    def table(self) -> Table:
        """The boxes, the classes, or, where no head reads the outputs, what they hold."""
        if self.boxes is not None:
            return self.boxes.table()
        if self.best:
            columns = [Column("class"), Column("score")]
            return Table(columns, [(label, f"{score:.4f}") for label, score in self.best])
        if (areas := self._areas()) is not None:
            classes, counts = np.unique(areas, return_counts=True)
            rows = sorted(zip(counts / areas.size, classes, strict=True), reverse=True)
            columns = [Column("class"), Column("share of pixels")]
            return Table(columns, [(self._label(int(c)), f"{share:.1%}") for share, c in rows])
        names = ("output", "type", "shape", "smallest", "mean", "largest")
        return Table([Column(name) for name in names], [*map(self._facts, self.results)])

    def _facts(self, name: str) -> tuple[str, ...]:
        values = self.results[name]
        shape = "x".join(map(str, values.shape))
        if not values.size:
            return (name, str(values.dtype), shape, "", "", "")
        numbers = (values.min(), values.mean(), values.max())
        return (name, str(values.dtype), shape, *(f"{number:.5g}" for number in numbers))

    def _areas(self) -> Array | None:
        """The class of each pixel of a segmentation [h, w], None for other networks."""
        classes = self.results.get("classes")
        return classes[0] if classes is not None and classes.ndim == 3 else None

    def _map(self) -> Array | None:
        """The only output as an image [h, w], such as a depth; None if it is none."""
        if len(self.results) != 1:
            return None
        values = np.squeeze(next(iter(self.results.values())))
        return values if values.ndim == 2 and min(values.shape) > 8 else None

    def to_json(self) -> dict[str, Any]:
        """The results as JSON values; outputs that nothing reads by shape and range."""
        facts: dict[str, Any] = {"milliseconds": self.milliseconds}
        if self.boxes is not None:
            facts["boxes"] = [
                {
                    "label": box.label,
                    "class": box.class_index,
                    "score": box.score,
                    "box": [box.xmin, box.ymin, box.xmax, box.ymax],
                    **({"corners": box.corners, "angle": box.angle} if box.corners else {}),
                    **self._points_of(i),
                }
                for i, box in enumerate(self.boxes)
            ]
        elif self.best:
            facts["classes"] = [{"label": label, "score": score} for label, score in self.best]
        else:
            facts["outputs"] = self.table().records()
        return facts | ({"difference": asdict(self.difference)} if self.difference else {})

    def _points_of(self, row: int) -> dict[str, Any]:
        points = self.results.get("points")
        return {} if points is None else {"points": points[0, row].astype(float).tolist()}

    def draw(self) -> Any:
        """The picture as a Pillow image with what the network sees; None if its outputs cannot be
        drawn. MissingRequirementError without Pillow.
        """
        boxes = self.boxes
        if boxes is not None:
            drawn = boxes.draw(self._with_masks(len(boxes)))
            self._draw_points(drawn, len(boxes))
            return drawn
        if self.best:
            drawn = DetectedBoxes(()).draw(self.pixels)
            _write_lines(drawn, [f"{label} {score:.3f}" for label, score in self.best])
            return drawn
        if (areas := self._areas()) is not None:
            colors = _colors(self._on_picture(areas.astype(np.int64), outside=0))
            return DetectedBoxes(()).draw(_mixed(self.pixels, colors, np.ones(colors.shape[:2])))
        if (values := self._map()) is not None:
            low, high = float(values.min()), float(values.max())
            gray = (values - low) / max(high - low, 1e-12) * 255
            image = self._on_picture(gray.astype(np.uint8), outside=0)
            return DetectedBoxes(()).draw(np.repeat(image[..., None], 3, axis=2))
        return None

    def _on_picture(self, grid: Array, outside: float) -> Array:
        """The value of each pixel of the picture in a grid [h, w] over the network's input."""
        height, width = self.pixels.shape[:2]
        y, x = np.mgrid[:height, :width] + 0.5
        places = self.placement.to_input(np.stack([x, y], axis=-1)) / self.size
        columns, rows = (places * grid.shape[::-1]).astype(np.int64).transpose(2, 0, 1)
        inside = (rows >= 0) & (rows < grid.shape[0]) & (columns >= 0) & (columns < grid.shape[1])
        values = grid[rows.clip(0, grid.shape[0] - 1), columns.clip(0, grid.shape[1] - 1)]
        return np.asarray(np.where(inside, values, grid.dtype.type(outside)))

    def _with_masks(self, count: int) -> Array:
        """The picture with a tint where the masks of the boxes are."""
        masks, pixels = self.results.get("masks"), self.pixels
        for row in range(count if masks is not None else 0):
            assert masks is not None
            inside = self._on_picture(masks[0, row], outside=0.0) > _MASK
            color = _colors(np.full(inside.shape, row + 1))
            pixels = _mixed(pixels, color, inside)
        return pixels

    def _draw_points(self, image: Any, count: int) -> None:
        from PIL import ImageDraw

        pen, points = ImageDraw.Draw(image), self.results.get("points")
        for row in range(count if points is not None else 0):
            assert points is not None
            for x, y, score in points[0, row]:
                if score > _POINT_SCORE:
                    place = (x - _DOT, y - _DOT, x + _DOT, y + _DOT)
                    pen.ellipse(tuple(map(float, place)), fill="yellow", outline="black")


def _colors(classes: Array) -> Array:
    """A color of each class, uint8[..., 3]; class 0 is black."""
    steps = np.array([67, 151, 229])
    return np.asarray((classes[..., None] * steps) % 256, np.uint8)


def _mixed(pixels: Array, colors: Array, where: Array) -> Array:
    """The picture, half in the color of each pixel where that is wanted."""
    half = (pixels.astype(np.int64) + colors) // 2
    return np.where(where[..., None] > 0, half, pixels).astype(np.uint8)


def _write_lines(image: Any, lines: Sequence[str]) -> None:
    from PIL import ImageDraw

    pen = ImageDraw.Draw(image)
    for i, line in enumerate(lines):
        pen.text((5, 4 + 12 * i), line, fill="white", stroke_width=1, stroke_fill="black")
