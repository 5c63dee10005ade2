"""Weights in the order in which kernels read them.

The layouts are those that kernels/kernel_api.h describes; the order of the taps is that in which
the engine's drivers (runtime/ops/window.h, conv_transpose.cpp) hand out pointers. Those that
several algorithms share are modules here, others stand with their algorithm.

What is packed with padding, or transformed, is larger than the weights. So it can also be made when
a model is set up, by an operator of the engine that `prepares` (docs/planner.md): then the file
holds the weights once, in an order that makes this cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import PlanError
from trimtab.planner.float16 import halved
from trimtab.planner.kernel_calls import KernelCall
from trimtab.program import Op, Program, Var, attributes
from trimtab.schema import operator
from trimtab.target import Target

Array = NDArray[Any]


@dataclass(frozen=True)
class Form:
    """An order of a constant's elements: `run` makes it, flat. Operators with equal keys share the
    constant.
    """

    key: tuple[Any, ...]
    run: Callable[[Array], Array]


@dataclass(frozen=True)
class Preparation:
    """How a constant is packed when a model is set up: by the operator of that name, of its
    `stored` form, which has every element once. `ready`: the stored form is the packed one already.
    `layers`: (kernel, layer, how many times), what that calls kernels for.
    """

    stored: Form
    operator: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    ready: bool = False
    layers: tuple[tuple[str, KernelCall, int], ...] = ()

    def is_done(self, stored: str, wanted: str) -> bool:
        """Whether no operator is needed for elements of type `stored`."""
        return self.ready and stored == wanted


@dataclass(frozen=True)
class Packing(Form):
    """How a constant operand is packed for a kernel. `at_load`: how the engine does it; None where
    only the file can hold it.
    """

    at_load: Preparation | None = None


@dataclass(frozen=True)
class Storage:
    """What the file holds of an operator's weights: those that the engine is yet to pack, if
    `at_load`, in elements of type `dtype`.
    """

    at_load: bool
    dtype: str = "f32"


class Packer:
    """Replaces constants of a program by packed ones, each made once: in the file, or, where the
    target holds it, by an operator of the engine.
    """

    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.target = target
        self.made: dict[tuple[Any, ...], str] = {}
        self.makers: list[Op] = []

    def pack(self, op: Op, packings: Mapping[int, Packing], storage: Storage) -> None:
        """Packs operands of `op`, by input index; PlanError when one is computed."""
        for index, packing in packings.items():
            if index >= len(op.inputs) or not op.inputs[index]:
                continue
            var = self.program.vars[op.inputs[index]]
            if var.data is None:
                raise PlanError(
                    f"input {op.schema.inputs[index].name} must be a constant",
                    where=f"operator {op.name} ({op.type})",
                    hint="mat_mul multiplies by computed operands",
                )
            op.inputs[index] = self._packed(var, packing, storage)

    def _packed(self, var: Var, packing: Packing, storage: Storage) -> str:
        prepared = packing.at_load
        if not storage.at_load or prepared is None or not self._holds(prepared, storage, var):
            return self._constant(var, packing, var.dtype)
        dtype = storage.dtype if var.dtype == "f32" else var.dtype
        stored = self._constant(var, prepared.stored, dtype)
        if prepared.is_done(dtype, var.dtype):
            return stored
        key = (stored, packing.key)
        if key not in self.made:
            name = self.program.block.new_name(f"{var.name}.packed")
            self.program.vars[name] = Var(name, var.shape, var.dtype, packed=True)
            values = attributes.complete(operator(prepared.operator), dict(prepared.attributes))
            self.makers.append(Op(prepared.operator, [stored], [name], values, name))
            self.made[key] = name
        return self.made[key]

    def _holds(self, prepared: Preparation, storage: Storage, var: Var) -> bool:
        kernel = prepared.attributes.get("kernel", "")
        dtype = storage.dtype if var.dtype == "f32" else var.dtype
        return prepared.is_done(dtype, var.dtype) or (
            self.target.holds(prepared.operator)
            and (not kernel or kernel in {k.name for k in self.target.kernels()})
        )

    def _constant(self, var: Var, form: Form, dtype: str) -> str:
        key = (var.name, form.key, dtype)
        if key not in self.made:
            assert var.data is not None
            data = form.run(np.asarray(var.data))
            if dtype != var.dtype:
                data = halved(data, var.name, "store this network's weights as f32")
            name = self.program.block.new_name(f"{var.name}.stored")
            self.program.vars[name] = Var(name, var.shape, dtype, data=data, packed=True)
            self.made[key] = name
        return self.made[key]

    def finish(self) -> None:
        """Puts the operators that pack before all others, where no tensor needs memory yet, and
        forgets the constants that nothing reads any more.
        """
        self.program.ops[:0] = self.makers
        used = {name for op in self.program.ops for name in op.inputs} | set(self.program.outputs)
        for var in list(self.program.constants()):
            if var.name not in used:
                del self.program.vars[var.name]
