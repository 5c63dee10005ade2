"""Merges the emulator's instruction counts into the runner's events.

Under user-mode emulation the runner cannot count instructions. A plug-in of the emulator notes the
count at each of the runner's markers. The count of a phase is the difference of the two marks
around it, and includes the few instructions of the marker call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.devices.protocol import Mark
from trimtab.errors import RunnerError
from trimtab.results.records import Event

# Each phase begins with its number, and ends with the following number.
_LOAD, _RUN, _OP, _VERIFY = 1, 3, 5, 7
_PHASES = {
    "load": _LOAD,
    "verify": _VERIFY,
    "first": _RUN,
    "warmup": _RUN,
    "run": _RUN,
    "op": _OP,
}


def merge(events: Sequence[Event], marks: Sequence[Mark]) -> tuple[Event, ...]:
    """`events` with counts in place of null; unchanged if there are no marks.

    Raises RunnerError if a mark is missing.
    """
    if not marks:
        return tuple(events)
    spans = {phase: _spans(marks, phase) for phase in set(_PHASES.values())}
    return tuple(
        {**event, "instructions": _next(spans[_PHASES[event["event"]]], event["event"])}
        if event["event"] in _PHASES
        else event
        for event in events
    )


def runs(marks: Sequence[Mark]) -> list[int]:
    """The instructions of each marked inference, in order."""
    return list(_spans(marks, _RUN))


def _spans(marks: Sequence[Mark], begin: int) -> Iterator[int]:
    """The instructions of each span from mark `begin` to mark `begin` + 1, in order."""
    start = None
    for mark in marks:
        if mark.phase == begin:
            start = mark.instructions
        elif mark.phase == begin + 1 and start is not None:
            yield mark.instructions - start
            start = None


def _next(spans: Iterator[int], kind: str) -> int:
    try:
        return next(spans)
    except StopIteration:
        raise RunnerError(
            f"the emulator reported no marks for the event {kind!r}",
            hint="runner and trimtab have different versions: build again",
        ) from None
