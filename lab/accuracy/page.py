"""Parts of pages from the committed accuracy of int8 networks."""

from __future__ import annotations

from lab import committed
from lab.accuracy import figures
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from trimtab.tables import Page


@reference("Cosines of int8 networks by method")
def accuracy_cosines() -> Page:
    """Cosines of each method, beside onnxruntime's quantizer."""
    return _page(figures.COSINES)


@reference("Boxes of int8 detectors")
def accuracy_boxes() -> Page:
    """Boxes of int8 detectors."""
    return _page(figures.BOXES)


@reference("Boxes of detectors in mixed precision")
def accuracy_boxes_mixed() -> Page:
    """Boxes of detectors in mixed precision, with the cost."""
    return _page(figures.MIXED)


def _page(name: str) -> Page:
    return [made_by(name), *figures.PAGES[name](committed.read(name).rows)]
