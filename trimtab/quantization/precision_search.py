"""Mixed precision search: which operators compute in int8 and which in floating point, so that the
network keeps an accuracy budget at the lowest cost.

Operators with weights are evaluated one by one: the error of the network with only this operator in
int8, and the cycles, by the planner's cost model, that an int8 network takes more with this
operator in floating point. Starting from int8 everywhere, operators become floating point until
the budget is kept (`budget_search`). Operators without weights are in int8 if all operators that
they read are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trimtab import passes
from trimtab.accuracy import (
    Accuracy,
    AccuracyBound,
    OperatorTradeoff,
    Search,
    SearchCandidate,
)
from trimtab.heads import HeadRequest
from trimtab.passes.fuse_qdq_conv import is_weighted
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.planner.precision import can_compute_f16, has_f16_kernels
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.quantization import budget_search, float16_range, insert_qdq
from trimtab.quantization.accuracy import Reference
from trimtab.quantization.adaptive_rounding import Rounding
from trimtab.quantization.ranges import Ranges
from trimtab.quantization.samples import Samples
from trimtab.target import Target

_ERROR_SAMPLES = 8  # calibration samples that measure the error of an operator


@dataclass(frozen=True)
class MixedPrecision:
    """The precision of each operator of the simplified program, by name, and the search's log."""

    types: Mapping[str, str]
    search: Search


def search(
    simple: Program,
    ranges: Ranges,
    rounding: Rounding,
    samples: Samples,
    bounds: tuple[AccuracyBound, ...],
    target: Target,
    progress: Progress = SILENT,
    head: HeadRequest | None = None,
) -> MixedPrecision:
    """The cheapest choice for `target`, among those tried, that meets all `bounds`.

    `simple`: a simplified float32 program. Errors of operators are measured on calibration samples,
    the bounds on the held-out samples, where `head` tells the boxes. float32 is always tried and
    meets every bound.
    """
    return _Searcher(simple, ranges, rounding, samples, bounds, target, progress, head).run()


class _Searcher:
    def __init__(
        self,
        simple: Program,
        ranges: Ranges,
        rounding: Rounding,
        samples: Samples,
        bounds: tuple[AccuracyBound, ...],
        target: Target,
        progress: Progress,
        head: HeadRequest | None,
    ) -> None:
        self._simple, self._ranges, self._target = simple, ranges, target
        self._bounds, self._progress = bounds, progress
        self._rounding = rounding
        count = min(samples.calibrating.count, _ERROR_SAMPLES)
        self._calibration = Reference(simple, Samples(count, samples.calibrating.feed))
        self._held_out = Reference(simple, samples.held_out, head)
        self._quantizable = insert_qdq.quantizable(simple, ranges)
        names = dict.fromkeys(op.name for op in simple.ops if is_weighted(op))
        self._weighted = [name for name in names if name in self._quantizable]
        self._float, self._samples = "f32", samples
        self._too_large: frozenset[str] = frozenset()  # operators that f16 cannot compute
        self._tried: dict[
            tuple[str, frozenset[str]], tuple[SearchCandidate, Mapping[str, str]]
        ] = {}

    def run(self) -> MixedPrecision:
        """Evaluates the operators, then removes them from int8 in both orders."""
        self._try((), int8=False)
        if has_f16_kernels(self._target) and can_compute_f16(Target.host()):
            self._float = "f16"
            overflows = float16_range.overflows(self._simple, self._samples, self._progress)
            self._too_large = float16_range.involved(overflows)
            for one in overflows:
                self._progress.note(f"{one}, and f16 ends at 65504: it stays in float32")
            if not self._meets(self._try((), int8=False)):
                self._float = "f32"
        tradeoffs = self._evaluate()
        budget_search.search(
            tradeoffs,
            lambda floats: self._meets(self._try(floats)),
            lambda floats: self._cycles(self._types(floats)),
            self._progress,
        )
        return self._result(tradeoffs)

    def _result(self, tradeoffs: Iterable[OperatorTradeoff]) -> MixedPrecision:
        choices = list(self._tried.values())
        valid = [i for i, (one, _) in enumerate(choices) if self._meets(one)]
        budget = ", ".join(map(str, self._bounds))
        chosen = min(valid, key=lambda i: (choices[i][0].cycles, choices[i][0].accuracy.mean_error))
        types = choices[chosen][1]
        operators = tuple(
            OperatorTradeoff(one.name, one.error, one.saved, types[one.name]) for one in tradeoffs
        )
        candidates = tuple(one for one, _ in choices)
        return MixedPrecision(
            types, Search(budget, self._target.name, candidates, chosen, operators)
        )

    def _evaluate(self) -> list[OperatorTradeoff]:
        """The error and the saving of each operator with weights."""
        tradeoffs = []
        whole = self._cycles(self._types(()))
        with self._progress.step("evaluating operators", "operators") as step:
            for number, name in enumerate(self._weighted):
                step.update(number, len(self._weighted), name)
                alone = self._types(other for other in self._weighted if other != name)
                keep = [other for other, type in alone.items() if type != "int8"]
                twin = insert_qdq.quantized(self._simple, self._ranges, keep, self._rounding)
                error = self._calibration.compare(twin).mean_error
                saved = self._cycles(self._types([name])) - whole
                tradeoffs.append(OperatorTradeoff(name, error, saved, "int8"))
        return tradeoffs

    def _try(self, floats: Iterable[str], *, int8: bool = True) -> SearchCandidate:
        """Evaluates the network with these operators, or all of them, in floating point."""
        names = frozenset(floats) if int8 else frozenset(self._weighted)
        key = (self._float, names)
        if key not in self._tried:
            types = self._types(names)
            count = len(self._weighted) - len(names)
            label = f"{count} of {len(self._weighted)} in int8, the others in {self._float}"
            label = label if count else self._float
            label = "int8" if count == len(self._weighted) and count else label
            accuracy = self._accuracy(types)
            candidate = SearchCandidate(label, count, self._cycles(types), accuracy)
            self._tried[key] = candidate, types
        return self._tried[key][0]

    def _meets(self, candidate: SearchCandidate) -> bool:
        return all(bound.holds(candidate.accuracy) for bound in self._bounds)

    def _types(self, floats: Iterable[str]) -> dict[str, str]:
        """The precision of each operator; those without weights follow their operands."""
        names = {*floats}
        types: dict[str, str] = {}
        for op in self._simple.ops:
            producers = [self._simple.block.producer(name) for name in op.inputs if name]
            follows = all(p is None or types[p.name] == "int8" for p in producers)
            own = op.name not in names if op.name in self._weighted else follows
            is_int8 = own and op.name in self._quantizable and names < {*self._weighted}
            is_half = self._float == "f16" and op.name not in self._too_large
            types[op.name] = "int8" if is_int8 else "f16" if is_half else "f32"
        return types

    def _program(self, types: Mapping[str, str]) -> tuple[Program, Plan]:
        keep = [name for name, type in types.items() if type != "int8"]
        plan = Plan(precision="mixed", precisions=types)
        if len(keep) == len(types):
            return self._simple, plan
        return insert_qdq.quantized(self._simple, self._ranges, keep, self._rounding), plan

    def _accuracy(self, types: Mapping[str, str]) -> Accuracy:
        program, plan = self._program(types)
        return self._held_out.compare(program, plan=plan)

    def _cycles(self, types: Mapping[str, str]) -> float:
        return modeled_cycles(*self._program(types), self._target)


def modeled_cycles(program: Program, plan: Plan, target: Target) -> float:
    """The cycles of an inference on `target` by the planner's cost model."""
    return planner.total_cycles(planner.decide(passes.optimize(program), target, plan), target)
