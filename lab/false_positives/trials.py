"""The benchmark of the benchmark: how often comparisons tell the truth, tallied.

A trial is one comparison whose right answer is known: A against A, which nothing may be called
real in, or A against a network with a known share of further layers, which is to be found. Half of
the trials stand beside a noisy neighbor.
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
class Kind:
    """A kind of trial: how many `planted` layers more B has (of a hundred), whether beside a
    neighbor, how many launches of a side.
    """

    planted: int
    is_noisy: bool
    launches: int

    @property
    def what(self) -> str:
        """In words."""
        return f"B {self.planted} % slower" if self.planted else "A against A"


KINDS = (
    Kind(0, is_noisy=False, launches=10),
    Kind(0, is_noisy=True, launches=10),
    Kind(3, is_noisy=False, launches=30),
    Kind(10, is_noisy=True, launches=30),
)


@dataclass(frozen=True)
class Trial:
    """One trial's outcome; `load`: the machine's load average when it began."""

    kind: int
    ratio: float
    low: float
    high: float
    is_real: bool
    load: float


def schedule(trials: int) -> list[int]:
    """The kind of each trial, in turns: half as many of each as there are trials of A against A."""
    return [kind for _ in range((trials + 1) // 2) for kind in range(len(KINDS))]


def rows(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """A row per kind that has trials."""
    found = []
    for index, kind in enumerate(KINDS):
        of_kind = [trial for trial in trials if trial.kind == index]
        if not of_kind:
            continue
        found.append(
            {
                "what": kind.what,
                **asdict(kind),
                "trials": len(of_kind),
                "called_real": sum(trial.is_real for trial in of_kind),
                "ratio": round(float(np.median([trial.ratio for trial in of_kind])), 5),
                "half_width": round(float(np.median([(t.high - t.low) / 2 for t in of_kind])), 5),
                "load": round(float(np.median([trial.load for trial in of_kind])), 2),
            }
        )
    return found


def tally(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`false_alarms` in so many `trials` of A against A, and the share of planted differences that
    was `found`, over all and by the machine's state; None without such trials.
    """
    quiet = [row for row in found if not row["is_noisy"]]
    noisy = [row for row in found if row["is_noisy"]]
    return {**_tally(found), "quiet": _tally(quiet), "noisy": _tally(noisy)}


def _tally(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    same = [row for row in found if not row["planted"]]
    planted = [row for row in found if row["planted"]]
    count = sum(row["trials"] for row in planted)
    return {
        "false_alarms": sum(row["called_real"] for row in same),
        "trials": sum(row["trials"] for row in same),
        "found": sum(row["called_real"] for row in planted) / count if count else None,
        "planted_trials": count,
    }


def table(found: Sequence[Mapping[str, Any]]) -> Table:
    """A line per kind."""
    heads = ("trials", "launches a side", "called real", "ratio", "interval, half", "load average")
    cells = [
        (
            row["what"],
            "beside a noisy neighbor" if row["is_noisy"] else "alone",
            row["trials"],
            row["launches"],
            f"{row['called_real']} ({row['called_real'] / row['trials']:.0%})",
            f"{row['ratio']:.4f}",
            f"{row['half_width']:.2%}",
            f"{row['load']:.1f}",
        )
        for row in found
    ]
    return Table([Column("trial"), Column("machine"), *map(number, heads)], cells)


def page(found: Sequence[Mapping[str, Any]]) -> Page:
    """The table, and what it comes to."""
    total = tally(found)
    said = f"False alarms: {total['false_alarms']} of {total['trials']} comparisons of A with A."
    if total["found"] is not None:
        said += f" Planted differences found: {total['found']:.0%} of {total['planted_trials']}."
    return [said, table(found)]


def to_results(
    trials: Sequence[Trial], floor: float, command: str, machine: Mapping[str, Any]
) -> Results:
    """What is committed to."""
    import trimtab

    note = f"The machine's noise floor, from a calibration before the trials, was {floor:.2%}."
    return Results(
        command=command,
        machine=machine,
        versions={"trimtab": trimtab.__version__},
        notes=[note],
        rows=rows(trials),
    )
