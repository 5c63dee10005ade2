"""The head that the model's file, or a file beside it, names; of several that it allows, the one
that nothing contradicts.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.errors import UsageError
from trimtab.program import Program

NAME = "auto"


def candidates(program: Program) -> Sequence[str]:
    """The heads that the file allows, the likeliest first; UsageError if there is none."""
    if program.hints.heads:
        return program.hints.heads
    entry = f": it says {program.hints.entry}" if program.hints.entry else ""
    raise UsageError(
        f"the model's file does not say which head its results need{entry}",
        where=program.name,
        hint="name a head, such as yolov8; docs/boxes.md lists heads and what they read",
    )
