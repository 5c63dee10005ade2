"""Which micro-kernel computes what: the rule of docs/planner.md, or what a plan says instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab import kernels, schema
from trimtab.errors import PlanError
from trimtab.kernels import Kernel
from trimtab.planner import concat_elision
from trimtab.planner.algorithms import Algorithm
from trimtab.planner.cost import NOTHING, Cost, cost
from trimtab.program import Op, Program
from trimtab.schema import Attribute
from trimtab.target import Target


@dataclass(frozen=True)
class KernelChoice:
    """The kernels that an operator may have on a target; `algorithm`: the one that it was lowered
    by, if there is a choice of any.
    """

    program: Program
    op: Op
    algorithm: Algorithm | None
    target: Target

    def missing(self) -> list[str]:
        """What the operator needs and the target has not, in words: itself, or kernels. One that
        may yet go (`parts`) needs nothing so far.
        """
        if not self.target.holds(self.op.type) and self.op.type not in concat_elision.PLACED:
            return [self.op.type]
        return [
            f"a {' or '.join(families)} kernel for {self._dtype} ({self.op.type})"
            for attribute in self.op.schema.attributes
            if attribute.type == "kernel"
            and (families := self._families(attribute))
            and not self._candidates(attribute)
        ]

    def choose(self, wanted: Mapping[str, object]) -> None:
        """Gives the operator its kernels: those that are `wanted`, by plan attribute, or by the
        rule.

        PlanError when a wanted kernel does not fit. None is `missing`.
        """
        for attribute in self.op.schema.attributes:
            if attribute.type == "kernel":
                name = wanted.get(attribute.name)
                if name is not None:
                    self._check(attribute, str(name))
                elif self._families(attribute):
                    name = self._by_rule(attribute).name
                self.op.attributes[attribute.name] = name or ""

    def least_cycles(self) -> float:
        """What the operator takes with the kernel that the rule chooses for its products."""
        return self._cost(self._by_rule(self.op.schema.attribute("kernel"))).cycles

    def cost(self) -> Cost:
        """What the operator takes with the kernel that it has; nothing where there is no choice of
        algorithms.
        """
        return (
            self._cost(kernels.kernel(self.op.attributes["kernel"])) if self.algorithm else NOTHING
        )

    def _cost(self, kernel: Kernel) -> Cost:
        if self.algorithm is None:
            return NOTHING
        work = self.algorithm.work(self.program, self.op, kernel, self.target)
        return cost(self.program, self.op, work, kernel, self.target)

    def _by_rule(self, attribute: Attribute) -> Kernel:
        """Of the best instruction set, the kernel that takes the fewest cycles."""
        preferred = _highest(self._candidates(attribute))
        if attribute.name != "kernel":
            return min(preferred, key=lambda kernel: kernel.name)
        return min(preferred, key=lambda kernel: (self._cost(kernel).cycles, kernel.name))

    def _candidates(self, attribute: Attribute) -> list[Kernel]:
        """All kernels of the target that can compute one plan attribute."""
        return [
            kernel
            for family in self._families(attribute)
            for kernel in _members(family, self._dtype, self.target)
            if self.algorithm is None
            or self.algorithm.fits(self.program, self.op, attribute, kernel)
        ]

    def _families(self, attribute: Attribute) -> tuple[str, ...]:
        """The families that can compute a plan attribute; none for an activation that is not
        fused, nor for what belongs to an input that is absent.
        """
        owner = attribute.name.removesuffix("_kernel")
        if "@activation" in attribute.families:
            activation = self.op.attributes[owner]
            return schema.operator(activation).families if activation else ()
        if not attribute.optional or self.op.operand(owner):
            return attribute.families
        return ()

    def _check(self, attribute: Attribute, wanted: str) -> None:
        """PlanError unless a kernel that is `wanted` can be had; says why it cannot."""
        candidates = self._candidates(attribute)
        if wanted in {k.name for k in candidates}:
            return
        known = kernels.inventory().get(wanted)
        if known is None:
            reason = "there is no such kernel"
        elif known.family not in self._families(attribute):
            reason = f"it is of the family {known.family}, which does not compute this"
        elif known.dtype != self._dtype:
            reason = f"it computes in {known.dtype}, the operator in {self._dtype}"
        elif known.isa not in self.target.isas:
            reason = f"{self.target.name} cannot run {known.isa}"
        elif self.target.profile and known not in self.target.kernels():
            reason = f"the profile {self.target.profile.name} leaves it out"
        else:
            reason = "it is for tiles of another size"
        raise PlanError(
            f"{attribute.name} cannot be {wanted!r}: {reason}",
            where=self._where,
            hint=f"use {', '.join(k.name for k in candidates) or 'none'}",
        )

    @property
    def _dtype(self) -> str:
        return self.program.dtype(self.op)

    @property
    def _where(self) -> str:
        return f"operator {self.op.name} ({self.op.type})"


def best(family: str, dtype: str, target: Target) -> list[Kernel]:
    """The members of a family for the highest instruction set of `target` that has any."""
    return _highest(_members(family, dtype, target))


def _members(family: str, dtype: str, target: Target) -> list[Kernel]:
    return [k for k in target.kernels() if (k.family, k.dtype) == (family, dtype)]


def _highest(members: list[Kernel]) -> list[Kernel]:
    ranks = {k.name: kernels.isas()[k.isa].rank for k in members}
    return [k for k in members if ranks[k.name] == max(ranks.values())]
