"""Hints of a model's file at its use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelHints:
    """The use of a model that its file describes; "" and () if it says nothing.

    `labels`: the names of its classes. `camera`: the steps from a camera's frame to its input, as
    in docs/camera.md. `heads`: the names of the heads that its results may need, the likeliest
    first. `entry`: the entry that they follow from, for messages. `relative`: boxes and keypoints
    are relative to the image, where they would be in pixels. `point_values`: the values of a
    keypoint, 2 without score, 3 with it, 0: not known. `refusal`: why the steps that the file says
    are none of a camera. A .ttm file has none.
    """

    labels: tuple[str, ...] = ()
    camera: str = ""
    heads: tuple[str, ...] = ()
    entry: str = ""
    relative: bool = False
    point_values: int = 0
    refusal: str = ""
