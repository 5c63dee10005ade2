"""Parts of pages from the committed figures of loading."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.loading import measure
from trimtab.tables import Page


@reference("Loading beside onnxruntime")
def loading() -> Page:
    """Provenance, verdict, and the figures of each network."""
    figures = measure.from_rows(committed.read(measure.NAME).rows)
    missed = [
        f"{f.network} ({f.ratio:.2f})"
        for f in figures
        if f.ratio > measure.BARS.get(f.network, float("inf"))
    ]
    bars = listed(f"{bar:.0f} for {network}" for network, bar in measure.BARS.items())
    verdict = f"Ratios of at most {bars} are wanted: "
    verdict += f"{listed(missed)} exceed them." if missed else "all hold."
    return [
        made_by(measure.NAME),
        verdict,
        "Milliseconds of CPU time in one process, and MB of resident memory of a process with one"
        " engine:",
        measure.table(figures),
        "Milliseconds of CPU time of a whole start, imports included:",
        measure.alone_table(figures),
    ]
