"""Block, Op and Var: tensors and operators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import schema
from trimtab.errors import ProgramError
from trimtab.program import attributes, shapes
from trimtab.program.quantization import Quantization

NUMPY_DTYPES: dict[str, str] = {
    "f32": "f4",
    "f16": "f2",
    "i8": "i1",
    "u8": "u1",
    "i32": "i4",
    "i64": "i8",
    "bool": "?",
    "f64": "f8",
    "i16": "i2",
    "u16": "u2",
    "u32": "u4",
}

_ELEMENT_BYTES = {name: np.dtype(code).itemsize for name, code in NUMPY_DTYPES.items()}

MAX_ELEMENTS = 2**27
"""The limit of elements per tensor: kMaxElements of runtime/core/tensor.h, which says why."""


def element_bytes(dtype: str) -> int:
    """Size in bytes of an element of that dtype."""
    return _ELEMENT_BYTES[dtype]


def dtype_of(array: NDArray[Any]) -> str:
    """The dtype of an array; ProgramError if the engine has no such type."""
    for name, code in NUMPY_DTYPES.items():
        if array.dtype == np.dtype(code):
            return name
    raise ProgramError(
        f"element type {array.dtype} is not supported", hint=f"use one of {', '.join(NUMPY_DTYPES)}"
    )


@dataclass
class Var:
    """A tensor. `shape` is logical (n, c, h, w); `layout` is the memory order of a 4-D tensor,
    "plain" or "nhwc".

    `data` has the elements of a constant: in `shape`, or, if `packed`, flat in the order in which a
    kernel reads them. In layout "nhwc" it still has the logical shape; the model file stores it in
    memory order.

    `parent` is the concatenated tensor that contains this one from `channel` on, "" if there is
    none; the planner decides that (`trimtab.planner.concat_elision`).

    `quantization` is None unless the tensor is quantized. `counted`: its sizes may depend on data,
    and `shape` has the largest ones; known where an importer or a pass makes operators.

    ProgramError if there are too many elements or the quantization is invalid; the check is
    repeated when the program is written.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "f32"
    layout: str = "plain"
    data: NDArray[Any] | None = field(default=None, repr=False)
    packed: bool = False
    parent: str = ""
    channel: int = 0
    quantization: Quantization | None = None
    counted: bool = False

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """ProgramError if the engine cannot have this tensor."""
        if any(d < 0 for d in self.shape) or math.prod(d or 1 for d in self.shape) > MAX_ELEMENTS:
            raise ProgramError(
                f"shape {list(self.shape)} is negative or too large",
                where=f"variable {self.name}",
                hint=f"a tensor has at most {MAX_ELEMENTS:,} elements",
            )
        if self.quantization is not None:
            self.quantization.check(self.name, self.shape, self.dtype)

    def copy(self) -> Var:
        """A copy, which has been checked already."""
        twin = object.__new__(Var)
        twin.__dict__.update(self.__dict__)
        return twin

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size of the elements in bytes."""
        return math.prod(self.shape) * _ELEMENT_BYTES[self.dtype]


@dataclass
class Op:
    """An operator: the name of its schema, the names of its operands ("": an absent optional input)
    and its attributes.
    """

    type: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    @property
    def schema(self) -> schema.Operator:
        """The operator's schema."""
        return schema.operator(self.type)

    @property
    def size_source(self) -> str:
        """The source of the sizes of the results, one of `schema.SIZE_SOURCES`."""
        ports = self.schema.size_ports
        if not ports:
            return "attributes"
        present = {s for s, i in ports.items() if i < len(self.inputs) and self.inputs[i]}
        return next((source for source in ("terms", "tensor") if source in present), "attributes")

    @property
    def counts(self) -> bool:
        """Whether the sizes of the results depend on data."""
        return self.schema.counts or self.size_source == "tensor"

    def operand(self, port: str) -> str:
        """The operand of the input `port`; "" if it is absent or the schema has no such input."""
        index = self.schema.input_indices.get(port, len(self.inputs))
        return self.inputs[index] if index < len(self.inputs) else ""


class Block:
    """Tensors by name, and operators in execution order."""

    def __init__(self) -> None:
        self.vars: dict[str, Var] = {}
        self.ops: list[Op] = []
        self._last: dict[str, str] = {}  # by stem, the name that `new_name` gave

    def copy(self) -> Block:
        """An independent copy; the arrays of constants are shared, because they never change."""
        twin = Block()
        twin.vars = {name: var.copy() for name, var in self.vars.items()}
        twin.ops = [
            Op(op.type, list(op.inputs), list(op.outputs), dict(op.attributes), op.name)
            for op in self.ops
        ]
        return twin

    def dtype(self, op: Op) -> str:
        """The dtype that an operator computes in: that of its first input, or of its output if it
        prepares a constant; "" without operands. It selects the kernels of a family.
        """
        decides = op.outputs[:1] if op.schema.prepares else op.inputs[:1]
        return self.vars[decides[0]].dtype if decides else ""

    def new_name(self, hint: str) -> str:
        """`hint`, with a number appended if the name already exists."""
        if hint and hint not in self.vars:
            return hint
        stem = f"{hint or 'var'}_"
        # The last one is seldom removed: a search from 0 would make long unrolled loops quadratic.
        last = self._last.get(stem, "")
        first = int(last.removeprefix(stem)) + 1 if last in self.vars else 0
        names = (f"{stem}{i}" for i in itertools.count(first))
        self._last[stem] = next(name for name in names if name not in self.vars)
        return self._last[stem]

    def add_constant(
        self,
        data: NDArray[Any],
        hint: str = "constant",
        quantization: Quantization | None = None,
    ) -> str:
        """Adds a constant and returns its name; ProgramError if `quantization` is invalid."""
        name = self.new_name(hint)
        data = np.asarray(data, order="C")  # ascontiguousarray would turn a scalar into a vector
        shape, dtype = tuple(data.shape), dtype_of(data)
        self.vars[name] = Var(name, shape, dtype, data=data, quantization=quantization)
        return name

    def make_op(
        self,
        type: str,
        inputs: Sequence[str],
        attrs: dict[str, Any] | None = None,
        outputs: Sequence[str] | int = 1,
        name: str = "",
    ) -> Op:
        """Creates an operator with complete attributes and adds its output tensors, whose shapes
        the engine infers.

        `attrs`: the attributes that differ from their defaults. `outputs`: names of the results, or
        their number. The caller inserts the operator into `ops`. ProgramError if inputs, attributes
        or shapes violate the operator's rules.
        """
        where = f"operator {name or type}"
        op_schema = schema.operator(type)
        values = attributes.complete(op_schema, attrs or {}, where)
        missing = [i for i in inputs if i and i not in self.vars]
        if missing:
            raise ProgramError(
                f"input {missing[0]!r} does not exist", where=where, hint="add the tensor first"
            )
        hints = list(outputs) if not isinstance(outputs, int) else [""] * outputs
        operands = [(self.vars[i].shape, self.vars[i].dtype) if i else None for i in inputs]
        results = shapes.infer(op_schema, operands, values, len(hints), where)
        op = Op(type, list(inputs), [], values)
        counted = op.counts or any(self.vars[name].counted for name in inputs if name)
        for hint, (shape, dtype) in zip(hints, results, strict=True):
            out = hint if hint and hint not in self.vars else self.new_name(hint or name or type)
            quantization = self._propagated_quantization(op_schema, inputs, dtype)
            self.vars[out] = Var(out, shape, dtype, quantization=quantization, counted=counted)
            op.outputs.append(out)
        op.name = name or (op.outputs[0] if op.outputs else type)
        return op

    def _propagated_quantization(
        self, op: schema.Operator, inputs: Sequence[str], dtype: str
    ) -> Quantization | None:
        """The common per-tensor quantization of the operands of an operator that only moves
        elements. The caller sets per-axis quantizations, because the axis may change.
        """
        operands = [self.vars[i] for i in inputs if i and self.vars[i].dtype == dtype]
        distinct = {var.quantization for var in operands} if op.takes_all_types else set()
        quantization = distinct.pop() if len(distinct) == 1 else None
        return quantization if quantization and quantization.axis is None else None

    def add_op(
        self,
        type: str,
        inputs: Sequence[str],
        attrs: dict[str, Any] | None = None,
        outputs: Sequence[str] | int = 1,
        name: str = "",
    ) -> list[str]:
        """Appends an operator (see `make_op`) and returns the names of its outputs."""
        op = self.make_op(type, inputs, attrs, outputs, name)
        self.ops.append(op)
        return op.outputs

    def producer(self, var: str) -> Op | None:
        """The operator that computes `var`; None for a graph input or a constant."""
        return next((op for op in self.ops if var in op.outputs), None)

    def consumers(self, var: str) -> list[Op]:
        """The operators that read `var`."""
        return [op for op in self.ops if var in op.inputs]

    def replace_uses(self, old: str, new: str) -> None:
        """Replaces `old` by `new` in the inputs of all operators."""
        for op in self.ops:
            op.inputs = [new if i == old else i for i in op.inputs]
