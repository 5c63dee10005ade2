"""Weights in the order in which kernels read them.

The layouts are those that kernels/kernel_api.h describes; the order of the taps is that in which
the engine's drivers (runtime/ops/window.h, conv_transpose.cpp) hand out pointers. Those that
several algorithms share are modules here, others stand with their algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import PlanError
from trimtab.program import Op, Program, Var

Array = NDArray[Any]


@dataclass(frozen=True)
class Packing:
    """How a constant operand is packed; operators with equal keys share the packed constant."""

    key: tuple[Any, ...]
    run: Callable[[Array], Array]


class Packer:
    """Replaces constants of a program by packed ones, each packing of a constant made once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.made: dict[tuple[str, tuple[Any, ...]], str] = {}

    def pack(self, op: Op, packings: Mapping[int, Packing]) -> None:
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
            op.inputs[index] = self._packed(var, packing)

    def _packed(self, var: Var, packing: Packing) -> str:
        key = (var.name, packing.key)
        if key not in self.made:
            assert var.data is not None
            name = self.program.block.new_name(f"{var.name}.packed")
            data = packing.run(np.asarray(var.data))
            self.program.vars[name] = Var(name, var.shape, var.dtype, data=data, packed=True)
            self.made[key] = name
        return self.made[key]

    def remove_unused(self) -> None:
        """Forgets the constants that nothing reads any more."""
        used = {name for op in self.program.ops for name in op.inputs} | set(self.program.outputs)
        for var in list(self.program.constants()):
            if var.name not in used:
                del self.program.vars[var.name]
