"""The facts that copies tell: bandwidth by threads, the caches of a core, and hand-overs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from trimtab.fitting.bed import WARM, Copied
from trimtab.fitting.measure import Time

_BYTES = 8  # of an element: one float is read and one is written
# Sizes beyond which a copy is in memory, and below which a hand-over is a part of it.
_SMALL = (16 << 10, 256 << 10)
# A cache is told from memory if it is that much faster.
_CONTRAST = 1.5


@dataclass(frozen=True)
class MemoryFacts:
    """`gb_per_s` by threads, from the largest copies; `cache_bytes`: the data that stay in the
    caches of one core, 0 if memory is as fast; `hand_over_ns`: what a loop that threads share takes
    longer than its share.
    """

    gb_per_s: Mapping[int, float]
    cache_bytes: int
    hand_over_ns: float


def facts(times: Sequence[Time]) -> MemoryFacts:
    """The facts from the copies among `times`, in nanoseconds, with one thread and more."""
    by_threads: dict[int, dict[int, float]] = {}
    for time in times:
        if isinstance(time.timed, Copied) and time.timed.state == WARM:
            by_threads.setdefault(time.threads, {})[time.timed.elements] = time.amount
    rates = {
        threads: {n: _BYTES * n / ns for n, ns in sizes.items()}
        for threads, sizes in by_threads.items()
    }
    alone = by_threads.get(1, {})
    over = [
        ns - alone[n] / threads
        for threads, sizes in by_threads.items()
        for n, ns in sizes.items()
        if threads > 1 and n in alone and _SMALL[0] <= _BYTES * n <= _SMALL[1]
    ]
    return MemoryFacts(
        {threads: of[max(of)] for threads, of in sorted(rates.items())},
        _cache_bytes(rates.get(1, {})),
        max(median(over), 0.0) if over else 0.0,
    )


def _cache_bytes(rates: Mapping[int, float]) -> int:
    """Bytes of the largest copy that is clearly faster than one in memory."""
    if not rates:
        return 0
    slow = rates[max(rates)]
    fast = [n for n, rate in rates.items() if rate > _CONTRAST * slow]
    return _BYTES * max(fast) if fast else 0
