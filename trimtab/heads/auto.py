"""The head that the model's file, or a file beside it, names; of several that it allows, the one
that nothing contradicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trimtab.errors import UsageError
from trimtab.heads._proof import Proof
from trimtab.program import Program

NAME = "auto"


def candidates(program: Program) -> Sequence[str]:
    """The heads that the file allows, the likeliest first; UsageError if there is none."""
    if program.hints.heads:
        return program.hints.heads
    raise unnamed(program, ())


def unnamed(program: Program, fitting: Sequence[Proof]) -> UsageError:
    """The error for a file that names no head. `fitting`: the readings that nothing contradicts, as
    a shape alone does not say what it is.
    """
    entry = f": it says {program.hints.entry}" if program.hints.entry else ""
    names: dict[str, list[str]] = {}
    for proof in fitting:
        reading = str(replace(proof, reasons=())).partition(" reads ")[2]
        names.setdefault(reading, []).append(proof.request.name)
    ways = "".join(f"\n  {', '.join(group)}: {reading}" for reading, group in names.items())
    hint = (
        f"name the right one, such as --head {fitting[0].request.name}"
        if fitting
        else ("name a head, such as yolov8")
    )
    return UsageError(
        f"the model's file does not say which head its results need{entry}"
        + (f"; these would read them:{ways}" if ways else ""),
        where=program.name,
        hint=f"{hint}; docs/boxes.md lists heads and what they read",
    )
