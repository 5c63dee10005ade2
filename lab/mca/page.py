"""The part of a page with the committed models of inner loops."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.docs.sentences import made_by
from lab.mca.loops import BASELINE
from trimtab.tables import Column, Page, Table, number


@block
def inner_loops() -> Page:
    """The share of the FMA pipes' bound, by core and kernel."""
    rows = committed.read(BASELINE.name).rows
    lengths = {row["kernel"]: row["instructions"] / row["fma"] for row in rows}
    cores: dict[str, dict[str, str]] = {}
    for row in rows:
        share = f"{row['share']:.0%}" + " *" * row["planned"]
        cores.setdefault(row["core"], {})[row["kernel"]] = share
    return [
        made_by(BASELINE.name),
        "Share of time that a loop keeps the core's FMA pipes busy; a star marks the kernels that "
        "plans for the core choose:",
        Table(
            [Column("core"), *map(number, lengths)],
            [
                *((core, *map(shares.get, lengths)) for core, shares in cores.items()),
                ("instructions per multiply-add", *(f"{n:.3f}" for n in lengths.values())),
            ],
        ),
    ]
