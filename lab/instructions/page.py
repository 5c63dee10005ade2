"""Counted instructions and modeled loops: what is committed of them."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.docs.words import made_by
from lab.peers.report import geometric_mean
from trimtab.tables import Column, Page, Table, number

_MILLION = 1e6


@block
def instructions() -> Page:
    """trimtab beside what was counted of others, for each core and precision."""
    ways: dict[tuple[str, str], list[committed.Row]] = {}
    for row in committed.read("instructions").rows:
        ways.setdefault((row["cpu"], row["precision"]), []).append(row)
    theirs = committed.read("instructions/peers").rows
    rows: list[tuple[str | float | None, ...]] = []
    for way, ours in ways.items():
        ratios = []
        for row in ours:
            count = row["instructions_per_inference"]
            others = {
                other["engine"]: other["instructions_per_inference"]
                for other in theirs
                if (other["model"], other["cpu"], other["precision"]) == (row["model"], *way)
            }
            best, fewest = min(others.items(), key=lambda of: of[1], default=(None, None))
            ratios += [count / fewest] if fewest else []
            rows.append(
                (
                    *(row["model"], *way, count / _MILLION, fewest and fewest / _MILLION, best),
                    *(count / fewest if fewest else None, row["load_instructions"] / _MILLION),
                )
            )
        if ratios:
            rows.append(("geometric mean", *way, None, None, None, geometric_mean(ratios), None))
    columns = [Column("network"), Column("core"), Column("precision"), _count("trimtab")]
    columns += [_count("best peer"), Column("which"), number("ratio", ".2f", absent="-")]
    return [
        made_by("instructions"),
        made_by("instructions/peers"),
        "Millions of executed instructions of an inference, one thread, beside the peer that takes "
        "fewest in that precision, and of loading:",
        Table([*columns, number("loading", ".2f", absent="")], rows),
    ]


def _count(name: str) -> Column:
    return number(name, ".1f", absent="-")


@block
def verification() -> Page:
    """What it takes to compare the weights with their checksum."""
    rows = [
        (row["model"], row["cpu"], check / _MILLION, check / row["instructions_per_inference"])
        for row in committed.read("instructions").rows
        if (check := row.get("verify_instructions")) and row["precision"] == "f32"
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
