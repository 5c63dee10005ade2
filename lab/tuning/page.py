"""Parts of pages from the committed ratios of tuned plans."""

from __future__ import annotations

from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.experiment import Experiment
from lab.tuning import measure
from lab.tuning.measure import TuningRow
from trimtab.tables import Page, Table

MEAN, WORST = 0.97, 0.90  # what the rules must reach, tuned relative to untuned
MEASURED = [("", 1), ("", 2), ("avx2", 1), ("avx2", 2)]  # TRIMTAB_ISA and threads


@reference("Tuned plans beside the rules")
def tuning() -> Page:
    """Provenance, verdict and ratios of each instruction set and number of threads."""
    page: list[str | Table] = []
    for isa, threads in MEASURED:
        experiment = measure.experiment(threads, isa)
        words = f"{isa.upper() or 'The best instruction set'}, threads: {threads}."
        if experiment.is_measured():
            page += [f"**{words}**", *_of_results(experiment)]
        else:
            page.append(f"**{words}** Not measured yet.")
    return page


def _of_results(experiment: Experiment[TuningRow]) -> Page:
    rows = [row for row in experiment.rows() if row.ratio is not None]
    mean = measure.mean_ratio(rows)
    rows.sort(key=lambda row: row.ratio or 0)
    worst = rows[0].ratio or 0
    faster = sum(bool(row.is_faster) for row in rows)
    verdict = "hold" if mean >= MEAN and worst >= WORST else "do not hold"
    unfinished = sum(not row.is_complete for row in rows)
    return [
        made_by(experiment.name),
        f"{len(rows)} networks, {faster} of them faster with a tuned plan: geometric mean"
        f" {mean:.3f}, largest gain {worst:.3f}. The rules aim at {MEAN:.2f} and {WORST:.2f}, which"
        f" {verdict} as far as was searched: the time of {unfinished} searches was over before all"
        " alternatives were measured, and a gain that is not proved counts as none.",
        TuningRow.table(rows, "network", "ratio", "span", "changes"),
    ]
