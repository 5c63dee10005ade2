"""The log of the plug-in that counts executed instructions in QEMU user mode."""

from __future__ import annotations

import re

from trimtab.devices.protocol import InstructionCounts, Mark
from trimtab.errors import EmulatorError


def parse_log(text: str) -> InstructionCounts:
    """Reads the plug-in's lines `phase index count` and `end 0 count`.

    Raises `EmulatorError` for any other line: QEMU complains into the same file.
    """
    marks: list[Mark] = []
    total: int | None = None
    for line in text.splitlines():
        found = re.fullmatch("(end|[0-9]+) ([0-9]+) ([0-9]+)", line)
        if found is None:
            raise EmulatorError(f"the counting plug-in's log has an unexpected line: {line[:200]}")
        if found[1] == "end":
            total = int(found[3])
        else:
            marks.append(Mark(int(found[1]), int(found[2]), int(found[3])))
    return InstructionCounts(tuple(marks), total)
