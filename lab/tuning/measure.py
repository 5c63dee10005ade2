"""Tuned plans beside those of the rules, for a list of networks that is made before measuring."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.committed import Results
from trimtab import __version__, files, strict_json, zoo
from trimtab.errors import TrimtabError
from trimtab.pipeline.resolve import load_program
from trimtab.planner.plan_file import Plan
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Page, Table, number
from trimtab.tuning.in_process import TunedHere, tuned_here
from trimtab.tuning.timings import Timings

TOP = 25  # rules that a page lists

Row = dict[str, Any]


def result_name(threads: int, isa: str) -> str:
    """The name of the committed results with these threads and this TRIMTAB_ISA, which may be
    empty.
    """
    return f"tuning/{isa or 'best'}_{threads}"


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
) -> list[Row]:
    """Tunes every network, and writes the rows into `output` after each; those that are there
    already are not measured again. A network that cannot be tuned has a row with the `error`.
    """
    isa = os.environ.get("TRIMTAB_ISA", "")
    rows: list[Row] = json.loads(output.read_text()) if output.is_file() else []
    measured = {(row["network"], row["threads"], row["isa"]) for row in rows}
    store = Timings(timings)
    with progress.step("tune", "networks") as step:
        for i, network in enumerate(networks):
            step.update(i, len(networks), network)
            if (network, threads, isa) in measured:
                continue
            common = {"network": network, "threads": threads, "isa": isa}
            try:
                source = load_program(network)
                result = tuned_here(source, threads, minutes, Plan(), store)
                rows.append({**common, **row_of(result)})
            except TrimtabError as error:
                rows.append({**common, "error": str(error)})
            files.write_text(output, strict_json.dumps(rows, indent=1) + "\n")
    return rows


def row_of(result: TunedHere) -> Row:
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


def to_results(rows: Sequence[Row], command: str, machine: Mapping[str, Any]) -> Results:
    """The ratios as a committed result; networks are named without their folders, and those that
    could not be tuned have an `error`.
    """
    keys = ("threads", "isa", "ratio", "interval", "is_faster", "is_complete", "error")
    brief = [
        {
            "network": Path(row["network"]).stem,
            **{key: row[key] for key in keys if key in row},
            "changes": len(row.get("changes", ())),
        }
        for row in rows
    ]
    return Results(command=command, machine=machine, versions={"trimtab": __version__}, rows=brief)


def page(rows: Sequence[Row]) -> Page:
    """The networks with their ratios, and the rules that lose, by what they save in all."""
    good = [row for row in rows if "error" not in row]
    columns = [
        *(Column("network"), number("threads"), Column("instruction set", key="isa")),
        *(number("tuned / rule", ".3f", key="ratio"), Column("interval"), number("changes")),
    ]
    table = Table(
        columns,
        [
            (
                *(Path(row["network"]).stem, row["threads"], row["isa"] or "best", row["ratio"]),
                f"{row['interval'][0]:.3f} .. {row['interval'][1]:.3f}",
                len(row["changes"]),
            )
            for row in good
        ],
    )
    mean = math.exp(sum(math.log(row["ratio"]) for row in good) / len(good)) if good else 1.0
    failed = [f"{row['network']}: {row['error']}" for row in rows if "error" in row]
    summary = f"{len(good)} networks, geometric mean {mean:.3f}."
    return [table, summary, rules(good), *failed]


def rules(rows: Sequence[Row]) -> Table:
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
    one, other = (set(text.replace("; ", ", ").split(", ")) for text in (before, after))
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
