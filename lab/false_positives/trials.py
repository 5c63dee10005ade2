"""Trials of A/B comparisons with known answers, and their tallies.

A trial compares A with itself, where a significant difference is a false positive, or with a
network that has a known share of additional layers, which has to be detected. Half of the trials
run beside a noisy neighbor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lab.committed import Results
from trimtab.tables import Column, Page, Table, number

NAME = "false_positives"
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


def rows(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """One row per kind with trials."""
    tallies = []
    for index, kind in enumerate(KINDS):
        of_kind = [trial for trial in trials if trial.kind == index]
        if not of_kind:
            continue
        tallies.append(
            {
                "trial": kind.title,
                **asdict(kind),
                "trials": len(of_kind),
                "significant": sum(trial.is_real for trial in of_kind),
                "ratio": round(float(np.median([trial.ratio for trial in of_kind])), 5),
                "half_width": round(float(np.median([(t.high - t.low) / 2 for t in of_kind])), 5),
                "load": round(float(np.median([trial.load for trial in of_kind])), 2),
            }
        )
    return tallies


def tally(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The totals of all rows, and of those on a quiet and on a noisy machine.

    `false_positives` in `trials` of A with A; `detected`: the share of `planted_trials` with a
    significant difference, None without such trials.
    """
    quiet = [row for row in rows if not row["is_noisy"]]
    noisy = [row for row in rows if row["is_noisy"]]
    return {**_tally(rows), "quiet": _tally(quiet), "noisy": _tally(noisy)}


def _tally(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    same = [row for row in rows if not row["planted"]]
    planted = [row for row in rows if row["planted"]]
    count = sum(row["trials"] for row in planted)
    return {
        "false_positives": sum(row["significant"] for row in same),
        "trials": sum(row["trials"] for row in same),
        "detected": sum(row["significant"] for row in planted) / count if count else None,
        "planted_trials": count,
    }


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """One row per kind of trial."""
    heads = ("trials", "launches per arm", "significant", "ratio", "interval, half", "load average")
    cells = [
        (
            row["trial"],
            "beside a noisy neighbor" if row["is_noisy"] else "alone",
            row["trials"],
            row["launches"],
            f"{row['significant']} ({row['significant'] / row['trials']:.0%})",
            f"{row['ratio']:.4f}",
            f"{row['half_width']:.2%}",
            f"{row['load']:.1f}",
        )
        for row in rows
    ]
    return Table([Column("trial"), Column("machine"), *map(number, heads)], cells)


def page(rows: Sequence[Mapping[str, Any]]) -> Page:
    """The totals and the table."""
    total = tally(rows)
    text = f"False positives: {total['false_positives']} of {total['trials']} trials of A with A."
    if total["detected"] is not None:
        text += f" Planted differences detected: {total['detected']:.0%} of "
        text += f"{total['planted_trials']}."
    return [text, table(rows)]


def to_results(
    trials: Sequence[Trial], floor: float, command: str, machine: Mapping[str, Any]
) -> Results:
    """The content of the result file."""
    import trimtab

    note = f"The machine's noise floor, from a calibration before the trials, was {floor:.2%}."
    return Results(
        command=command,
        machine=machine,
        versions={"trimtab": trimtab.__version__},
        notes=[note],
        rows=rows(trials),
    )
