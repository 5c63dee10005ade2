"""How the weights of each operator are stored, so that the network keeps an accuracy budget in the
fewest bytes.

The search of `budget_search` gives up savings: a network begins with all weights in the smallest
form, and each step to a larger one is a saving that is given up. The error of a form is that of the
network in which one operator alone has it; it is measured for one form of each operator, and is in
proportion to the errors of the weights for the others.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from trimtab.accuracy import Accuracy, AccuracyBound, OperatorTradeoff
from trimtab.heads import HeadRequest
from trimtab.passes.fuse_qdq_conv import is_weighted
from trimtab.planner.packing import Storage, coding, expanded
from trimtab.planner.plan_file import WEIGHTS_TYPES, Plan
from trimtab.program import Op, Program, Var
from trimtab.progress import SILENT, Progress
from trimtab.quantization import budget_search
from trimtab.quantization.accuracy import Reference
from trimtab.quantization.samples import Samples
from trimtab.quantization.stored_rounding import (
    columns_of,
    joint_weights,
    planned_names,
    simplified,
)

Array = NDArray[Any]

_ERROR_SAMPLES = 8  # calibration samples that measure the error of a form
_MEASURED = "bits4"  # of which the error is measured; else the smallest form
_MOST = float(np.finfo(np.float16).max)
_LEAST_BYTES = 1024  # of weights in float32: smaller ones stay as they are


@dataclass(frozen=True)
class StoredWeights:
    """The stored form of the weights of each operator by its name in a plan; their `bytes`, beside
    the `float_bytes` that they take without a loss; the accuracy on the held-out samples.
    `rounded`: the values of those that the calibration samples rounded.
    """

    forms: Mapping[str, str]
    accuracy: Accuracy
    bytes: int
    float_bytes: int
    bounds: tuple[AccuracyBound, ...]
    rounded: Mapping[str, Array] = field(default_factory=dict, compare=False, repr=False)

    def lines(self) -> list[str]:
        """The choice in sentences."""
        counts = {form: [*self.forms.values()].count(form) for form in WEIGHTS_TYPES}
        forms = ", ".join(f"{count} in {form}" for form, count in counts.items() if count)
        share = self.bytes / max(self.float_bytes, 1)
        budget = ", ".join(map(str, self.bounds))
        return [f"weights of operators: {forms}: {share:.1%} of their bytes, within {budget}"]


@dataclass(frozen=True)
class _PossibleForms:
    """The weights of an operator: `values`: what each form expands to, `sizes`: its bytes, the
    largest first, which is exact, and `errors`: the root of the mean square by which the nearest
    values miss the weights. Values of `joint` forms were rounded by samples.
    """

    values: Mapping[str, Array]
    sizes: Mapping[str, int]
    errors: Mapping[str, float]
    joint: Collection[str]


def search(
    program: Program,
    plan: Plan,
    samples: Samples,
    bounds: tuple[AccuracyBound, ...],
    progress: Progress = SILENT,
    head: HeadRequest | None = None,
) -> StoredWeights:
    """The forms with the fewest bytes, among those tried, with which `program`, an unoptimized
    float network computed by `plan`, meets all `bounds`.

    Errors of forms are measured on calibration samples, the bounds on the held-out samples, where
    `head` tells the boxes. float32 everywhere is always possible. Coded forms take longer to load,
    and are for plans that prefer size.
    """
    forms = [form for form in WEIGHTS_TYPES if plan.prefer == "size" or form not in coding.FORMS]
    simple = simplified(program)
    weighted = [op for op in simple.ops if is_weighted(op)]
    joint = joint_weights(
        simple, samples.calibrating, {op.name: forms for op in weighted}, progress
    )
    counts = Counter(text for op in weighted for text in (op.name, op.inputs[1]))
    weights = {
        op.name: possible
        for op in weighted
        if counts[op.name] == counts[op.inputs[1]] == 1  # neither name nor weights are shared
        if (possible := _possible(op, simple.vars[op.inputs[1]], forms, joint.get(op.name, {})))
    }
    # Further BLAS threads would take the cores from the inference.
    with threadpool_limits(1, user_api="blas"):
        return _FormSearcher(simple, plan, samples, bounds, progress, head, weights).run()


def _possible(
    op: Op, var: Var, forms: Sequence[str], joint: Mapping[str, Array]
) -> _PossibleForms | None:
    """The possible ones of `forms` for an operator; None if its weights stay as they are."""
    if var.data is None or var.dtype != "f32" or var.bytes < _LEAST_BYTES:
        return None
    fits_f16, axis = np.abs(var.data).max() <= _MOST, columns_of(op, var)
    values: dict[str, Array] = {}
    sizes: dict[str, int] = {}
    errors: dict[str, float] = {}
    exact = Storage(True).form_of(var, axis)
    for form in forms[forms.index(exact) :]:
        if form == exact or (fits_f16 and Storage(True, form).form_of(var, axis) == form):
            nearest, size = expanded(var, form, axis)
            value = joint.get(form, nearest)
            if form in joint:
                size = expanded(Var(var.name, var.shape, var.dtype, data=value), form, axis)[1]
            if size < min(sizes.values(), default=size + 1):
                values[form], sizes[form] = value, size
                error = np.square(nearest - var.data, dtype=np.float64).mean()
                errors[form] = float(np.sqrt(error))
    return _PossibleForms(values, sizes, errors, joint.keys()) if len(sizes) > 1 else None


class _FormSearcher:
    def __init__(
        self,
        simple: Program,
        plan: Plan,
        samples: Samples,
        bounds: tuple[AccuracyBound, ...],
        progress: Progress,
        head: HeadRequest | None,
        weights: Mapping[str, _PossibleForms],
    ) -> None:
        self._simple, self._weights, self._bounds = simple, weights, bounds
        self._plan = Plan(precision=plan.precision, precisions=plan.precisions)
        count = min(samples.calibrating.count, _ERROR_SAMPLES)
        self._calibration = Reference(simple, Samples(count, samples.calibrating.feed))
        self._held_out = Reference(simple, samples.held_out, head)
        self._progress = progress
        self._tried: dict[frozenset[str], Accuracy] = {}

    def run(self) -> StoredWeights:
        """Evaluates the forms, then gives up savings until the budget is met."""
        given_up = budget_search.search(
            [*self._savings()],
            lambda names: all(bound.holds(self._accuracy(names)) for bound in self._bounds),
            lambda names: self._bytes(self._chosen(names)),
            self._progress,
        )
        forms, names = self._chosen(given_up), planned_names(self._simple)
        floats = self._bytes({name: next(iter(w.sizes)) for name, w in self._weights.items()})
        accuracy = self._accuracy(given_up)
        rounded = {
            name: self._weights[name].values[form]
            for name, form in forms.items()
            if form in self._weights[name].joint
        }
        by_plan = {names[name]: form for name, form in forms.items()}
        return StoredWeights(by_plan, accuracy, self._bytes(forms), floats, self._bounds, rounded)

    def _savings(self) -> Iterator[OperatorTradeoff]:
        """Each step from a form to the next smaller one, named "operator: form"."""
        with self._progress.step("evaluating weights", "operators") as step:
            for number, (name, weights) in enumerate(self._weights.items()):
                step.update(number, len(self._weights), name)
                measured = _MEASURED if _MEASURED in weights.sizes else [*weights.sizes][-1]
                share = 0.0  # f16 alone misses a thousandth of what the others do
                if measured != "f16":
                    program = self._program({name: measured})
                    error = self._calibration.compare(program, plan=self._plan).mean_error
                    share = error / (weights.errors[measured] or 1)
                for larger, form in itertools.pairwise(weights.sizes):
                    saved = weights.sizes[larger] - weights.sizes[form]
                    error = weights.errors[form] * share
                    yield OperatorTradeoff(f"{name}: {form}", error, saved, form)

    def _chosen(self, given_up: frozenset[str]) -> dict[str, str]:
        """The form of each operator: the smallest one in front of the first step given up."""
        chosen = {}
        for name, weights in self._weights.items():
            first, *others = weights.sizes
            for form in others:
                if f"{name}: {form}" in given_up:
                    break
                first = form
            chosen[name] = first
        return chosen

    def _bytes(self, forms: Mapping[str, str]) -> int:
        return sum(self._weights[name].sizes[form] for name, form in forms.items())

    def _accuracy(self, given_up: frozenset[str]) -> Accuracy:
        if given_up not in self._tried:
            program = self._program(self._chosen(given_up))
            self._tried[given_up] = self._held_out.compare(program, plan=self._plan)
        return self._tried[given_up]

    def _program(self, forms: Mapping[str, str]) -> Program:
        """The network with the values that these forms expand to."""
        twin = self._simple.copy()
        for op in twin.ops:
            # Other operators of the same layer may share the name.
            if is_weighted(op) and (form := forms.get(op.name)):
                twin.vars[op.inputs[1]].data = self._weights[op.name].values[form]
        return twin
