"""Executed instructions that were counted from outside, put into the runner's events.

Under user-mode emulation the runner cannot count for itself; the emulator's plug-in notes the count
at each of the runner's markers. A phase's count is the difference of the two marks around it, which
includes the few instructions of the marker call itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.devices.protocol import Mark
from trimtab.errors import RunnerError
from trimtab.results.records import Event

# A phase begins with its number and ends with the next one.
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
    """`events` with the counts that the runner left null; as they are when nobody made marks.
    RunnerError when marks are missing.
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


def _spans(marks: Sequence[Mark], begin: int) -> Iterator[int]:
    """The instructions of each span from phase `begin` to `begin` + 1, in order."""
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
            f"the emulator saw no markers for an event {kind!r}",
            hint="the runner and trimtab are of different versions: build again",
        ) from None
