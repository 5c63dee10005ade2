"""Executed instructions that were counted from outside, put into the runner's events.

Under user-mode emulation the runner cannot count for itself; the emulator's plug-in notes the count
at each of the runner's markers. A phase's count is the difference of the two marks around it, which
includes the few instructions of the marker call itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from trimtab.bench.results import Event
from trimtab.devices.protocol import Mark
from trimtab.errors import RunnerError

_LOAD, _RUN, _OP = 1, 3, 5  # a phase begins with its number and ends with the next one


def merge(events: Sequence[Event], marks: Sequence[Mark]) -> tuple[Event, ...]:
    """`events` with the counts that the runner left null; RunnerError when marks are missing."""
    loads = iter(_spans(marks, _LOAD))
    runs = iter(_spans(marks, _RUN))
    per_op: dict[int, list[int]] = defaultdict(list)
    for index, count in _spans(marks, _OP):
        per_op[index].append(count)
    counted = {"load": loads, "first": runs, "warmup": runs, "run": runs}
    merged = []
    for event in events:
        if spans := counted.get(event["event"]):
            merged.append({**event, "instructions": _next(spans, event["event"])})
        elif event["event"] == "op":
            merged.append({**event, "instruction_samples": per_op[event["index"]]})
        else:
            merged.append(event)
    return tuple(merged)


def _spans(marks: Sequence[Mark], begin: int) -> list[tuple[int, int]]:
    """(index, instructions) of each span from phase `begin` to `begin` + 1, in order."""
    spans, start = [], None
    for mark in marks:
        if mark.phase == begin:
            start = mark.instructions
        elif mark.phase == begin + 1 and start is not None:
            spans.append((mark.index, mark.instructions - start))
            start = None
    return spans


def _next(spans: Iterator[tuple[int, int]], kind: str) -> int:
    try:
        return next(spans)[1]
    except StopIteration:
        raise RunnerError(
            f"the emulator saw no markers for an event {kind!r}",
            hint="the runner and trimtab are of different versions: build again",
        ) from None
