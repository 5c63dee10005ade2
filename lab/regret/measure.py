"""Figures of fits."""

from __future__ import annotations

from lab.experiment import Experiment, FigureRow, figure, figure_row, text
from trimtab.fitting import report
from trimtab.fitting.fit import Fitted


@figure_row
class RegretRow(FigureRow):
    """The regret of one way to plan, on the layers that were held out.

    `mean`, `worst`: time of the choice by that of the fastest way, the geometric mean and the
    largest; `largest`: the layer of the worst choice, what was chosen, and what is faster;
    `seconds`: the time of the whole fit.
    """

    core: str = text("core")
    plans_by: str = text("plans by")
    choices: int = figure("choices")
    mean: float = figure("mean", ".3f", digits=4)
    worst: float = figure("worst", ".2f", digits=3)
    largest: str = text("the worst choice")
    seconds: int = figure()


REGRET = Experiment("bench.regret", "regret", RegretRow, is_timed=True)


def rows(fitted: Fitted) -> list[RegretRow]:
    """The regret of each way to plan."""
    return [
        RegretRow(
            fitted.core.name,
            name,
            len(regret.choices),
            regret.mean,
            regret.worst,
            report.described(*regret.largest(1)) if regret.choices else "",
            round(fitted.seconds),
        )
        for name, regret in report.judged(fitted)
    ]
