"""The time span in which each thread of the engine works on an operator."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from trimtab.results.records import Event

# From the begin of a thread's first share of an operator to the end of its last one, in nanoseconds
# since the operator began; None for a thread without a share.
Span = tuple[float, float] | None


def of_events(events: Sequence[Event]) -> tuple[tuple[Span, ...], ...]:
    """The spans of each thread in each `op` event; empty if an event has none."""
    return tuple(map(_spans, events)) if all(event.get("shares") for event in events) else ()


def medians(shares: Sequence[Sequence[Span]], limit: float) -> Iterator[Span]:
    """The median span of each thread; None if it works in less than half of the inferences.

    `limit` is the operator's median time over all inferences, which the median over fewer of them
    may exceed.
    """
    for spans in itertools.zip_longest(*shares):
        present = [span for span in spans if span]
        if present and 2 * len(present) >= len(spans):
            begin, end = np.median(present, axis=0)
            yield min(limit, float(begin)), min(limit, float(end))
        else:
            yield None


def _spans(event: Event) -> tuple[Span, ...]:
    """The spans of one event; an operator that is not shared runs on the first thread."""
    first, *others = (tuple(span) if span else None for span in event["shares"])
    is_shared = first is not None or any(others)
    return (first if is_shared else (0, event["ns"]), *others)
