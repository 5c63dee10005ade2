"""Trials of A/B comparisons with known answers, and their tallies.

A trial compares A with itself, where a significant difference is a false positive, or with a
network that has a known share of additional layers, which has to be detected. Half of the trials
run beside a noisy neighbor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from trimtab.tables import Page

LAYERS = 100


@dataclass(frozen=True)
class TrialKind:
    """A kind of trial. `planted`: additional layers of B, in percent; `is_noisy`: beside a noisy
    neighbor; `launches`: of each arm.
    """

    planted: int
    is_noisy: bool
    launches: int

    @property
    def title(self) -> str:
        """The kind in words."""
        return f"B {self.planted} % slower" if self.planted else "A against A"


KINDS = (
    TrialKind(0, is_noisy=False, launches=10),
    TrialKind(0, is_noisy=True, launches=10),
    TrialKind(3, is_noisy=False, launches=30),
    TrialKind(10, is_noisy=True, launches=30),
)


@dataclass(frozen=True)
class Trial:
    """The outcome of a trial. `load`: the load average of the machine at its start."""

    kind: int
    ratio: float
    low: float
    high: float
    is_real: bool
    load: float


def schedule(trials: int) -> list[int]:
    """The kind of each trial, interleaved: half as many of each kind as trials of A with A."""
    return [kind for _ in range((trials + 1) // 2) for kind in range(len(KINDS))]


@figure_row
class TrialsRow(FigureRow):
    """The trials of a kind. `ratio`, `half_width` of its interval, `load`: medians."""

    trial: str = text("trial")
    planted: int = figure()
    is_noisy: bool = figure()
    machine: str = computed(
        "machine",
        is_text=True,
        of=lambda row: "beside a noisy neighbor" if row.is_noisy else "alone",
    )
    launches: int = figure("launches per arm")
    trials: int = figure("trials")
    significant: int = figure()
    share: str = computed(
        "significant", of=lambda row: f"{row.significant} ({row.significant / row.trials:.0%})"
    )
    ratio: float = figure("ratio", ".4f", digits=5)
    half_width: float = figure("interval, half", ".2%", digits=5)
    load: float = figure("load average", ".1f", digits=2)

    @staticmethod
    def of(kind: TrialKind, trials: Sequence[Trial]) -> TrialsRow:
        """The row of a kind with trials."""
        return TrialsRow(
            kind.title,
            kind.planted,
            kind.is_noisy,
            kind.launches,
            len(trials),
            sum(trial.is_real for trial in trials),
            median(trial.ratio for trial in trials),
            median((trial.high - trial.low) / 2 for trial in trials),
            median(trial.load for trial in trials),
        )


TRIALS = Experiment("bench.false-positives", "false_positives", TrialsRow, is_timed=True)


def rows(trials: Sequence[Trial]) -> list[TrialsRow]:
    """One row per kind with trials."""
    by_kind = [[trial for trial in trials if trial.kind == index] for index in range(len(KINDS))]
    return [TrialsRow.of(kind, own) for kind, own in zip(KINDS, by_kind, strict=True) if own]


def tally(rows: Sequence[TrialsRow]) -> dict[str, Any]:
    """The totals of all rows, and of those on a quiet and on a noisy machine.

    `false_positives` in `trials` of A with A; `detected`: the share of `planted_trials` with a
    significant difference, None without such trials.
    """
    quiet = [row for row in rows if not row.is_noisy]
    noisy = [row for row in rows if row.is_noisy]
    return {**_tally(rows), "quiet": _tally(quiet), "noisy": _tally(noisy)}


def _tally(rows: Sequence[TrialsRow]) -> dict[str, Any]:
    same = [row for row in rows if not row.planted]
    planted = [row for row in rows if row.planted]
    count = sum(row.trials for row in planted)
    return {
        "false_positives": sum(row.significant for row in same),
        "trials": sum(row.trials for row in same),
        "detected": sum(row.significant for row in planted) / count if count else None,
        "planted_trials": count,
    }


def page(rows: Sequence[TrialsRow]) -> Page:
    """The totals and the table."""
    total = tally(rows)
    words = f"False positives: {total['false_positives']} of {total['trials']} trials of A with A."
    if total["detected"] is not None:
        words += f" Planted differences detected: {total['detected']:.0%} of "
        words += f"{total['planted_trials']}."
    names = ("trial", "machine", "trials", "launches", "share", "ratio", "half_width", "load")
    return [words, TrialsRow.table(rows, *names)]
