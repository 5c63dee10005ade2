"""The ONNX graph that is being made: nodes, constants, names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike
from onnx import helper, numpy_helper

from trimtab.errors import ExportModelError
from trimtab.program import Op, Program, Var
from trimtab.program.program import NUMPY_DTYPES

OPSET = 20  # the first with Gelu, and with Mish, HardSwish and axes of reductions as inputs


class Graph:
    """Nodes in the order of the program's operators, and what they need."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self._names = set(program.vars)

    def node(
        self,
        type: str,
        inputs: Sequence[str],
        outputs: Sequence[str] | str = "",
        **attributes: Any,
    ) -> str:
        """Appends a node and returns its first output: a new name where none is given."""
        named = [outputs or self.new_name(type)] if isinstance(outputs, str) else list(outputs)
        while inputs and not inputs[-1]:
            inputs = inputs[:-1]
        name = self.new_name(f"node_{named[0]}")
        self.nodes.append(helper.make_node(type, list(inputs), named, name, **attributes))
        return named[0]

    def constant(self, value: ArrayLike, dtype: str, hint: str = "constant") -> str:
        """Adds a constant of an element type of the engine and returns its name."""
        name = self.new_name(hint)
        array = np.asarray(value, NUMPY_DTYPES[dtype])
        self.initializers[name] = numpy_helper.from_array(array, name)
        return name

    def new_name(self, hint: str) -> str:
        """`hint`, with a number behind it when it is taken."""
        name, i = hint, 0
        while name in self._names:
            i += 1
            name = f"{hint}_{i}"
        self._names.add(name)
        return name

    def var(self, name: str) -> Var:
        """The variable of that name."""
        return self.program.vars[name]


Emit = Callable[[Graph, Op], None]
EMITTERS: dict[str, Emit] = {}


def emits(*types: str) -> Callable[[Emit], Emit]:
    """Declares what writes operators of these types."""

    def register(emit: Emit) -> Emit:
        EMITTERS.update(dict.fromkeys(types, emit))
        return emit

    return register


def refusal(op: Op, why: str) -> ExportModelError:
    """Why an operator cannot be written."""
    return ExportModelError(
        f"ONNX has nothing that does what this does: {why}",
        where=f"operator {op.name} ({op.type})",
        hint="./inv inspect shows the program; a network without this operator can be written",
    )
