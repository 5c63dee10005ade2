"""Ways to compute an operator whose weights are packed: one algorithm, in its variants, per module.

An algorithm is a module of this package with `ALGORITHMS`, a tuple of what `Algorithm` asks for;
modules with a leading underscore are helpers. All that is particular to it is there: which
operators it computes, what that takes, how weights are packed, what its kernels are called for. The
planner compares those that it finds.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Protocol

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
"""The algorithm that computes every operator of which there is a choice: what remains where none of
those that are allowed can."""


class Algorithm(Protocol):
    """One way to compute an operator. A plan's operators have its kernels in their attributes."""

    @property
    def name(self) -> str:
        """What plan files call it."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Element types that it computes in."""

    @property
    def channels_alike(self) -> bool:
        """True when channels of equal weights get equal results, to the last bit."""

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """The operator that computes `op` in this way, without kernels yet; None where it cannot.
        `op` stays as it is. With inputs that lie further back than those of `op` it computes what
        lies between, too, which nothing else may read.
        """

    def made(self, op: Op) -> bool:
        """Whether an operator of a plan is computed in this way."""

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Whether a kernel of one of the plan attribute's families can serve a lowered operator."""

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """What a lowered operator does when `kernel` computes its products, with all that it takes
        over from others.
        """

    def blocks(self, program: Program, op: Op, target: Target) -> Mapping[str, int | bool]:
        """The numbers of a plan, all of the operator's: how its work is cut for the caches. The
        operator has its kernels, its operands their places.
        """

    def packings(self, program: Program, op: Op) -> Mapping[int, Packing]:
        """Input index -> how that constant is packed for the kernel of an operator of a plan."""

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """(plan attribute, layer, how many times): what an operator of a plan calls kernels for."""


@cache
def found() -> dict[str, Algorithm]:
    """Every algorithm by its name; SchemaError when two have one name."""
    modules = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    result: dict[str, Algorithm] = {}
    for module in modules:
        for algorithm in importlib.import_module(f"{__name__}.{module}").ALGORITHMS:
            if algorithm.name in result:
                raise SchemaError(
                    f"there are two algorithms {algorithm.name}",
                    where=f"trimtab/planner/algorithms/{module}.py",
                    hint="plan files name them: give one of them another name",
                )
            result[algorithm.name] = algorithm
    return result


def names() -> tuple[str, ...]:
    """The names of all algorithms."""
    return tuple(found())


def lower(program: Program, op: Op, target: Target) -> dict[str, Op]:
    """The algorithms that can compute `op` on `target`, and the operator that each makes of it."""
    dtype = program.dtype(op)
    lowered = {
        name: algorithm.lower(program, op, target)
        for name, algorithm in found().items()
        if dtype in algorithm.dtypes
    }
    return {name: twin for name, twin in lowered.items() if twin is not None}


def of(op: Op) -> Algorithm | None:
    """The algorithm of an operator of a plan; None where there is no choice of any."""
    return next((algorithm for algorithm in found().values() if algorithm.made(op)), None)


def twin(op: Op, type: str, **own: object) -> Op:
    """`op` as an operator of another type, with the attributes that both have and some of its
    `own`.
    """
    operator = schema.operator(type)
    kept = {a.name: op.attributes[a.name] for a in operator.attributes if a.name in op.attributes}
    values = attributes.complete(operator, kept | own)
    return Op(type, list(op.inputs), list(op.outputs), values, op.name)
