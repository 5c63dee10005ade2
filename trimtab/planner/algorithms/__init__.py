"""Algorithms for operators with packed weights: one algorithm, with its variants, per module.

An algorithm is a module of this package with `ALGORITHMS`, a tuple of objects that implement
`Algorithm`; modules with a leading underscore are helpers. The module contains everything that is
specific to the algorithm: the operators that it computes, their work, the packing of their weights
and their kernel calls. The planner compares the algorithms by the cost model.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from trimtab import schema
from trimtab.errors import SchemaError
from trimtab.kernels import Kernel
from trimtab.program import Op, Program, attributes
from trimtab.schema import Attribute
from trimtab.target import Target

if TYPE_CHECKING:
    from trimtab.planner.cost import Work
    from trimtab.planner.kernel_calls import KernelCall
    from trimtab.planner.packing import Packing

DIRECT = "direct"
"""The fallback, which computes every operator with packed weights in float32 and float16."""


class Algorithm(Protocol):
    """One algorithm. Operators of a plan carry its kernels and block sizes as attributes."""

    @property
    def name(self) -> str:
        """The name in plan files."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Element types that it computes in."""

    @property
    def channel_invariant(self) -> bool:
        """True if channels with equal weights get bit-equal results."""

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Returns the operator that computes `op` with this algorithm, without kernels yet, or None
        if it is not applicable. `op` is unchanged.

        If the inputs of the result lie further back than those of `op`, it absorbs the operators in
        between, whose results nothing else may read.
        """

    def computes(self, op: Op) -> bool:
        """Whether an operator of a plan uses this algorithm."""

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Whether a kernel of one of the attribute's families can serve a lowered operator."""

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """The work of a lowered operator with `kernel` as its main kernel, absorbed operators
        included.
        """

    def block_sizes(self, program: Program, op: Op, target: Target) -> Mapping[str, int | bool]:
        """All block sizes of an operator, by plan attribute. Its kernels are assigned, and its
        operands have their final strides.
        """

    def packings(self, program: Program, op: Op) -> Mapping[int, Packing]:
        """Input index -> the packing of that constant for the operator's kernel."""

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """Yields (plan attribute, call, count) for the kernel calls of an operator of a plan."""


@runtime_checkable
class Inexact(Protocol):
    """An algorithm whose products or sums round otherwise than those of the direct one."""

    def error(self, program: Program, op: Op) -> float:
        """The root mean square of the rounding errors of a lowered float32 operator, divided by
        that of the direct algorithm.
        """


@cache
def registry() -> dict[str, Algorithm]:
    """All algorithms by name; SchemaError if two have the same name."""
    modules = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    result: dict[str, Algorithm] = {}
    for module in modules:
        for algorithm in importlib.import_module(f"{__name__}.{module}").ALGORITHMS:
            if algorithm.name in result:
                raise SchemaError(
                    f"there are two algorithms {algorithm.name}",
                    where=f"trimtab/planner/algorithms/{module}.py",
                    hint="rename one of them: plan files refer to algorithms by name",
                )
            result[algorithm.name] = algorithm
    return result


def names() -> tuple[str, ...]:
    """The names of all algorithms."""
    return tuple(registry())


def lower(program: Program, op: Op, target: Target) -> dict[str, Op]:
    """Algorithm name -> lowered operator, for each algorithm that can compute `op` on `target`."""
    dtype = program.dtype(op)
    lowered = {
        name: algorithm.lower(program, op, target)
        for name, algorithm in registry().items()
        if dtype in algorithm.dtypes
    }
    return {name: derived for name, derived in lowered.items() if derived is not None}


def algorithm_of(op: Op) -> Algorithm | None:
    """The algorithm of an operator of a plan, or None if the operator has no choice."""
    return next((a for a in registry().values() if a.computes(op)), None)


def derived_op(op: Op, type: str, **overrides: object) -> Op:
    """`op` as an operator of another type, with the attributes that both have and `overrides`."""
    operator, equal = schema.operator(type), _equal_attributes(op.type, type)
    common = {n: op.attributes[n] for n in operator.attributes_by_name if n in op.attributes}
    canonical = {n: common[n] for n in equal if n in common and n not in overrides}
    values = attributes.complete(operator, common | overrides, canonical=canonical)
    return Op(type, list(op.inputs), list(op.outputs), values, op.name)


@cache
def _equal_attributes(first: str, second: str) -> tuple[str, ...]:
    """The names of the attributes whose values in one operator are valid in the other."""
    of_first, of_second = (schema.operator(type).attributes_by_name for type in (first, second))
    return tuple(
        n for n in of_first if n in of_second and _has_same_values(of_first[n], of_second[n])
    )


def _has_same_values(attribute: Attribute, other: Attribute) -> bool:
    return replace(attribute, doc=other.doc, default=other.default, plan=other.plan) == other
