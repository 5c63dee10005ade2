"""The part of the page of performance that was measured on an ARM server."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.docs.sentences import made_by
from lab.silicon import report
from trimtab.tables import Page, Table


@block
def silicon_measured() -> Page:
    """The zoo on the runners of GitHub for ARM; a sentence until it is measured."""
    if not report.SILICON.is_measured():
        return [
            "Not measured yet: no result of `.github/workflows/arm.yml` is committed, "
            "so no figure of trimtab on this CPU is known."
        ]
    rows = report.SILICON.rows()
    core = str(committed.read(report.SILICON.name).machine["core"])
    parts: list[str | Table] = [made_by(report.SILICON.name), report.table(rows, core)]
    if mean := report.total_ratio(rows):
        parts.insert(1, f"The geometric mean of the ratios to the fastest engine is {mean:.2f}.")
    return parts
