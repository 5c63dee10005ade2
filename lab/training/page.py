"""Parts of pages from the committed figures of training."""

from __future__ import annotations

from collections.abc import Callable

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.training import measure
from lab.training.measure import TrainingFigures
from trimtab.tables import Page

# What is compared, the largest ratio, and the ratio.
_BARS: tuple[tuple[str, float, Callable[[TrainingFigures], float]], ...] = (
    ("a step to PyTorch's", measure.RATIO_BAR, lambda f: f.ratio),
    ("a step to its products", measure.PRODUCTS_BAR, lambda f: f.products_ratio),
    ("memory to its bound", measure.MEMORY_BAR, lambda f: f.memory_ratio),
)


@reference("Training steps beside PyTorch")
def training_speed() -> Page:
    """Provenance, verdicts, and the figures of each training."""
    figures = [TrainingFigures(**row) for row in committed.read(measure.NAME).rows]
    return [
        made_by(measure.NAME),
        *(_verdict(figures, *bar) for bar in _BARS),
        "Milliseconds of a step with one thread, and MB:",
        measure.table(figures),
    ]


def _verdict(
    figures: list[TrainingFigures], what: str, bar: float, ratio: Callable[[TrainingFigures], float]
) -> str:
    missed = [f"{f.training}, batch {f.batch} ({ratio(f):.2f})" for f in figures if ratio(f) > bar]
    verdict = f"{listed(missed)} exceed it." if missed else "all hold."
    return f"A ratio of {what} of at most {bar} is wanted: {verdict}"
