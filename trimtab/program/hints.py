"""Hints of a model's file at its use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelHints:
    """The use of a model that its file describes; "" and () if it says nothing.

    `labels`: the names of its classes. `camera`: the steps from a camera's frame to its input, as
    in docs/camera.md. `heads`: the names of the heads that its results may need, the likeliest
    first. `entry`: the entry that they follow from, for messages. A .ttm file has none.
    """

    labels: tuple[str, ...] = ()
    camera: str = ""
    heads: tuple[str, ...] = ()
    entry: str = ""
