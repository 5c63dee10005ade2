"""The head that a user asks for, and its options."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from trimtab.errors import UsageError


@dataclass(frozen=True)
class HeadRequest:
    """A head by its name, and its options.

    `score`: the score threshold; `iou`: the overlap above which the box with the lower score is
    dropped, 1: none is. `classes`: the number of classes; 0: as many as the tensors have.
    `max_boxes`: rows of the result; `candidates`: boxes that suppression considers, 0: all of them.
    `agnostic`: boxes of different classes suppress each other. `multi_label`: a box may have
    several classes. `relative`: the boxes that the network has decoded are relative to the image.
    `anchors`: width and height of each anchor in pixels of the input, from the finest level on;
    empty: those of the family. `variances`: those of an SSD's priors. `top`: classes of a
    classifier. `blank`: the blank label of CTC. `labels`: the names of classes, which the model
    file then contains; as text, the path of a file with one on each line.

    `scale`, `offset` and `frame` map pixels of the network's input to the frame: x_frame = x *
    scale + offset; boxes are clipped to `frame`, its width and height, unless that is 0.
    """

    name: str
    score: float = 0.25
    iou: float = 0.45
    classes: int = 0
    max_boxes: int = 300
    candidates: int = 0
    agnostic: bool = False
    multi_label: bool = False
    relative: bool = False
    anchors: tuple[float, ...] = ()
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2)
    top: int = 5
    blank: int = 0
    labels: tuple[str, ...] = ()
    scale: tuple[float, ...] = (1.0, 1.0)
    offset: tuple[float, ...] = (0.0, 0.0)
    frame: tuple[float, ...] = (0.0, 0.0)

    def __post_init__(self) -> None:
        for name, length in (("variances", 4), ("scale", 2), ("offset", 2), ("frame", 2)):
            if len(getattr(self, name)) != length:
                raise self.invalid(f"{name} must be {length} numbers")
        if len(self.anchors) % 2:
            raise self.invalid("anchors must be pairs of width and height")
        for name, least in (("max_boxes", 1), ("candidates", 0), ("top", 1)):
            if getattr(self, name) < least:
                raise self.invalid(f"{name} must be at least {least}")

    @staticmethod
    def of(name: str, options: Mapping[str, Any]) -> HeadRequest:
        """The request with these options; UsageError for an unknown one, or a wrong value."""
        types = {field.name: field.default for field in fields(HeadRequest) if field.name != "name"}
        values = {}
        for key, value in options.items():
            if key not in types:
                raise UsageError(f"heads have no option {key!r}", hint=f"one of {', '.join(types)}")
            values[key] = _converted(key, value, types[key])
        return HeadRequest(name, **values)

    @staticmethod
    def parse(text: str) -> HeadRequest:
        """ "yolov8:score=0.3,agnostic" -> the request; lists are "scale=2/2". UsageError for
        anything else.
        """
        name, _, rest = text.partition(":")
        options: dict[str, Any] = {}
        for part in filter(None, rest.split(",")):
            key, equals, value = part.partition("=")
            options[key.strip()] = value.strip() if equals else True
        return HeadRequest.of(name.strip(), options)

    def invalid(self, reason: str) -> UsageError:
        """The exception for options or tensors that do not fit the head."""
        return UsageError(
            f"head {self.name}: {reason}", hint="docs/boxes.md lists heads and their options"
        )


def _converted(key: str, value: Any, like: Any) -> Any:
    """A value with the type of its default; UsageError if it has another one."""
    if key == "labels":
        return _labels(value)
    try:
        if isinstance(like, tuple):
            values = value.split("/") if isinstance(value, str) else value
            return tuple(_finite(float(v)) for v in values)
        if isinstance(like, bool):
            return {"true": True, "false": False}[str(value).lower()]
        if isinstance(like, float):
            return _finite(float(value))
        return int(value)
    except (TypeError, ValueError, KeyError):
        kind = "numbers" if isinstance(like, tuple) else type(like).__name__
        raise UsageError(
            f"option {key} of a head is {value!r}, not {kind}",
            hint='such as --head "yolov8:score=0.3,agnostic,scale=2/2"',
        ) from None


def _labels(value: Any) -> tuple[str, ...]:
    """Labels of a sequence, or of the lines of a file; UsageError if they cannot be read."""
    if isinstance(value, str):
        try:
            value = Path(value).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            raise UsageError(
                f"cannot read the labels in {value!r}: {error}",
                hint="labels=FILE names a text file with one label on each line",
            ) from None
    labels = tuple(str(label).strip() for label in value) if isinstance(value, Iterable) else ()
    if not labels or any("\0" in label for label in labels):
        raise UsageError(
            "labels must be texts without zeros, at least one", hint="such as labels=['cat', 'dog']"
        )
    return labels


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError
    return value
