"""Kernel selection: assigns micro-kernels by the rule of docs/planner.md, or as a plan says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import cast

from trimtab import kernels, schema
from trimtab.errors import PlanError
from trimtab.kernels import Kernel
from trimtab.planner import concat_elision
from trimtab.planner.algorithms import Algorithm, Inexact
from trimtab.planner.cost import NO_COST, Cost, cost
from trimtab.planner.rounding import is_integer
from trimtab.program import Op, Program
from trimtab.schema import Attribute
from trimtab.target import Target


@dataclass(frozen=True)
class KernelSelection:
    """The kernels that one operator may use on a target. `algorithm`: the one that it was lowered
    by, or None if it has no choice of algorithms; `constant_bytes`: those of the whole program.
    """

    program: Program
    op: Op
    algorithm: Algorithm | None
    target: Target
    constant_bytes: int
    _memo: dict[str, list[Kernel]] = field(default_factory=dict, repr=False, compare=False)
    _costs: dict[str, Cost] = field(default_factory=dict, repr=False, compare=False)

    def missing(self) -> list[str]:
        """Describes what the target lacks for this operator: the operator itself, or kernels.

        Operators that concat elision may remove need nothing yet.
        """
        return self._missing

    @cached_property
    def _missing(self) -> list[str]:
        if not self.target.holds(self.op.type) and self.op.type not in concat_elision.ELIDED_TYPES:
            return [self.op.type]
        profile = self.target.profile
        if profile and self.op.size_source not in profile.size_sources(self.op.schema):
            return [f"{self.op.type} with sizes of {self.op.size_source}"]
        return [
            f"a {' or '.join(families)} kernel for {self.dtype} ({self.op.type})"
            for attribute in self.op.schema.attributes
            if attribute.type == "kernel"
            and (families := self._families(attribute))
            and not self._preferred(attribute, families)
        ]

    def assign(self, overrides: Mapping[str, object]) -> None:
        """Sets the operator's kernels: the `overrides` by plan attribute, and the others by the
        rule.

        Requires that nothing is `missing`. PlanError if an override does not fit.
        """
        for attribute in self.op.schema.attributes:
            if attribute.type == "kernel":
                name = overrides.get(attribute.name)
                if name is not None:
                    self._check(attribute, str(name))
                elif self._families(attribute):
                    name = self._by_rule(attribute).name
                self.op.attributes[attribute.name] = name or ""

    def error(self) -> float:
        """The algorithm's rounding error beside that of the direct one (`rounding`); of integers
        the direct one has none.
        """
        if self.algorithm is None or not _is_inexact(type(self.algorithm)):
            return 1.0
        if is_integer(self.program, self.op.outputs[0]):
            return math.inf
        return cast(Inexact, self.algorithm).error(self.program, self.op)

    def min_cycles(self) -> float:
        """Cycles of the operator with the main kernel that the rule selects."""
        return self.cost_with(self._by_rule(self.op.schema.attribute("kernel"))).cycles

    def main_kernels(self) -> list[Kernel]:
        """The kernels that the rule chooses the main one from."""
        attribute = self.op.schema.attribute("kernel")
        return self._preferred(attribute, self._families(attribute))

    def cost(self) -> Cost:
        """Cost of the operator with its assigned kernel; NO_COST if it has no choice of
        algorithms.
        """
        return (
            self.cost_with(kernels.kernel(self.op.attributes["kernel"]))
            if self.algorithm
            else NO_COST
        )

    def cost_with(self, kernel: Kernel) -> Cost:
        """Cost of the operator with `kernel` as its main kernel; NO_COST if it has no choice of
        algorithms.
        """
        if self.algorithm is None:
            return NO_COST
        if kernel.name not in self._costs:
            work = self.algorithm.work(self.program, self.op, kernel, self.target)
            self._costs[kernel.name] = cost(
                self.program,
                self.op,
                work,
                kernel,
                self.target,
                self.constant_bytes,
                self.algorithm.name,
            )
        return self._costs[kernel.name]

    def _by_rule(self, attribute: Attribute) -> Kernel:
        """The kernel with the fewest cycles among those of the highest instruction set."""
        preferred = self._preferred(attribute, self._families(attribute))
        if attribute.name != "kernel":
            return min(preferred, key=lambda kernel: kernel.name)
        return min(preferred, key=lambda kernel: (self.cost_with(kernel).cycles, kernel.name))

    def _preferred(self, attribute: Attribute, families: tuple[str, ...]) -> list[Kernel]:
        """The kernels that fit one plan attribute, for the highest instruction set of the target
        that has any.
        """
        if attribute.name not in self._memo:
            ranked = self.target.ranked(families, self.dtype)
            fitting = (self._fitting(attribute, members) for members in ranked)
            self._memo[attribute.name] = next(filter(None, fitting), [])
        return self._memo[attribute.name]

    def _fitting(self, attribute: Attribute, members: Iterable[Kernel]) -> list[Kernel]:
        if self.algorithm is None:
            return [*members]
        fits = self.algorithm.fits
        return [kernel for kernel in members if fits(self.program, self.op, attribute, kernel)]

    def candidates(self, attribute: Attribute) -> list[Kernel]:
        """All kernels of the target that fit one plan attribute."""
        of_families = [
            self.target.families.get((family, self.dtype), ())
            for family in self._families(attribute)
        ]
        return self._fitting(attribute, itertools.chain(*of_families))

    def _families(self, attribute: Attribute) -> tuple[str, ...]:
        """The kernel families of a plan attribute; empty without a fused activation, and for an
        optional input that is absent.
        """
        owner = attribute.name.removesuffix("_kernel")
        if "@activation" in attribute.families:
            activation = self.op.attributes[owner]
            return schema.operator(activation).families if activation else ()
        if not attribute.optional or self.op.operand(owner):
            return attribute.families
        return ()

    def _check(self, attribute: Attribute, name: str) -> None:
        """PlanError with the reason if the kernel called `name` is not a candidate."""
        candidates = self.candidates(attribute)
        if name in {k.name for k in candidates}:
            return
        kernel = kernels.inventory().get(name)
        if kernel is None:
            reason = "there is no such kernel"
        elif kernel.family not in self._families(attribute):
            reason = f"it is of the family {kernel.family}, which does not compute this"
        elif kernel.dtype != self.dtype:
            reason = f"it computes in {kernel.dtype}, the operator in {self.dtype}"
        elif kernel.isa not in self.target.isas:
            reason = f"{self.target.name} cannot run {kernel.isa}"
        elif self.target.profile and kernel not in self.target.kernels():
            reason = f"the profile {self.target.profile.name} excludes it"
        else:
            reason = "it is for tiles of another size"
        raise PlanError(
            f"{attribute.name} cannot be {name!r}: {reason}",
            where=self._where,
            hint=f"use {', '.join(k.name for k in candidates) or 'none'}",
        )

    @cached_property
    def dtype(self) -> str:
        """The element type that the operator computes in."""
        return self.program.dtype(self.op)

    @property
    def _where(self) -> str:
        return f"operator {self.op.name} ({self.op.type})"


def best(family: str, dtype: str, target: Target) -> list[Kernel]:
    """The members of a family for the highest instruction set of `target` that has any."""
    ranked = target.ranked([family], dtype)
    return [*ranked[0]] if ranked else []


@cache
def _is_inexact(algorithm: type) -> bool:
    """Remembered, because Python compares a class with a protocol name by name."""
    return issubclass(algorithm, Inexact)
