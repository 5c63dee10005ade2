"""Which operators compute on integers, and which on floats, so that a network keeps a budget.

Operators with weights are weighed one by one: by the mean error of the network with that one alone
on integers, and by the cycles that it takes more with that one alone on floats, by the planner's
measure. From all on integers on, operators are given up until the budget is kept, in two orders:
those that err most for what they save first, and those that err most first, because an operator may
both err and save the most. From the cheapest choice that keeps the budget, operators are put back
on integers. Those without weights are on integers where all that they read is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trimtab import passes
from trimtab.accuracy import Accuracy, Candidate, Demand, OperatorTradeoff, Search
from trimtab.passes.fuse_qdq_conv import is_weighted
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.planner.precision import can_compute_f16, has_f16_kernels
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import insert_qdq
from trimtab.quantization.accuracy import Reference
from trimtab.quantization.adaptive_rounding import Rounding
from trimtab.quantization.ranges import Ranges
from trimtab.quantization.samples import Samples
from trimtab.target import Target

_LOOKED_AT = 8  # samples that tell the error of an operator
_STEPS = 6  # choices between all on integers and none that are shown beside the chosen one
_PUT_BACK = 16  # tries of putting an operator back on integers: each computes the samples held out


@dataclass(frozen=True)
class Found:
    """The precision of each operator of the simplified program, by name; and why."""

    types: Mapping[str, str]
    search: Search


def search(
    simple: Program,
    ranges: Ranges,
    rounding: Rounding,
    samples: Samples,
    asked: tuple[Demand, ...],
    target: Target,
    progress: Progress = SILENT,
) -> Found:
    """The cheapest choice for `target` that keeps what is asked, of those that are tried.

    `simple`: a simplified float32 program. Errors of operators are of samples that ranges are of;
    the budget is held against those held out. float32 is among what is tried, and keeps any budget.
    """
    return _Searcher(simple, ranges, rounding, samples, asked, target, progress).run()


class _Searcher:
    def __init__(
        self,
        simple: Program,
        ranges: Ranges,
        rounding: Rounding,
        samples: Samples,
        asked: tuple[Demand, ...],
        target: Target,
        progress: Progress,
    ) -> None:
        self._simple, self._ranges, self._target = simple, ranges, target
        self._asked, self._progress = asked, progress
        self._rounding = rounding
        few = min(samples.calibrating.count, _LOOKED_AT)
        self._looked_at = Reference(simple, Samples(few, samples.calibrating.feed))
        self._held_out = Reference(simple, samples.held_out)
        able = insert_qdq.able(simple, ranges)
        self._weighted = [op.name for op in simple.ops if is_weighted(op)]
        self._weighted = [name for name in dict.fromkeys(self._weighted) if name in able]
        self._able = able
        self._float = "f32"
        self._tried: dict[tuple[str, frozenset[str]], tuple[Candidate, Mapping[str, str]]] = {}

    def run(self) -> Found:
        """Weighs, then gives up operators in their order."""
        self._try((), integers=False)
        if has_f16_kernels(self._target) and can_compute_f16(Target.host()):
            self._float = "f16"
            if not self._keeps(self._try((), integers=False)):
                self._float = "f32"
        weighed = self._weigh()
        idle = sum(one.saved <= 0 for one in weighed)
        count = len(weighed)
        orders = [[one.name for one in sorted(weighed, key=key)] for key in (_rank, _rank_by_error)]
        grid = {0, idle, *(count * i // _STEPS for i in range(_STEPS))} - {count}
        with self._progress.step("trying choices", "choices") as step:
            for done, given_up in enumerate(sorted(grid)):
                step.update(done, len(grid))
                self._try(orders[0][:given_up])
            for names in orders:
                # The fewest that have to be given up; more are right oftener, if not always.
                low, high = idle, count
                while low < high:
                    middle = (low + high) // 2
                    step.update(len(grid), len(grid), f"without {middle} operators")
                    kept = self._keeps(self._try(names[:middle]))
                    low, high = (low, middle) if kept else (middle + 1, high)
        self._put_back(weighed)
        return self._found(weighed)

    def _put_back(self, weighed: Iterable[OperatorTradeoff]) -> None:
        """Tries operators that were given up on integers again, one after the other, what saves
        most first: the orders do not see that an operator bears what another one does not.
        """
        (_, off), (best, _) = min(
            (item for item in self._tried.items() if self._keeps(item[1][0])),
            key=lambda item: item[1][0].cycles,
        )
        given_up = [one for one in weighed if one.name in off and one.saved > 0]
        tries = 0
        with self._progress.step("putting operators back on integers", "operators") as step:
            for number, one in enumerate(sorted(given_up, key=lambda one: -one.saved)):
                step.update(number, len(given_up), one.name)
                fewer = off - {one.name}
                # Alone among floats it may cost more conversions than it saves.
                if tries == _PUT_BACK or self._cycles(self._types(fewer)) >= best.cycles:
                    continue
                tries += 1
                tried = self._try(fewer)
                if self._keeps(tried):
                    off, best = fewer, tried

    def _found(self, weighed: Iterable[OperatorTradeoff]) -> Found:
        tried = list(self._tried.values())
        kept = [i for i, (one, _) in enumerate(tried) if self._keeps(one)]
        budget = ", ".join(map(str, self._asked))
        chosen = min(kept, key=lambda i: (tried[i][0].cycles, tried[i][0].accuracy.mean_error))
        types = tried[chosen][1]
        operators = tuple(
            OperatorTradeoff(one.name, one.error, one.saved, types[one.name]) for one in weighed
        )
        candidates = tuple(one for one, _ in tried)
        return Found(types, Search(budget, self._target.name, candidates, chosen, operators))

    def _weigh(self) -> list[OperatorTradeoff]:
        """The error and the gain of each operator with weights."""
        found = []
        whole = self._cycles(self._types(()))
        with self._progress.step("weighing operators", "operators") as step:
            for number, name in enumerate(self._weighted):
                step.update(number, len(self._weighted), name)
                alone = self._types(other for other in self._weighted if other != name)
                keep = [other for other, kind in alone.items() if kind != "int8"]
                twin = insert_qdq.quantized(self._simple, self._ranges, keep, self._rounding)
                error = self._looked_at.compare(twin).mean_error
                saved = self._cycles(self._types([name])) - whole
                found.append(OperatorTradeoff(name, error, saved, "int8"))
        return found

    def _try(self, given_up: Iterable[str], *, integers: bool = True) -> Candidate:
        """The network without integers in these operators with weights, or anywhere."""
        off = frozenset(given_up) if integers else frozenset(self._weighted)
        key = (self._float, off)
        if key not in self._tried:
            types = self._types(off)
            left = len(self._weighted) - len(off)
            label = f"{left} of {len(self._weighted)} in int8, the others in {self._float}"
            label = label if left else self._float
            label = "int8" if left == len(self._weighted) and left else label
            accuracy = self._accuracy(types)
            one = Candidate(label, left, self._cycles(types), accuracy)
            self._tried[key] = one, types
        return self._tried[key][0]

    def _keeps(self, one: Candidate) -> bool:
        return all(demand.holds(one.accuracy) for demand in self._asked)

    def _types(self, given_up: Iterable[str]) -> dict[str, str]:
        """The precision of each operator: those without weights follow what they read."""
        off = {*given_up}
        types: dict[str, str] = {}
        for op in self._simple.ops:
            makers = [self._simple.block.producer(name) for name in op.inputs if name]
            follows = all(maker is None or types[maker.name] == "int8" for maker in makers)
            own = op.name not in off if op.name in self._weighted else follows
            kind = "int8" if own and op.name in self._able and off < {*self._weighted} else ""
            types[op.name] = kind or self._float
        return types

    def _program(self, types: Mapping[str, str]) -> tuple[Program, Plan]:
        keep = [name for name, kind in types.items() if kind != "int8"]
        plan = Plan(precision="mixed", precisions=types)
        if len(keep) == len(types):
            return self._simple, plan
        return insert_qdq.quantized(self._simple, self._ranges, keep, self._rounding), plan

    def _accuracy(self, types: Mapping[str, str]) -> Accuracy:
        program, plan = self._program(types)
        return self._held_out.compare(program, plan=plan)

    def _cycles(self, types: Mapping[str, str]) -> float:
        program, plan = self._program(types)
        planned = planner.decide(passes.optimize(program), self._target, plan)
        return planner.total_cycles(planned, self._target)


def _rank(one: OperatorTradeoff) -> tuple[bool, float]:
    """First what saves nothing, then what errs most for what it saves."""
    return one.saved > 0, -one.error / one.saved if one.saved > 0 else one.saved


def _rank_by_error(one: OperatorTradeoff) -> tuple[bool, float]:
    """First what saves nothing, then what errs most."""
    return one.saved > 0, -one.error
