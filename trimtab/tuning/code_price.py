"""The price of code: whether the time that an alternative saves is worth its bytes in the binary.

The exchange rate is that of the planner (docs/planner.md#code-size).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from trimtab.planner.code_bytes import code_sizes
from trimtab.planner.code_selection import CodeCost
from trimtab.planner.plan_file import Plan


@dataclass(frozen=True)
class Saving:
    """An alternative: the share of the network's time that it saves, the first outputs of its
    operators, and the names of the operators and kernels that compute them.
    """

    saved: float
    region: Collection[str]
    code: Collection[str]


def not_worth(
    arch: str, present: Mapping[str, Collection[str]], savings: Sequence[Saving], prefer: str
) -> str | None:
    """The operator or kernel whose code costs more than these savings of time are worth, or None.

    `present`: the names of the present plan's code, by the first output of each operator. Code that
    no operator needs any more leaves the binary.
    """
    sizes = code_sizes(arch)
    if sizes is None:
        return None
    plan = Plan(prefer=prefer)

    def cost(without: str) -> float:
        carried = [one for one in savings if without not in one.code]
        replaced = {name for one in carried for name in one.region}
        code = {name for one in carried for name in one.code}
        code.update(*(names for output, names in present.items() if output not in replaced))
        time = 1 - sum(one.saved for one in carried)
        return CodeCost(time, sizes.total((), code)).total(plan)

    added = {name for one in savings for name in one.code}.difference(*present.values())
    cheapest = min(sorted(added), key=cost, default=None)
    return cheapest if cheapest is not None and cost(cheapest) <= cost("") else None
