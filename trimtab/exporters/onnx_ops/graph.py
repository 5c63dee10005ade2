"""Construction of an ONNX graph: nodes, initializers, names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike
from onnx import helper, numpy_helper

from trimtab import schema
from trimtab.exporters._emitters import Emitters
from trimtab.program import Op, Program, Var
from trimtab.program.block import NUMPY_DTYPES

OPSET = 20  # the first with Gelu and with Mish, HardSwish and reduction axes as inputs


class OnnxGraph:
    """ONNX nodes in the order of the program's operators, and their initializers."""

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
        """Appends a node and returns the name of its first output; "" stands for a new name."""
        names = [outputs or self.new_name(type)] if isinstance(outputs, str) else list(outputs)
        while inputs and not inputs[-1]:
            inputs = inputs[:-1]
        name = self.new_name(f"node_{names[0]}")
        self.nodes.append(helper.make_node(type, list(inputs), names, name, **attributes))
        return names[0]

    def constant(self, value: ArrayLike, dtype: str, hint: str = "constant") -> str:
        """Adds an initializer of an engine dtype and returns its name."""
        name = self.new_name(hint)
        array = np.asarray(value, NUMPY_DTYPES[dtype])
        self.initializers[name] = numpy_helper.from_array(array, name)
        return name

    def new_name(self, hint: str) -> str:
        """A unique name: `hint`, with a number appended if it is already used."""
        name, i = hint, 0
        while name in self._names:
            i += 1
            name = f"{hint}_{i}"
        self._names.add(name)
        return name

    def var(self, name: str) -> Var:
        """The variable of that name."""
        return self.program.vars[name]


Emit = Callable[[OnnxGraph, Op], None]
EMITTERS = Emitters[Emit](__name__, "ONNX")
# Any other operator whose schema has `onnx` becomes one node of that name.
emits, refusal = EMITTERS.emits, EMITTERS.refusal


def attributes_of(operator: schema.Operator, values: Mapping[str, Any]) -> dict[str, Any]:
    """The operator's attributes as ONNX attributes: without those of the plan, bool as int."""
    own = {a.onnx or a.name: values[a.name] for a in operator.attributes if not a.plan}
    return {name: int(v) if isinstance(v, bool) else v for name, v in own.items()}


def emit(graph: OnnxGraph, op: Op) -> None:
    """Writes one operator; ExportModelError if ONNX cannot express it."""
    if emitter := EMITTERS.get(op.type):
        emitter(graph, op)
    elif op.schema.onnx:
        values = attributes_of(op.schema, op.attributes)
        graph.node(op.schema.onnx, op.inputs, op.outputs, **values)
    else:
        raise refusal(op, op.schema.doc.rstrip("."))
