"""An ONNX node during its import: attributes and operands."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trimtab.importers._attributes import AttributedLayer
from trimtab.importers._graph import ImportGraph, Operand, Value
from trimtab.importers._handlers import Handlers
from trimtab.importers.vocabulary.quantization import QuantizedConstant
from trimtab.program.block import NUMPY_DTYPES
from trimtab.schema import END_DTYPES

DTYPE_NAMES = {np.dtype(code).name: name for name, code in NUMPY_DTYPES.items()}
"""The engine's name of an element type by numpy's."""

HALVES = {"float16": "float32", "bfloat16": "float32"}
COMPUTED = HALVES | {
    np.dtype(NUMPY_DTYPES[own]).name: np.dtype(NUMPY_DTYPES[to]).name
    for own, to in END_DTYPES.items()
}
"""The type in which values of another type are computed, by numpy's name of that one. Constants of
`HALVES` get it at once; others when an operator reads them, so that folding is exact.
"""


def dtype_name(elem_type: int) -> str | None:
    """The engine's name of an ONNX element type; None if the engine has no such type."""
    try:
        return DTYPE_NAMES.get(helper.tensor_dtype_to_np_dtype(elem_type).name)
    except KeyError:
        return None


def type_name(elem_type: int) -> str:
    """The name of an ONNX element type, such as float64 or string."""
    try:
        return str(helper.tensor_dtype_to_np_dtype(elem_type).name).replace("object", "string")
    except KeyError:
        return f"number {elem_type}"


@dataclass
class OnnxContext:
    """The state that all nodes of a graph share.

    `versions` holds the opset of each domain; "" is that of the standard operators.
    `used` holds the names that nodes or outputs read, `read` those that nodes read. `stored` holds
    the quantized form of constants that `DequantizeLinear` dequantizes, by name. `bounds` holds the
    largest value of computed values, where it is known, and `narrow` the integer type in the file
    of those that are computed in a wider one.
    """

    versions: Mapping[str, int]
    used: set[Hashable] = field(default_factory=set)
    read: set[Hashable] = field(default_factory=set)
    stored: dict[Hashable, QuantizedConstant] = field(default_factory=dict)
    bounds: dict[Hashable, float] = field(default_factory=dict)
    narrow: dict[Hashable, str] = field(default_factory=dict)


class OnnxNode(AttributedLayer):
    """One node of a graph."""

    def __init__(
        self, graph: ImportGraph, context: OnnxContext, proto: onnx.NodeProto, index: int
    ) -> None:
        name = proto.name or next(filter(None, proto.output), f"{proto.op_type}_{index}")
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        self.opset, self.versions = context.versions[""], context.versions
        type = f"{self.domain}.{proto.op_type}" if self.domain else proto.op_type
        super().__init__(
            graph,
            type,
            name,
            [name or None for name in proto.input],
            [name or None for name in proto.output],
            where=f"{graph.path}: node '{name}' ({proto.op_type})",
            title=f"node '{name}': {type} (opset {self.opset})",
        )
        self._attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        self._context = context

    def attribute(self, name: str) -> Any:
        """The value of an attribute; None if it is absent."""
        return self._attributes.get(name)

    def parameters(self) -> Mapping[str, Any]:
        """All attributes; tensors become arrays."""
        return {
            name: numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
            for name, value in self._attributes.items()
        }

    def present(self, *names: str) -> dict[str, float]:
        """The float attributes that are present; the engine's defaults are those of ONNX."""
        return {name: self.real(name) for name in names if name in self._attributes}

    # Operands.

    def dtype(self, i: int) -> str:
        """The engine's name of the element type of input `i`."""
        operand = self.operand(i)
        if isinstance(operand, Value):
            return operand.dtype
        name = COMPUTED.get(operand.dtype.name, operand.dtype.name)
        if name not in DTYPE_NAMES:
            raise self.unsupported(f"input {i} has element type {name}")
        return DTYPE_NAMES[name]

    def floats(self, i: int, what: str) -> tuple[float, ...]:
        """A constant vector of floats."""
        return tuple(float(v) for v in self.known(i, what).reshape(-1))

    def optional_ints(self, i: int, what: str) -> tuple[int, ...]:
        """A constant vector of integers; empty if input `i` is absent."""
        return self.ints(i, what) if self.has(i) else ()

    def number(self, i: int, what: str) -> float:
        """A constant scalar."""
        return float(self.known(i, what).reshape(()))

    def uses_output(self, i: int) -> bool:
        """Whether anything reads output `i`."""
        return i < len(self.outputs) and self.outputs[i] in self._context.used

    def feeds_nodes(self, i: int) -> bool:
        """Whether other nodes read output `i`, rather than the network's user alone."""
        return i < len(self.outputs) and self.outputs[i] in self._context.read

    # Bounds of computed values.

    def note_bound(self, bound: float) -> None:
        """Records the largest value of the node's first output."""
        self._context.bounds[self.outputs[0]] = bound

    def bound(self, i: int) -> float | None:
        """The largest value that the elements of input `i` can have; None if it is not known."""
        operand = self.operand(i)
        if isinstance(operand, Value):
            return self._context.bounds.get(self.key(i))
        return float(operand.max()) if operand.size and operand.dtype.kind in "iuf" else None

    # Integers that are computed in wider types.

    def result(self, i: int) -> Operand | None:
        """The value of output `i`, once it is bound."""
        return self._graph.values.get(self.outputs[i])

    def note_narrow(self, i: int, dtype: str) -> None:
        """Records the type of output `i` in the file, which is computed in a wider one."""
        self._context.narrow[self.outputs[i]] = dtype

    def narrow(self, i: int) -> str | None:
        """The type of input `i` in the file if it is an integer computed in a wider type."""
        operand = self.operand(i)
        if isinstance(operand, Value):
            return self._context.narrow.get(self.key(i))
        dtype = DTYPE_NAMES.get(operand.dtype.name, "")
        return dtype if dtype in END_DTYPES and operand.dtype.kind in "iu" else None

    # Quantized constants.

    def note_stored(self, stored: QuantizedConstant) -> None:
        """Records the quantized form of the node's constant output."""
        self._context.stored[self.outputs[0]] = stored

    def stored(self, i: int) -> QuantizedConstant | None:
        """The quantized form of input `i`, if it is a quantized constant."""
        return self._context.stored.get(self.key(i)) if self.has(i) else None

    def zero_of(self, x: Value) -> Value:
        """A scalar 0 with the element type of `x`."""
        return self.value(np.zeros((), NUMPY_DTYPES[x.dtype]))


HANDLERS = Handlers[OnnxNode](__name__)
handles = HANDLERS.handles
