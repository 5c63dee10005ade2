"""Tuned plans beside those of the rules, for a list of networks that is made before measuring."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from lab.machine import isa
from trimtab import files, strict_json, zoo
from trimtab.errors import TrimtabError
from trimtab.pipeline.resolve import load_program
from trimtab.planner.plan_file import Plan
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Page, Table, number
from trimtab.tuning.in_process import TunedHere, tuned_here
from trimtab.tuning.timings import Timings

TOP = 25  # rules that a page lists

_SHOWN = ("network", "threads", "instruction_set", "ratio", "span", "changes")

TunedFigures = dict[str, Any]
"""The figures of a network with its changes, as `row_of` makes them, or with an `error`."""


@figure_row
class TuningRow(FigureRow):
    """A network, named without its folders: the `ratio` of the tuned plan to the rule's with its
    interval, and the number of changes; or the `error` if it could not be tuned.
    """

    network: str = text("network")
    threads: int = figure("threads")
    isa: str = figure()
    instruction_set: str = computed(
        "instruction set", is_text=True, of=lambda row: row.isa or "best"
    )
    ratio: float | None = figure("tuned / rule", ".3f", default=None)
    interval: Sequence[float] | None = figure(default=None)
    span: str = computed(
        "interval",
        is_text=True,
        of=lambda row: "{:.3f} to {:.3f}".format(*row.interval) if row.interval else "",
    )
    is_faster: bool | None = figure(default=None)
    is_complete: bool | None = figure(default=None)
    error: str | None = figure(default=None)
    changes: int = figure("changes", default=0)

    @staticmethod
    def of(figures: TunedFigures) -> TuningRow:
        """The row of the figures of a network."""
        changes = len(figures.get("changes", ()))
        names = {field.name for field in fields(TuningRow) if field.init} & figures.keys()
        values = {name: figures[name] for name in names}
        return TuningRow(**{**values, "network": Path(figures["network"]).stem, "changes": changes})

    def record(self) -> dict[str, Any]:
        """The row of the result file, without what was not measured."""
        return {name: value for name, value in super().record().items() if value is not None}


def experiment(threads: int, isa: str) -> Experiment[TuningRow]:
    """The experiment with these threads and this TRIMTAB_ISA, which may be empty."""
    name = f"tuning/{isa or 'best'}_{threads}"
    stand_ins = {"networks": "NETWORKS.list", "folder": "FOLDER", "timings": "TIMINGS.jsonl"}
    return Experiment("bench.tuning", name, TuningRow, is_timed=True, stand_ins=stand_ins)


def mean_ratio(rows: Sequence[TuningRow]) -> float:
    """The geometric mean of the ratios; 1 without any."""
    logs = [math.log(row.ratio) for row in rows if row.ratio is not None]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def write_list(path: Path, folders: Iterable[Path]) -> None:
    """Writes the names of the zoo's networks and the paths of all .onnx files in folders, one per
    line, in the order of their names.
    """
    models = sorted(str(file) for folder in folders for file in folder.rglob("*.onnx"))
    files.write_text(path, "\n".join([*sorted(zoo.names()), *models]) + "\n")


def read_list(path: Path) -> list[str]:
    """The networks of a list."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def tune_all(
    networks: Sequence[str],
    threads: int,
    minutes: float,
    timings: Path,
    output: Path,
    progress: Progress = SILENT,
) -> list[TunedFigures]:
    """Tunes every network, and writes the rows into `output` after each; those that are there
    already are not measured again. A network that cannot be tuned has a row with the `error`.
    """
    rows: list[TunedFigures] = json.loads(output.read_text()) if output.is_file() else []
    measured = {(row["network"], row["threads"], row["isa"]) for row in rows}
    store = Timings(timings)
    with progress.step("tune", "networks") as step:
        for i, network in enumerate(networks):
            step.update(i, len(networks), network)
            if (network, threads, isa()) in measured:
                continue
            common = {"network": network, "threads": threads, "isa": isa()}
            try:
                source = load_program(network)
                result = tuned_here(source, threads, minutes, Plan(), store)
                rows.append({**common, **row_of(result)})
            except TrimtabError as error:
                rows.append({**common, "error": str(error)})
            files.write_text(output, strict_json.dumps(rows, indent=1) + "\n")
    return rows


def row_of(result: TunedHere) -> TunedFigures:
    """The figures of one network: `ratio` of the tuned plan to the rule's with its interval, 1 if
    the rule's plan stays, and the confirmed changes.
    """
    proof = result.proof
    return {
        "ratio": proof.value if proof and result.is_faster else 1.0,
        "interval": [proof.interval.low, proof.interval.high] if proof else [1.0, 1.0],
        "is_faster": result.is_faster,
        "is_complete": result.search.is_complete,
        "alternatives": result.search.measured + result.search.reused,
        "changes": [
            {
                "layer": change.layer,
                "before": change.before,
                "after": change.after,
                "share": change.share,
                "ratio": change.effect.value,
            }
            for change in result.search.changes
        ],
    }


def page(figures: Sequence[TunedFigures]) -> Page:
    """The networks with their ratios, and the rules that lose, by what they save in all."""
    good = [one for one in figures if "error" not in one]
    rows = [TuningRow.of(one) for one in good]
    failed = [f"{one['network']}: {one['error']}" for one in figures if "error" in one]
    table = TuningRow.table(rows, *_SHOWN)
    summary = f"{len(good)} networks, geometric mean {mean_ratio(rows):.3f}."
    return [table, summary, rules(good), *failed]


def rules(rows: Sequence[TunedFigures]) -> Table:
    """The decisions of the rule that lost, by the sum of the shares of the time that they cost."""
    saved, count = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in rows:
        for change in row["changes"]:
            key = decisions(change["before"], change["after"])
            saved[key] += change["share"] * (1 - change["ratio"])
            count[key] += 1
    columns = [
        *(Column("rule"), Column("faster"), number("layers"), number("saved", ".2%")),
    ]
    lines = [(*key, count[key], share) for key, share in saved.most_common(TOP)]
    return Table(
        columns, lines, "Rules that lose: the share that they cost, summed over the networks"
    )


def decisions(before: str, after: str) -> tuple[str, str]:
    """Both decisions in words: operators and kernels if these differ, else the names of the block
    sizes with their direction.
    """
    one, other = (set(words.replace("; ", ", ").split(", ")) for words in (before, after))
    sizes = [part for part in sorted(one - other) if part.rpartition(" ")[2].isdigit()]
    code = [sorted(p for p in parts if " " not in p) for parts in (one - other, other - one)]
    if any(code):
        return " + ".join(code[0]) or "(the same)", " + ".join(code[1]) or "(the same)"
    names = dict(part.rsplit(" ", 1) for part in sorted(other - one) if " " in part)
    words = []
    for part in sizes:
        name, value = part.rsplit(" ", 1)
        new = names.get(name, value)
        words.append(f"{name} x {int(new) / int(value):.2g}" if int(value) else f"{name} {new}")
    return "block size", ", ".join(words) or "other"
