"""Parts of pages from the committed figures of cameras."""

from __future__ import annotations

from lab import committed
from lab.camera import boxes, measure, ncnn
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from trimtab.tables import Page


@reference("Camera frames beside OpenCV")
def camera() -> Page:
    """Provenance, verdict, and the figures of each case."""
    figures = measure.from_rows(committed.read(measure.NAME).rows)
    first = figures[0]
    verdict = "holds" if first.ratio <= measure.BAR else "is missed"
    return [
        made_by(measure.NAME),
        f"The bar for {first.case}, {measure.BAR} of OpenCV's time, {verdict} with"
        f" {first.ratio:.2f}.",
        "Milliseconds with one thread:",
        measure.table(figures),
    ]


@reference("Camera frames beside ncnn")
def camera_ncnn() -> Page:
    """Provenance, verdict, and the counts."""
    results = committed.read(ncnn.NAME)
    row = results.rows[0]
    ratio = row["own_instructions"] / row["ncnn_instructions"]
    verdict = "holds" if ratio <= ncnn.BAR else "is missed"
    return [
        made_by(ncnn.NAME),
        f"The bar for {ncnn.CASE}, {ncnn.BAR} of ncnn's instructions, {verdict} with {ratio:.3f}.",
        "Million instructions of a frame:",
        ncnn.table(results),
    ]


@reference("Detectors from frame to boxes")
def camera_boxes() -> Page:
    """Provenance, verdict, and the figures of each detector."""
    rows = committed.read(boxes.NAME).rows
    above = [row["model"] for row in rows if max(boxes.ratios(row)) > boxes.BAR]
    verdict = f"is missed by {', '.join(f'`{name}`' for name in above)}" if above else "holds"
    return [
        made_by(boxes.NAME),
        f"The bar, {boxes.BAR} of the network alone, {verdict}.",
        "Milliseconds with one thread here, and million instructions on a Cortex-A53:",
        boxes.table(rows),
    ]
