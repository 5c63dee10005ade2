"""The search for the lowest cost within an accuracy budget: which savings a network gives up.

Two orders are tried: by error per saving, and by error alone, because one saving may have both the
largest error and the largest size. From the cheapest choice that keeps the budget, savings are
returned one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from trimtab.progress import Progress

_GRID = 6  # choices between all and no savings that reports show
MAX_RETURNS = 16  # attempts to return a saving; each runs the held-out samples


class Reducible(Protocol):
    """A reduction that a network may give up. `error`: mean error of the network with this alone;
    `saved`: the cost of doing without it.
    """

    @property
    def name(self) -> str: ...
    @property
    def error(self) -> float: ...
    @property
    def saved(self) -> float: ...


def search(
    savings: Sequence[Reducible],
    keeps_budget: Callable[[frozenset[str]], bool],
    cost: Callable[[frozenset[str]], float],
    progress: Progress,
) -> frozenset[str]:
    """The names of the savings that are given up at the lowest cost, among the choices tried, that
    keeps the budget. Both functions take such names; without any saving the budget is kept.
    """
    count = len(savings)
    useless = sum(one.saved <= 0 for one in savings)
    orders = [[one.name for one in sorted(savings, key=key)] for key in (_by_ratio, _by_error)]
    valid: set[frozenset[str]] = {frozenset(orders[0])}

    def attempt(names: Collection[str]) -> bool:
        if keeps_budget(frozenset(names)):
            valid.add(frozenset(names))
        return frozenset(names) in valid

    grid = {0, useless, *(count * i // _GRID for i in range(_GRID))} - {count}
    with progress.step("trying choices", "choices") as step:
        for done, number in enumerate(sorted(grid)):
            step.update(done, len(grid))
            attempt(orders[0][:number])
        for names in orders:
            # Bisection: giving up more usually, though not always, means less error.
            low, high = useless, count
            while low < high:
                middle = (low + high) // 2
                step.update(len(grid), len(grid), f"{middle} of {count} given up")
                low, high = (low, middle) if attempt(names[:middle]) else (middle + 1, high)
    least, best = min((cost(names), sorted(names)) for names in valid)
    tries = 0
    with progress.step("returning savings", "operators") as step:
        chosen = frozenset(best)
        candidates = [one for one in savings if one.name in chosen and one.saved > 0]
        for number, one in enumerate(sorted(candidates, key=lambda one: -one.saved)):
            step.update(number, len(candidates), one.name)
            fewer = chosen - {one.name}
            # A single saving may cost more than it saves.
            if tries == MAX_RETURNS or (less := cost(fewer)) >= least:
                continue
            tries += 1
            if attempt(fewer):
                chosen, least = fewer, less
    return chosen


def _by_ratio(saving: Reducible) -> tuple[bool, float]:
    """Savings of nothing first, then by descending error per saving."""
    return (
        saving.saved > 0,
        -saving.error / saving.saved if saving.saved > 0 else saving.saved,
    )


def _by_error(saving: Reducible) -> tuple[bool, float]:
    """Savings of nothing first, then by descending error."""
    return saving.saved > 0, -saving.error
