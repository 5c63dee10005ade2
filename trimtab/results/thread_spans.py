"""When each thread of the engine had a share of an operator."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from trimtab.results.records import Event

# From when a thread began its first share of an operator until it ended its last, in nanoseconds
# since the operator began; None where it had none.
Span = tuple[float, float] | None


def of_events(events: Sequence[Event]) -> tuple[tuple[Span, ...], ...]:
    """The spans of each thread in each `op` event; nothing if one does not tell them."""
    return tuple(map(_spans, events)) if all(event.get("shares") for event in events) else ()


def medians(shares: Sequence[Sequence[Span]], most: float) -> Iterator[Span]:
    """Of each thread; None of one that has a share in less than half of the inferences. `most`:
    the median of what the operator took in all of them, which that of some may exceed.
    """
    for spans in itertools.zip_longest(*shares):
        told = [span for span in spans if span]
        if told and 2 * len(told) >= len(spans):
            begin, end = np.median(told, axis=0)
            yield min(most, float(begin)), min(most, float(end))
        else:
            yield None


def _spans(event: Event) -> tuple[Span, ...]:
    """An operator that was not shared is the caller's, who is the first thread."""
    first, *others = (tuple(span) if span else None for span in event["shares"])
    is_shared = first is not None or any(others)
    return (first if is_shared else (0, event["ns"]), *others)
