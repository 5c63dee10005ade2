"""Adds the operators of a head to a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from trimtab.errors import UsageError
from trimtab.heads._reading import Reading, Values
from trimtab.heads._request import HeadRequest
from trimtab.heads._trace import CAMERA, image_sizes
from trimtab.program import Program, Var

BOXES, COUNT, LABELS, POINTS, CORNERS = "boxes", "count", "labels", "points", "corners"
"""The outputs of a detector: f32[n, rows, 6] with xmin, ymin, xmax, ymax, score and class, the
number of used rows, i32[n], the names of classes, u8[bytes], if they are known, keypoints, f32[n,
rows, points, 3] with x, y and score, and corners of oriented boxes, f32[n, rows, 4, 2]."""

MAPPING = ("scale", "offset", "frame")
"""The fields of a request that map boxes to a frame."""

PLACEMENT_VALUES = 6
"""The length of the output `placement` of a camera's operator."""

_ALL = 2**31 - 1  # candidates


class HeadBuilder:
    """A program that a head is added to. `tensors`: its outputs so far, which the head reads."""

    def __init__(self, program: Program, request: HeadRequest) -> None:
        self.program, self.request = program, request
        self.raw = program.copy()
        self.selected = ""  # the numbers of the boxes that remain, i32[n, rows]
        self.tensors: list[Var] = [program.vars[name] for name in program.outputs]
        self.reading: Reading | None = None

    @property
    def label_count(self) -> int:
        """The number of names of classes that the user gives, or the model's file; 0 if none are
        known.
        """
        return len(self.request.labels or self.program.hints.labels)

    def reads(self, reading: Reading) -> None:
        """Declares what the head takes its tensors for; the first declaration of a head counts."""
        self.reading = self.reading or reading

    def invalid(self, expected: str) -> UsageError:
        """The exception for tensors that do not fit; `expected` says which do."""
        actual = ", ".join(f"{var.name} {list(var.shape)}" for var in self.tensors)
        return UsageError(
            f"the head {self.request.name} expects {expected}; the outputs are {actual}",
            where=self.program.name,
            hint="--tensor NAME names other tensors, and docs/boxes.md lists the heads",
        )

    def image_size(self) -> tuple[int, int]:
        """Height and width of the network's input."""
        for size in image_sizes(self.program):
            return size
        raise self.request.invalid("the network has no input [n, c, h, w]")

    @property
    def candidates(self) -> int:
        """The limit of boxes that suppression considers; of all, unless one is asked for."""
        return self.request.candidates or _ALL

    @property
    def unit(self) -> tuple[float, float]:
        """Width and height, in pixels, of the unit of coordinates that the network has decoded: the
        image, if they are relative to it.
        """
        if not (self.request.relative or self.program.hints.relative):
            return 1.0, 1.0
        height, width = self.image_size()
        return width, height

    @property
    def unit_scale(self) -> tuple[float, float]:
        """The factors of the request, for coordinates that the network has decoded."""
        (x, y), (width, height) = self.request.scale, self.unit
        return x * width, y * height

    def strides(self, grids: Sequence[Sequence[int]]) -> list[float]:
        """The stride of each grid of (height, width)."""
        height, width = self.image_size()
        strides = [height / h for h, _ in grids]
        if any(abs(width / w - s) > 1e-3 * s for (_, w), s in zip(grids, strides, strict=True)):
            raise self.request.invalid("a grid has other proportions than the network's input")
        return strides

    def add(
        self, op: str, inputs: Sequence[str], outputs: int | Sequence[str] = 1, **attributes: Any
    ) -> list[str]:
        """Appends an operator, and returns the names of its results; `outputs`: their number, or
        the names to give them.
        """
        return self.program.block.add_op(op, list(inputs), attributes, outputs)

    def constant(self, value: Any, name: str) -> str:
        """Adds a constant."""
        return self.program.block.add_constant(np.asarray(value), name)

    def boxes(
        self,
        tensors: Sequence[str],
        *,
        nms: bool = True,
        on_grids: Sequence[int] = (),
        values: Sequence[Values] = (),
        **attributes: Any,
    ) -> None:
        """Ends the program with boxes: decode_boxes with these attributes, then suppress_boxes,
        which without `nms` keeps all that there is room for. `on_grids`, and `values` beside the
        scores: see `Reading`.
        """
        reading = self.reading_of(tensors, attributes)
        self.reads(replace(reading, on_grids=tuple(on_grids), values=(*reading.values, *values)))
        boxes, count, index = self.decoded(tensors, **attributes)
        self.suppressed(boxes, count, index, iou=self.request.iou if nms else 1.0)

    def decoded(self, tensors: Sequence[str], **attributes: Any) -> list[str]:
        """Boxes, counts and numbers of decode_boxes with these attributes and those of the
        request.
        """
        r = self.request
        decoded = {"threshold": r.score, "candidates": self.candidates, "offset": r.offset}
        decoded |= {"multi_label": r.multi_label, "scale": r.scale}
        return self.add("decode_boxes", tensors, 3, **(decoded | attributes))

    def reading_of(self, tensors: Sequence[str], values: Mapping[str, Any]) -> Reading:
        """The reading of decode_boxes with these attributes: its scores are probabilities unless it
        computes them from logits.
        """
        parts = values.get("parts", 1)
        read = tensors[:-1] if values["box"] == "prior" else tensors
        of_boxes, of_scores, of_objectness = (
            [self.program.vars[name] for name in read[part::parts]]
            for part in (0, min(1, parts - 1), parts - 1)
        )
        is_first = bool(values.get("channels_first", False))
        places = [
            var.shape[2 if is_first else 1] if len(var.shape) == 3 else var.shape[2] * var.shape[3]
            for var in of_boxes
        ]
        spans = [(of_scores, values.get("score_channel", 0), values["classes"])]
        if values.get("objectness_channel", -1) >= 0:
            spans.append((of_objectness, values["objectness_channel"], 1))
        probabilities = tuple(
            Values("scores", var.name, 1 if is_first or len(var.shape) == 4 else 2, at, at + n)
            for group, at, n in spans
            for var in group
            if values.get("scores", "linear") == "linear"
        )
        return Reading(
            classes=values["classes"],
            has_background=values.get("background", -1) >= 0,
            rows=sum(places) * values.get("per_place", 1),
            values=probabilities,
        )

    def suppressed(self, boxes: str, count: str, index: str, iou: float) -> None:
        """Ends the program with the boxes that remain."""
        r = self.request
        results = self.add(
            "suppress_boxes",
            [boxes, count, index],
            [BOXES if self.placement is None else f"{BOXES}.of_input", COUNT, "index"],
            iou_threshold=iou if iou < 1 else 2.0,  # above the overlap of equal boxes when rounded
            class_agnostic=r.agnostic,
            max_boxes=r.max_boxes,
            frame=r.frame,
        )
        self.selected = results[2]
        self.end(results[0], results[1])

    def end(self, boxes: str, count: str) -> None:
        """Ends the program with boxes [n, rows, 6] in the network's input, and their number."""
        self.program.outputs = [self.in_frame(boxes, count, BOXES), count, *self.labels()]

    def of_selected(self, x: str, axis: int = 1) -> str:
        """The values of the selected boxes, [n, rows, values], of `x`, [n, places, values], or with
        `axis` 2 [n, values, places]. Those of unused rows mean nothing.
        """
        images, rows = self.program.vars[self.selected].shape
        if images == 1:
            (index,) = self.add("reshape", [self.selected], shape=(rows,))
            (values,) = self.add("gather", [x, index], axis=axis)
        else:  # each image has its own boxes
            count = self.program.vars[x].shape[3 - axis]
            one, all_values = [images, rows, rows], [images, rows, rows]
            one[3 - axis], all_values[3 - axis] = 1, count
            (index,) = self.add("reshape", [self.selected], shape=tuple(one))
            (index,) = self.add("expand", [index], shape=tuple(all_values))
            (values,) = self.add("gather_elements", [x, index], axis=axis)
        if axis == 2:
            (values,) = self.add("transpose", [values], permutation=(0, 2, 1))
        return values

    def in_cells(
        self,
        points: str,
        grids: Sequence[Sequence[int]],
        strides: Sequence[float],
        per_place: int = 1,
        factor: int = 1,
    ) -> str:
        """Points of the selected boxes [n, rows, points, 2] in pixels, of those in units of the
        stride times `factor`, from the corner of the cell. `per_place`: boxes of a cell.
        """
        table = []  # of each box: x and y of the corner, and the unit
        for (height, width), stride in zip(grids, strides, strict=True):
            y, x = np.mgrid[:height, :width] * stride
            cells = np.stack([x, y, np.full_like(x, factor * stride)], -1).reshape(-1, 3)
            table.append(np.repeat(cells, per_place, 0))
        images, rows = self.program.vars[self.selected].shape
        (index,) = self.add("reshape", [self.selected], shape=(images * rows,))
        cell = self.constant(np.concatenate(table).astype(np.float32), "cells")
        (cell,) = self.add("gather", [cell, index], axis=0)
        (cell,) = self.add("reshape", [cell], shape=(images, rows, 1, 3))
        for op, start, end in (("mul", 2, 3), ("add", 0, 2)):
            (by,) = self.add("slice", [cell], starts=(start,), ends=(end,), axes=(3,))
            (points,) = self.add(op, [points, by])
        return points

    def with_sure_scores(self, points: str) -> str:
        """Keypoints [n, rows, points, 2] with the score 1: [n, rows, points, 3]."""
        return self.add("pad", [points], pads=(0, 0, 0, 0, 0, 0, 0, 1), value=1.0)[0]

    def add_points(self, values: str, scale: Sequence[float] = ()) -> None:
        """Adds the output of the boxes' keypoints, [n, rows, points * 3]: x, y and score. `scale`:
        see `points_in_frame`.
        """
        self.add_output(self.points_in_frame(values, self.program.outputs[1], scale))

    def points_in_frame(self, values: str, row_count: str, scale: Sequence[float] = ()) -> str:
        """The keypoints [n, rows, points * 3] of `add_points`, of which each image has a number of
        rows, in pixels of the frame: [n, rows, points, 3]. `scale`: factors of x and y, default:
        those of the request.
        """
        r, (images, rows, count) = self.request, self.program.vars[values].shape
        points = count // 3
        values = self.mapped(values, [*(scale or r.scale), 1] * points, [*r.offset, 0] * points)
        name = POINTS if self.placement is None else f"{POINTS}.of_input"
        (result,) = self.add("reshape", [values], [name], shape=(images, rows, points, 3))
        return self.in_frame(result, row_count, POINTS)

    def mapped(self, values: str, scale: Sequence[float], offset: Sequence[float]) -> str:
        """values * scale + offset, along the last dimension."""
        for op, by, name, idle in (("mul", scale, "scale", 1), ("add", offset, "offset", 0)):
            if any(value != idle for value in by):
                (values,) = self.add(op, [values, self.constant(np.asarray(by, np.float32), name)])
        return values

    def only_used(self, values: str, count: str) -> str:
        """Rows [n, rows, values] with zeros behind the number of each image."""
        images, rows, _ = self.program.vars[values].shape
        places = self.constant(np.arange(rows, dtype=np.float32)[None, :, None], "places")
        (used,) = self.add("cast", [count], to="f32")
        (used,) = self.add("reshape", [used], shape=(images, 1, 1))
        (is_used,) = self.add("compare", [places, used], relation="less")
        return self.add("where", [is_used, values, self.constant(np.float32(0), "zero")])[0]

    def within_boxes(self, masks: str, result: str) -> str:
        """Masks [n, rows, h, w] of the whole input, with zeros outside of each row's box, called
        `result`.
        """
        r, (images, rows, *sizes) = self.request, self.program.vars[masks].shape
        name = self.program.outputs[0] if self.placement is None else f"{BOXES}.of_input"
        for axis in (1, 0):  # x, y
            pixels = np.arange(sizes[axis], dtype=np.float32)
            # Places of the mask's pixels in pixels of the boxes.
            step = self.image_size()[axis] / sizes[axis] * r.scale[1 - axis]
            places = self.constant(np.float32(pixels * step + r.offset[1 - axis]), "pixels")
            ends = []
            for end in (1 - axis, 3 - axis):
                (slice_,) = self.add("slice", [name], starts=(end,), ends=(end + 1,), axes=(2,))
                ends.append(slice_)
            (is_left,) = self.add("compare", [places, ends[0]], relation="less")
            (is_in,) = self.add("compare", [places, ends[1]], relation="less")
            zero, one = self.constant(np.float32(0), "zero"), self.constant(np.float32(1), "one")
            (share,) = self.add("where", [is_in, one, zero])
            (share,) = self.add("where", [is_left, zero, share])
            shape = (images, rows, 1, sizes[1]) if axis else (images, rows, sizes[0], 1)
            (share,) = self.add("reshape", [share], shape=shape)
            (masks,) = self.add("mul", [masks, share], [f"{result}.rows" if axis else result])
        return masks

    def add_output(self, name: str) -> None:
        """Adds an output after boxes and count, before the labels."""
        self.program.outputs = [*self.program.outputs[:2], name, *self.program.outputs[2:]]

    def labels(self) -> list[str]:
        """The output of the labels that the user gives, or the model's file, each ending with a
        zero; or none.
        """
        labels = self.request.labels or self.program.hints.labels
        text = b"".join(label.replace("\0", " ").encode() + b"\0" for label in labels)
        return [self.constant(np.frombuffer(text, np.uint8), LABELS)] if text else []

    @cached_property
    def placement(self) -> str | None:
        """The placement of a camera's frame in the network's input; None without a camera, and with
        several.
        """
        cameras = [op for op in self.program.ops if op.type == CAMERA]
        if len(cameras) != 1:
            return None
        (camera,), block, r = cameras, self.program.block, self.request
        if any(getattr(r, name) != getattr(HeadRequest, name) for name in MAPPING):
            raise r.invalid("a camera maps boxes to its frame: leave out scale, offset and frame")
        if len(camera.outputs) == 1:
            name = block.new_name("placement")
            block.vars[name] = Var(name, (PLACEMENT_VALUES,), "f32")
            camera.outputs = [*camera.outputs, name]
        return camera.outputs[1]

    def in_frame(self, x: str, count: str, name: str) -> str:
        """Boxes or points in pixels of the camera's frame, as it is turned, called `name`; `x`
        itself without a camera.
        """
        if self.placement is None:
            return x
        return self.add("boxes_to_frame", [x, count, self.placement], [name])[0]
