"""Counted instructions and modelled loops: what is committed of them."""

from __future__ import annotations

from trimtab.instruments import committed
from trimtab.instruments.peers.report import geometric_mean
from trimtab.pages import block
from trimtab.pages._words import made_by
from trimtab.tables import Column, Page, Table, number

_MILLION = 1e6


@block
def instructions() -> Page:
    """trimtab beside what was counted of ncnn."""
    ours, theirs = committed.read("instructions"), committed.read("instructions-ncnn")
    known = {(row["model"], row["cpu"]): row["instructions_per_inference"] for row in theirs.rows}
    rows: list[tuple[str | float | None, ...]] = []
    ratios = []
    for row in ours.rows:
        count = row["instructions_per_inference"]
        if other := known.get((row["model"], row["cpu"])):
            ratios.append(count / other)
        rows.append(
            (
                *(row["model"], row["cpu"], count / _MILLION, other and other / _MILLION),
                *(count / other if other else None, row["load_instructions"] / _MILLION),
            )
        )
    rows.append(("geometric mean", "", "", "", geometric_mean(ratios), ""))
    columns = [Column("network"), Column("core"), number("trimtab", ".1f")]
    columns += [number("ncnn", ".1f", absent="-"), number("ratio", ".2f", absent="-")]
    return [
        made_by("instructions"),
        made_by("instructions-ncnn"),
        "Millions of executed instructions of an inference, one thread, and of loading:",
        Table([*columns, number("loading", ".2f")], rows),
    ]


@block
def verification() -> Page:
    """What it takes to compare the weights with their checksum."""
    rows = [
        (row["model"], row["cpu"], check / _MILLION, check / row["instructions_per_inference"])
        for row in committed.read("instructions").rows
        if (check := row.get("verify_instructions"))
    ]
    columns = [Column("network"), Column("core"), number("check", ".2f")]
    return [
        made_by("instructions"),
        "Millions of executed instructions of the check, and that as a part of one inference:",
        Table([*columns, number("of an inference", ".1%")], rows),
    ]


@block
def inner_loops() -> Page:
    """The share of the FMA pipes' bound, by core and kernel."""
    rows = committed.read("mca").rows
    lengths = {row["kernel"]: row["instructions"] / row["fma"] for row in rows}
    cores: dict[str, dict[str, str]] = {}
    for row in rows:
        share = f"{row['share']:.0%}" + " *" * row["planned"]
        cores.setdefault(row["core"], {})[row["kernel"]] = share
    return [
        made_by("mca"),
        "Share of the time that a loop keeps the core's FMA pipes busy; a star marks what plans "
        "for the core choose:",
        Table(
            [Column("core"), *map(number, lengths)],
            [
                *((core, *map(found.get, lengths)) for core, found in cores.items()),
                ("instructions per multiply-add", *(f"{n:.3f}" for n in lengths.values())),
            ],
        ),
    ]
