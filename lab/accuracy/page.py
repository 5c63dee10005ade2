"""Parts of pages from the committed accuracy of int8 networks."""

from __future__ import annotations

from lab.accuracy.figures import BOXES, COSINES, MIXED, BoxScoreRow, cosine_page
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from trimtab.tables import Page


@reference("Cosines of int8 networks by method")
def accuracy_cosines() -> Page:
    """Cosines of each method, beside onnxruntime's quantizer."""
    return [made_by(COSINES.name), *cosine_page(COSINES.rows())]


@reference("Boxes of int8 detectors")
def accuracy_boxes() -> Page:
    """Boxes of int8 detectors."""
    return [made_by(BOXES.name), BoxScoreRow.table(BOXES.rows())]


@reference("Boxes of detectors in mixed precision")
def accuracy_boxes_mixed() -> Page:
    """Boxes of detectors in mixed precision, with the cost."""
    return [made_by(MIXED.name), BoxScoreRow.table(MIXED.rows())]
