"""Parts of pages from the time model and its validation."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.docs.sentences import made_by
from lab.time_model import boards
from lab.time_model.boards import Errors
from trimtab.tables import Column, Page, Table, number


@block
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
        "Off by: the median over the networks.",
        Table(columns, rows),
    ]


@block
def modeled_networks() -> Page:
    """The modeled times of the committed networks."""
    columns = [
        *(Column("network"), Column("core"), Column("precision"), number("threads")),
        number("million instructions", ".1f"),
        *(number("MB read", ".1f"), number("MB written", ".1f"), number("modeled ms", ".1f")),
    ]
    rows = [
        (
            *(row["model"], row["cpu"], row["precision"], row["threads"]),
            row["instructions"] / 1e6,
            *(row["read_bytes"] / 1e6, row["written_bytes"] / 1e6, row["modeled_ms"]),
        )
        for row in committed.read("time_model").rows
    ]
    return [made_by("time_model"), Table(columns, rows)]


def _shown(errors: Errors) -> tuple[str, str]:
    return f"{boards.median(errors):.0%}", f"{boards.worst(errors)[1]:+.0%}"
