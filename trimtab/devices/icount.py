"""The log of the plug-in that counts executed instructions in QEMU user mode."""

from __future__ import annotations

import re

from trimtab.devices.protocol import InstructionCounts, Mark
from trimtab.errors import EmulatorError


def parse_log(text: str) -> InstructionCounts:
    """Parses the lines `phase index count` and `end 0 count`.

    Raises `EmulatorError` for other lines: QEMU complains into the same file.
    """
    marks: list[Mark] = []
    total: int | None = None
    for line in text.splitlines():
        match = re.fullmatch("(end|[0-9]+) ([0-9]+) ([0-9]+)", line)
        if match is None:
            raise EmulatorError(f"the counting plug-in's log has an unexpected line: {line[:200]}")
        if match[1] == "end":
            total = int(match[3])
        else:
            marks.append(Mark(int(match[1]), int(match[2]), int(match[3])))
    return InstructionCounts(tuple(marks), total)
