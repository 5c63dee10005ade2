"""How near int8 networks are to float32: what is committed of it."""

from __future__ import annotations

from lab import committed
from lab.accuracy import figures as accuracy
from lab.docs.generator import block
from lab.docs.words import made_by
from trimtab.tables import Page


@block
def accuracy_cosines() -> Page:
    """Beside onnxruntime's quantizer, by each method."""
    return _page(accuracy.COSINES)


@block
def accuracy_boxes() -> Page:
    """Boxes that are found again."""
    return _page(accuracy.BOXES)


@block
def accuracy_boxes_mixed() -> Page:
    """The same in mixed precision, and what it costs."""
    return _page(accuracy.MIXED)


def _page(name: str) -> Page:
    return [made_by(name), *accuracy.PAGES[name](committed.read(name).rows)]
