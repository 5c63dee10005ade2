"""Parts of pages from the committed instruction counts."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.instructions.counts import INSTRUCTIONS, InstructionsRow
from lab.peers.report import geometric_mean
from trimtab.tables import Column, Page, Table, number

_MILLION = 1e6


@reference("Executed instructions on ARM")
def instructions() -> Page:
    """trimtab's counts beside those of peers, for each core and precision."""
    by_target: dict[tuple[str, str], list[InstructionsRow]] = {}
    for row in INSTRUCTIONS.rows():
        by_target.setdefault((row.cpu, row.precision), []).append(row)
    theirs = committed.read("instructions/peers").rows
    rows: list[tuple[str | float | None, ...]] = []
    means: list[str] = []
    for target, ours in by_target.items():
        ratios = []
        for row in ours:
            count = row.instructions_per_inference
            others = {
                other["engine"]: other["instructions_per_inference"]
                for other in theirs
                if (other["model"], other["cpu"], other["precision"]) == (row.model, *target)
            }
            best, fewest = min(others.items(), key=lambda of: of[1], default=(None, None))
            ratios += [count / fewest] if fewest else []
            rows.append(
                (
                    *(row.model, *target, count / _MILLION, fewest and fewest / _MILLION, best),
                    *(count / fewest if fewest else None, row.load_instructions / _MILLION),
                )
            )
        if ratios:
            mean = geometric_mean(ratios)
            rows.append(("geometric mean", *target, None, None, None, mean, None))
            means.append(f"{mean:.2f} on {target[0]} in {target[1]}")
    columns = [Column("network"), Column("core"), Column("precision"), _count("trimtab")]
    columns += [_count("best peer"), Column("which"), number("ratio", ".2f", absent="-")]
    return [
        f"Geometric means of the ratios to the best peer: {listed(means)}.",
        made_by(INSTRUCTIONS.name),
        made_by("instructions/peers"),
        "Millions of executed instructions of an inference with one thread, beside the peer with "
        "the fewest in that precision, and of loading:",
        Table([*columns, number("loading", ".2f", absent="")], rows),
    ]


def _count(name: str) -> Column:
    return number(name, ".1f", absent="-")


@reference("Cost of the check of weights")
def verification() -> Page:
    """Instructions of the check of the weights against their checksum."""
    rows = [
        (row.model, row.cpu, check / _MILLION, check / row.instructions_per_inference)
        for row in INSTRUCTIONS.rows()
        if (check := row.verify_instructions) and row.precision == "f32"
    ]
    columns = [Column("network"), Column("core"), number("check", ".2f")]
    shares = [row[-1] for row in rows]
    return [
        f"The check takes {min(shares):.1%} to {max(shares):.1%} of an inference's instructions.",
        made_by(INSTRUCTIONS.name),
        "Millions of executed instructions of the check, and their ratio to one inference:",
        Table([*columns, number("of an inference", ".1%")], rows),
    ]
