"""Parts of pages from the committed figures of loading."""

from __future__ import annotations

from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.loading import measure
from trimtab.tables import Page


@reference("Loading beside onnxruntime")
def loading() -> Page:
    """Provenance, verdict, and the figures of each network."""
    rows = measure.LOADING.rows()
    in_one_process, alone = measure.tables(rows)
    missed = [
        f"{row.network} ({row.ratio:.2f})"
        for row in rows
        if row.ratio > measure.BARS.get(row.network, float("inf"))
    ]
    bars = listed(f"{bar:.0f} for {network}" for network, bar in measure.BARS.items())
    verdict = f"Ratios of at most {bars} are wanted: "
    verdict += f"{listed(missed)} exceed them." if missed else "all hold."
    return [
        made_by(measure.LOADING.name),
        verdict,
        "Milliseconds of CPU time in one process, and MB of resident memory of a process with one"
        " engine:",
        in_one_process,
        "Milliseconds of CPU time of a whole start, imports included:",
        alone,
    ]
