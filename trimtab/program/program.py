"""Program, Block, Op and Var."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
}

# Most elements of a tensor: kMaxElements of runtime/core/tensor.h, which says why.
MAX_ELEMENTS = 2**27


def element_bytes(dtype: str) -> int:
    """Bytes of an element of that type."""
    return np.dtype(NUMPY_DTYPES[dtype]).itemsize


def dtype_of(array: NDArray[Any]) -> str:
    """The name of an array's element type; ProgramError when the engine has no such type."""
    for name, code in NUMPY_DTYPES.items():
        if array.dtype == np.dtype(code):
            return name
    raise ProgramError(
        f"element type {array.dtype} is not supported", hint=f"use one of {', '.join(NUMPY_DTYPES)}"
    )


@dataclass
class Var:
    """A tensor. `shape` is logical (n, c, h, w); `layout` is the memory order of a computed 4-D
    tensor, "plain" or "nhwc".

    `data` holds a constant's elements: in `shape`, or, when `packed`, flat in the order a kernel
    reads them. Data of a constant in layout "nhwc" keeps its logical shape here; the model file
    writes it in memory order.

    `parent` names the variable in whose pixels this one lies, from its `channel` on ("" when it
    lies alone); the planner decides that (`trimtab.planner.concat_elision`).

    `quantization` says what stored integers stand for; None: the elements are the numbers.

    ProgramError when there are too many elements or the quantization does not fit, here, and again
    when the program is written.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "f32"
    layout: str = "plain"
    data: NDArray[Any] | None = None
    packed: bool = False
    parent: str = ""
    channel: int = 0
    quantization: Quantization | None = None

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """ProgramError when the variable is none that the engine can have."""
        if any(d < 0 for d in self.shape) or math.prod(d or 1 for d in self.shape) > MAX_ELEMENTS:
            raise ProgramError(
                f"shape {list(self.shape)} is negative or too large",
                where=f"variable {self.name}",
                hint=f"a tensor has at most {MAX_ELEMENTS:,} elements",
            )
        if self.quantization is not None:
            self.quantization.check(self.name, self.shape, self.dtype)

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size of the elements in bytes."""
        return self.count * element_bytes(self.dtype)


@dataclass
class Op:
    """One step: an operator type (a schema's name), operand names ("" for an absent optional input)
    and attributes.
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

    def operand(self, port: str) -> str:
        """What the input of that name is given; "" where it is absent, or there is none."""
        names = [p.name for p in self.schema.inputs]
        index = names.index(port) if port in names else len(self.inputs)
        return self.inputs[index] if index < len(self.inputs) else ""


class Block:
    """Variables by name and operators in the order they run."""

    def __init__(self) -> None:
        self.vars: dict[str, Var] = {}
        self.ops: list[Op] = []

    def dtype(self, op: Op) -> str:
        """The element type that an operator computes in, that of its first input, or of what it
        prepares; "" without one. A family of kernels and this type are what the operator calls.
        """
        decides = op.outputs[:1] if op.schema.prepares else op.inputs[:1]
        return self.vars[decides[0]].dtype if decides else ""

    def new_name(self, hint: str) -> str:
        """`hint`, or `hint` with a number behind it when the name is taken."""
        if hint and hint not in self.vars:
            return hint
        return next(
            n for i in range(len(self.vars) + 1) if (n := f"{hint or 'var'}_{i}") not in self.vars
        )

    def add_constant(
        self,
        data: NDArray[Any],
        hint: str = "constant",
        quantization: Quantization | None = None,
    ) -> str:
        """Adds a constant and returns its name; ProgramError when `quantization` does not fit."""
        name = self.new_name(hint)
        data = np.asarray(data, order="C")  # ascontiguousarray would turn a scalar into a vector
        shape, dtype = tuple(data.shape), dtype_of(data)
        self.vars[name] = Var(name, shape, dtype, data=data, quantization=quantization)
        return name

    def make_op(
        self,
        type: str,
        inputs: Sequence[str],
        given: dict[str, Any] | None = None,
        outputs: Sequence[str] | int = 1,
        name: str = "",
    ) -> Op:
        """An operator with complete attributes, whose output variables are added with the shapes
        the engine infers.

        `outputs`: names for the results, or how many. The operator is not placed: append or insert
        it into `ops`. ProgramError when inputs, attributes or shapes break the operator's rules.
        """
        where = f"operator {name or type}"
        op_schema = schema.operator(type)
        values = attributes.complete(op_schema, given or {}, where)
        missing = [i for i in inputs if i and i not in self.vars]
        if missing:
            raise ProgramError(f"input {missing[0]!r} does not exist", where=where)
        wanted = list(outputs) if not isinstance(outputs, int) else [""] * outputs
        operands = [(self.vars[i].shape, self.vars[i].dtype) if i else None for i in inputs]
        results = shapes.infer(op_schema, operands, values, len(wanted), where)
        names = []
        for hint, (shape, dtype) in zip(wanted, results, strict=True):
            out = hint if hint and hint not in self.vars else self.new_name(hint or name or type)
            kept = self._kept(op_schema, inputs, dtype)
            self.vars[out] = Var(out, shape, dtype, quantization=kept)
            names.append(out)
        return Op(type, list(inputs), names, values, name or (names[0] if names else type))

    def _kept(self, op: schema.Operator, inputs: Sequence[str], dtype: str) -> Quantization | None:
        """What the results of an operator stand for that only moves elements: what its operands
        do, where those agree. An axis may be another one afterwards: whoever knows it says so.
        """
        operands = [self.vars[i] for i in inputs if i and self.vars[i].dtype == dtype]
        found = {var.quantization for var in operands} if op.takes_all_types else set()
        kept = found.pop() if len(found) == 1 else None
        return kept if kept and kept.axis is None else None

    def add_op(
        self,
        type: str,
        inputs: Sequence[str],
        given: dict[str, Any] | None = None,
        outputs: Sequence[str] | int = 1,
        name: str = "",
    ) -> list[str]:
        """Appends an operator (see `make_op`) and returns the names of its outputs."""
        op = self.make_op(type, inputs, given, outputs, name)
        self.ops.append(op)
        return op.outputs

    def producer(self, var: str) -> Op | None:
        """The operator that computes `var`; None for inputs and constants."""
        return next((op for op in self.ops if var in op.outputs), None)

    def consumers(self, var: str) -> list[Op]:
        """The operators that read `var`."""
        return [op for op in self.ops if var in op.inputs]

    def replace_uses(self, old: str, new: str) -> None:
        """Lets every operator that reads `old` read `new`."""
        for op in self.ops:
            op.inputs = [new if i == old else i for i in op.inputs]


@dataclass(frozen=True)
class _File:
    """A .ttm file that a program was read from: its bytes, inputs and outputs, and its block."""

    image: NDArray[np.uint8]
    borders: tuple[list[str], list[str]]
    decode: Callable[[], Block]


class Program:
    """A network: a block, its inputs and outputs by name, and where it came from.

    `source` is the program before optimization (None when this one is it); `target` names what a
    plan was made for, `threads` how many; `passes` lists the passes that have run, in their order.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._block = Block()
        self._file: _File | None = None
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.source: Program | None = None
        self.passes: list[str] = []
        self.target: str = ""
        self.threads: int = 1

    @property
    def block(self) -> Block:
        """Variables and operators; those of a file are decoded when they are first asked for."""
        if self._file:
            self._block, self._file = self._file.decode(), None
        return self._block

    @property
    def image(self) -> NDArray[np.uint8] | None:
        """The .ttm file that the program was read from, mapped, as long as it must say the same:
        nobody has asked for the block or named other inputs or outputs.
        """
        file = self._file
        return file.image if file and file.borders == (self.inputs, self.outputs) else None

    def read_from(self, image: NDArray[np.uint8], decode: Callable[[], Block]) -> None:
        """Makes this the program of a .ttm file with these inputs and outputs, whose block
        `decode` reads.
        """
        self._file = _File(image, (list(self.inputs), list(self.outputs)), decode)

    @property
    def vars(self) -> dict[str, Var]:
        """Variables of the block."""
        return self.block.vars

    @property
    def ops(self) -> list[Op]:
        """Operators of the block, in the order they run."""
        return self.block.ops

    @property
    def steps(self) -> list[Op]:
        """Those that every inference runs: the others prepare constants when a model is set up."""
        return [op for op in self.ops if not op.schema.prepares]

    def dtype(self, op: Op) -> str:
        """As `Block.dtype`."""
        return self.block.dtype(op)

    @property
    def planned(self) -> bool:
        """True when a planner has chosen kernels, so that the engine can run the program."""
        return bool(self.target)

    def add_input(self, name: str, shape: Iterable[int], dtype: str = "f32") -> str:
        """Adds an input; ProgramError when a dimension is not positive or the whole too large."""
        dims = tuple(int(d) for d in shape)
        if any(d <= 0 for d in dims):
            raise ProgramError(
                f"input shape {dims} has a dimension that is not positive", where=f"input {name}"
            )
        self.vars[name] = Var(name, dims, dtype)
        self.inputs.append(name)
        return name

    def constants(self) -> Iterator[Var]:
        """Variables with data."""
        return (v for v in self.vars.values() if v.data is not None)

    def copy(self) -> Program:
        """An independent copy; constants' arrays are shared, as nobody changes them in place."""
        twin = Program(self.name)
        twin.block.vars = {name: copy.copy(var) for name, var in self.vars.items()}
        twin.block.ops = [
            Op(op.type, list(op.inputs), list(op.outputs), dict(op.attributes), op.name)
            for op in self.ops
        ]
        twin.inputs, twin.outputs = list(self.inputs), list(self.outputs)
        twin.source, twin.passes = self.source, list(self.passes)
        twin.target, twin.threads = self.target, self.threads
        return twin

    def is_output(self, var: str) -> bool:
        """True when `var` leaves the program."""
        return var in self.outputs

    def sole_reader(self, var: str) -> Op | None:
        """The one operator that reads `var`; None where others do, or it leaves the program."""
        readers = self.block.consumers(var)
        return readers[0] if len(readers) == 1 and not self.is_output(var) else None

    def save(self, path: str | Path, names: bool = True) -> None:
        """Writes a .ttm file, whole or not at all; `names = False` leaves out operator and variable
        names.
        """
        from trimtab import modelfile

        modelfile.write(self, Path(path), names=names)
