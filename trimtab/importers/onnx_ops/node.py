"""What a handler sees of an ONNX node: its attributes, its operands, and how to add operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from trimtab import schema
from trimtab.errors import ImportModelError
from trimtab.program import Var
from trimtab.program.program import NUMPY_DTYPES

if TYPE_CHECKING:
    from trimtab.importers.onnx_ops.graph import GraphImport

Array = NDArray[Any]
Value = Var
Values = Value | Sequence[Value]
Handler = Callable[["Node"], Values]

HANDLERS: dict[str, Handler] = {}

# numpy's name of an element type: the engine's.
DTYPE_NAMES = {
    "float32": "f32",
    "float16": "f16",
    "int8": "i8",
    "uint8": "u8",
    "int32": "i32",
    "int64": "i64",
    "bool": "bool",
}


class UnsupportedFormError(Exception):
    """A node has a handler, which cannot express this form of it; collected, never shown alone."""


def handles(*op_types: str) -> Callable[[Handler], Handler]:
    """Registers the decorated function as the handler of these ONNX operators."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(op_types, handler))
        return handler

    return register


def dtype_name(elem_type: int) -> str | None:
    """The engine's name of an ONNX element type, if it has that type."""
    try:
        return DTYPE_NAMES.get(helper.tensor_dtype_to_np_dtype(elem_type).name)
    except KeyError:
        return None


class Node:
    """One ONNX node while it is imported."""

    def __init__(self, graph: GraphImport, proto: onnx.NodeProto, index: int) -> None:
        self._graph = graph
        self._proto = proto
        self._attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        self.op_type = proto.op_type
        self.opset = graph.opset
        self.name = proto.name or next(filter(None, proto.output), f"{proto.op_type}_{index}")
        self.where = f"{graph.path}: node '{self.name}' ({proto.op_type})"

    # Attributes, converted and with ONNX's default where the handler gives one.

    def _get(self, name: str, default: Any, convert: Callable[[Any], Any]) -> Any:
        value = self._attributes.get(name, default)
        if value is None:
            raise ImportModelError(f"it lacks the attribute '{name}'", where=self.where)
        try:
            return convert(value)
        except (TypeError, ValueError) as error:
            raise ImportModelError(f"attribute '{name}' is malformed", where=self.where) from error

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer attribute."""
        return int(self._get(name, default, int))

    def real(self, name: str, default: float | None = None) -> float:
        """A real attribute."""
        return float(self._get(name, default, float))

    def text(self, name: str, default: str | None = None) -> str:
        """A text attribute."""
        return str(self._get(name, default, lambda v: v.decode() if isinstance(v, bytes) else v))

    def integers(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        """A list attribute, empty by default."""
        return tuple(self._get(name, default, lambda v: tuple(map(int, v))))

    def reals(self, name: str) -> tuple[float, ...]:
        """A list attribute, empty by default."""
        return tuple(self._get(name, (), lambda v: tuple(map(float, v))))

    def given(self, *names: str) -> dict[str, Any]:
        """Those of the real attributes that the node has: the engine's defaults are ONNX's."""
        return {name: self.real(name) for name in names if name in self._attributes}

    # Operands.

    @property
    def input_count(self) -> int:
        """Inputs, counting those left out in the middle."""
        return len(self._proto.input)

    @property
    def output_count(self) -> int:
        """Outputs, counting those left out in the middle."""
        return len(self._proto.output)

    def has(self, i: int) -> bool:
        """Whether input `i` is there."""
        return i < self.input_count and bool(self._proto.input[i])

    def is_constant(self, i: int) -> bool:
        """Whether the value of input `i` is known now."""
        return self._input(i) in self._graph.constants

    def x(self, i: int) -> Value:
        """Input `i` as an operand of the engine, constant or computed."""
        return self._graph.value(self._input(i))

    def shape(self, i: int) -> tuple[int, ...]:
        """The shape of input `i`."""
        name = self._input(i)
        constant = self._graph.constants.get(name)
        return self._graph.value(name).shape if constant is None else constant.shape

    def dtype(self, i: int) -> str:
        """The engine's name of the element type of input `i`."""
        name = self._input(i)
        if name not in self._graph.constants:
            return self._graph.value(name).dtype
        numpy_name = self._graph.constants[name].dtype.name
        if numpy_name not in DTYPE_NAMES:
            raise self.unsupported(f"input {i} is of {numpy_name}")
        return DTYPE_NAMES[numpy_name]

    def constant(self, i: int, what: str) -> Array:
        """The value of input `i`, which must be known now; `what` is its role."""
        name = self._input(i)
        if name not in self._graph.constants:
            raise self.unsupported(f"its {what} must be constant")
        return self._graph.constants[name]

    def constant_ints(self, i: int, what: str) -> tuple[int, ...]:
        """A constant vector of integers."""
        return tuple(int(v) for v in self.constant(i, what).reshape(-1))

    def constant_floats(self, i: int, what: str) -> tuple[float, ...]:
        """A constant vector of real numbers."""
        return tuple(float(v) for v in self.constant(i, what).reshape(-1))

    def optional_ints(self, i: int, what: str) -> tuple[int, ...]:
        """A constant vector of integers, empty when input `i` is not there."""
        return self.constant_ints(i, what) if self.has(i) else ()

    def number(self, i: int, what: str) -> float:
        """A constant number."""
        return float(self.constant(i, what).reshape(()))

    def axis(self, axis: int, rank: int) -> int:
        """`axis` counted from the front."""
        if not -rank <= axis < rank:
            raise ImportModelError(f"axis {axis} is outside {rank} dimensions", where=self.where)
        return axis % rank

    def _input(self, i: int) -> str:
        if not self.has(i):
            raise ImportModelError(f"input {i} is missing", where=self.where)
        return str(self._proto.input[i])

    # What becomes of it.

    def uses_output(self, i: int) -> bool:
        """Whether anything reads output `i`."""
        return i < self.output_count and self._graph.is_used(self._proto.output[i])

    def only_first_output(self) -> None:
        """Refuses a node whose further outputs are used."""
        if extra := [name for name in self._proto.output[1:] if self._graph.is_used(name)]:
            raise self.unsupported(f"its further output '{extra[0]}' is used")

    def unsupported(self, reason: str) -> UnsupportedFormError:
        """The exception to raise when the engine cannot express this node."""
        return UnsupportedFormError(reason)

    def new_constant(self, value: Array | np.generic, role: str) -> Value:
        """A new constant operand."""
        return self._graph.add_constant(f"{self.name}.{role}", np.asarray(value))

    def add(self, op: str, *inputs: Value, **attributes: Any) -> Value:
        """Adds an operator with one output."""
        return self.add_many(op, *inputs, outputs=1, **attributes)[0]

    def add_many(
        self, op: str, *inputs: Value, outputs: int, **attributes: Any
    ) -> tuple[Value, ...]:
        """Adds an operator with several outputs."""
        allowed = schema.operator(op).dtypes
        if inputs and inputs[0].dtype not in allowed:
            raise self.unsupported(
                f"its operands are {inputs[0].dtype}, not {' or '.join(allowed)}"
            )
        return self._graph.add_op(self, op, inputs, outputs, attributes)

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """`x` in another shape of as many elements."""
        return x if tuple(shape) == x.shape else self.add("reshape", x, shape=tuple(shape))

    def scalar(self, value: float, role: str) -> Value:
        """A float32 constant without dimensions."""
        return self.new_constant(np.float32(value), role)

    def zero_of(self, x: Value) -> Value:
        """A constant 0 without dimensions, of the type of `x`."""
        return self.new_constant(np.zeros((), NUMPY_DTYPES[x.dtype]), "zero")
