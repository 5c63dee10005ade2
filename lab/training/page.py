"""Parts of pages from the committed figures of training."""

from __future__ import annotations

from collections.abc import Callable

from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.training import measure
from lab.training.measure import TRAINING, TrainingRow
from trimtab.tables import Page

BARS: tuple[tuple[str, float, Callable[[TrainingRow], float]], ...] = (
    ("a step to PyTorch's", measure.RATIO_BAR, lambda row: row.ratio),
    ("a step to its products", measure.PRODUCTS_BAR, lambda row: row.products_ratio),
    ("memory to its bound", measure.MEMORY_BAR, lambda row: row.memory_ratio),
)
"""What is compared, the largest ratio, and the ratio of a row."""


@reference("Training steps beside PyTorch")
def training_speed() -> Page:
    """Provenance, verdicts, and the figures of each training."""
    rows = TRAINING.rows()
    return [
        made_by(TRAINING.name),
        *(verdict(rows, *bar) for bar in BARS),
        "Milliseconds of a step with one thread, and MB:",
        TrainingRow.table(rows),
    ]


def verdict(
    rows: list[TrainingRow], what: str, bar: float, ratio: Callable[[TrainingRow], float]
) -> str:
    """A sentence about a bar, with the trainings that miss it."""
    missed = [
        f"{row.training}, batch {row.batch} ({ratio(row):.2f})" for row in rows if ratio(row) > bar
    ]
    end = f"{listed(missed)} exceed it." if missed else "all hold."
    return f"A ratio of {what} of at most {bar} is wanted: {end}"
