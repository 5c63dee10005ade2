"""Parts of pages from the time model and its validation."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.time_model import boards, figures
from lab.time_model.boards import Errors
from trimtab import cores
from trimtab.planner.cost import STALLS
from trimtab.tables import Column, Page, Table, number


@reference("Modeled times beside boards")
def modeled_boards() -> Page:
    """One row per board and number of threads."""
    runs = boards.compare()
    columns = [
        *(Column("board"), Column("core"), number("threads"), number("networks")),
        *(number("GB/s", ".1f"), number("off by"), number("worst"), Column("of")),
        *(number("one GB/s: off by"), number("worst "), number("instructions alone: off by")),
        number("worst  "),
    ]
    rows = [
        (
            *(run.board, run.core, run.threads, len(run.errors), run.gb_per_s),
            *(*_shown(run.errors), boards.worst(run.errors)[0]),
            *(*_shown(run.shared), *_shown(run.instructions_alone)),
        )
        for run in runs
    ]
    return [
        made_by("time_model/ncnn_traffic"),
        made_by("time_model/ncnn_boards"),
        "Off by is the median over the networks:",
        Table(columns, rows),
    ]


@reference("Modeled times of networks")
def modeled_networks() -> Page:
    """The modeled times of the committed networks."""
    rows = figures.TIME_MODEL.rows()
    return [made_by(figures.TIME_MODEL.name), figures.TimeModelRow.table(rows)]


@reference("YOLO26n on a modeled Raspberry Pi 5")
def modeled_yolo26n() -> Page:
    """A detector like YOLO26n beside published times, and the operators that take its time."""
    rows = committed.read("time_model/yolo26n").rows
    engines = [row for row in rows if "engine" in row]
    operators = [row for row in rows if "operator" in row]
    times = [number(name, ".1f", absent="-") for name in ("measured ms", "modeled ms")]
    counts = [number(name, ".0f", absent="-") for name in ("million instructions", "MB of traffic")]
    parts = [
        Column("operators of trimtab"),
        number("number"),
        number("million instructions", ".1f"),
    ]
    return [
        made_by("time_model/yolo26n"),
        *_verdict(engines, operators),
        Table(
            [Column("engine"), *times, *counts],
            [
                (
                    *(row["engine"], row.get("measured_ms"), row.get("modeled_ms")),
                    *(
                        _millions(row, "instructions"),
                        _millions(row, "read_bytes", "written_bytes"),
                    ),
                )
                for row in engines
            ],
        ),
        Table(
            [*parts, number("modeled ms", ".1f")],
            [
                (row["operator"], row["count"], row["instructions"] / 1e6, row["modeled_ms"])
                for row in operators
            ],
        ),
    ]


def _verdict(engines: list[committed.Row], operators: list[committed.Row]) -> list[str]:
    """Sentences about Arm's measured time, what takes trimtab's, and what its threads lose."""
    bar = engines[0]["measured_ms"]
    four, one = (
        next(row for row in engines if row["engine"].startswith("trimtab") and row["threads"] == n)
        for n in (4, 1)
    )
    modeled, first = four["modeled_ms"], operators[:2]
    names = " and ".join(f"`{row['operator']}`" for row in first)
    even = STALLS * one["cycles"] / 4
    uneven = STALLS * four["cycles"] - even
    milliseconds = uneven / (figures.memory_of(cores.find("cortex-a76")).clock_ghz * 1e6)
    return [
        f"trimtab's modeled {modeled:.1f} ms are {modeled / bar - 1:+.0%} beside Arm's {bar} ms; "
        f"{sum(row['modeled_ms'] for row in first) / modeled:.0%} of them are {names}.",
        f"The busiest of four threads has {four['cycles'] / one['cycles'] * 4:.2f} times a quarter "
        f"of the cycles of one thread; evenly shared, the network would take "
        f"{modeled - milliseconds:.1f} ms.",
    ]


def _millions(row: committed.Row, *keys: str) -> float | None:
    return sum(row[key] for key in keys) / 1e6 if keys[0] in row else None


def _shown(errors: Errors) -> tuple[str, str]:
    return f"{boards.median(errors):.0%}", f"{boards.worst(errors)[1]:+.0%}"
