"""Parts of pages from the committed ratios of tuned plans."""

from __future__ import annotations

import math

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.tuning import measure
from trimtab.tables import Column, Page, Table, number

MEAN, WORST = 0.97, 0.90  # what the rules must reach, tuned relative to untuned
MEASURED = [("", 1), ("", 2), ("avx2", 1), ("avx2", 2)]  # TRIMTAB_ISA and threads


@reference("Tuned plans beside the rules")
def tuning() -> Page:
    """Provenance, verdict and ratios of each instruction set and number of threads."""
    page: list[str | Table] = []
    for isa, threads in MEASURED:
        name = measure.result_name(threads, isa)
        words = f"{isa.upper() or 'The best instruction set'}, threads: {threads}."
        if committed.path_of(name).exists():
            page += [f"**{words}**", *_of_results(name)]
        else:
            page.append(f"**{words}** Not measured yet.")
    return page


def _of_results(name: str) -> Page:
    rows = [row for row in committed.read(name).rows if "error" not in row]
    mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
    worst = min(row["ratio"] for row in rows)
    faster = sum(row["is_faster"] for row in rows)
    columns = [Column("network"), number("tuned / rule", ".3f")]
    columns += [Column("interval"), number("changes")]
    lines = [
        (
            *(row["network"], row["ratio"]),
            "{:.3f} to {:.3f}".format(*row["interval"]),
            row["changes"],
        )
        for row in sorted(rows, key=lambda row: row["ratio"])
    ]
    verdict = "hold" if mean >= MEAN and worst >= WORST else "do not hold"
    unfinished = sum(not row["is_complete"] for row in rows)
    return [
        made_by(name),
        f"{len(rows)} networks, {faster} of them faster with a tuned plan: geometric mean"
        f" {mean:.3f}, largest gain {worst:.3f}. The rules aim at {MEAN:.2f} and {WORST:.2f}, which"
        f" {verdict} as far as was searched: the time of {unfinished} searches was over before all"
        " alternatives were measured, and a gain that is not proved counts as none.",
        Table(columns, lines),
    ]
