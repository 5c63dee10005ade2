"""Parts of pages from the committed figures of cameras."""

from __future__ import annotations

from lab.camera import boxes, measure, ncnn
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from trimtab.tables import Page


@reference("Camera frames beside OpenCV")
def camera() -> Page:
    """Provenance, verdict, and the figures of each case."""
    rows = measure.CAMERA.rows()
    first = rows[0]
    verdict = "holds" if first.ratio <= measure.BAR else "is missed"
    return [
        made_by(measure.CAMERA.name),
        f"The bar for {first.case}, {measure.BAR} of OpenCV's time, {verdict} with"
        f" {first.ratio:.2f}.",
        "Milliseconds with one thread:",
        measure.CameraRow.table(rows),
    ]


@reference("Camera frames beside ncnn")
def camera_ncnn() -> Page:
    """Provenance, verdict, and the counts."""
    (row,) = ncnn.NCNN.rows()
    verdict = "holds" if row.ratio <= ncnn.BAR else "is missed"
    return [
        made_by(ncnn.NCNN.name),
        f"The bar for {row.case}, {ncnn.BAR} of ncnn's instructions, {verdict} with"
        f" {row.ratio:.3f}.",
        "Million instructions of a frame:",
        ncnn.NcnnRow.table([row]),
    ]


@reference("Detectors from frame to boxes")
def camera_boxes() -> Page:
    """Provenance, verdict, and the figures of each detector."""
    rows = boxes.BOXES.rows()
    above = [row.model for row in rows if max(row.time_ratio, row.count_ratio) > boxes.BAR]
    verdict = f"is missed by {', '.join(f'`{name}`' for name in above)}" if above else "holds"
    return [
        made_by(boxes.BOXES.name),
        f"The bar, {boxes.BAR} of the network alone, {verdict}.",
        "Milliseconds with one thread here, and million instructions on a Cortex-A53:",
        boxes.CameraBoxesRow.table(rows),
    ]
