"""Writes TFLite models with the accessors that are generated from the format's public schema."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import tflite
from flatbuffers import flexbuffers

from tests.ops.cases.case import Array

_TYPES = {
    "float32": 0,
    "float16": 1,
    "int32": 2,
    "uint8": 3,
    "int64": 4,
    "bool": 6,
    "int16": 7,
    "complex64": 8,
    "int8": 9,
    "resource": 13,
}


@dataclass(frozen=True)
class Sparsity:
    """The levels of a sparse tensor in the order of traversal: the size of a dense one, or the
    segments and indices of a compressed one.
    """

    order: Sequence[int]
    levels: Sequence[int | tuple[Sequence[int], Sequence[int]]]
    blocks: Sequence[int] = ()


@dataclass
class _Tensor:
    name: str
    shape: Sequence[int]
    type: int
    data: bytes
    signature: Sequence[int] = ()
    scales: Sequence[float] = ()
    zeros: Sequence[int] = ()
    axis: int = 0
    sparsity: Sparsity | None = None
    is_variable: bool = False


@dataclass
class Model:
    """A model under construction, or one of its `graphs`, counted from 1; a tensor is an index."""

    tensors: list[_Tensor] = field(default_factory=list)
    ops: list[tuple[str, Sequence[int], Sequence[int], str, dict[str, Any]]] = field(
        default_factory=list
    )
    feeds: list[Array] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    graphs: list[Model] = field(default_factory=list)

    def graph(self, graph: Model) -> int:
        """Adds a subgraph and returns its number."""
        self.graphs.append(graph)
        return len(self.graphs)

    def argument(self, *shape: int, dtype: str = "float32") -> int:
        """An input of a subgraph."""
        name = f"argument_{len(self.inputs)}"
        self.inputs.append(self._tensor(_Tensor(name, shape, _TYPES[dtype], b"")))
        return self.inputs[-1]

    def handle(self, name: str) -> int:
        """The handle of a variable."""
        fields = {"SharedName": name}
        return self.add("VAR_HANDLE", [], [()], "VarHandleOptions", "resource", **fields)[0]

    def read(self, name: str, *shape: int) -> int:
        """The value of a float32 variable."""
        handle = self.handle(name)
        return self.add("READ_VARIABLE", [handle], [shape], "ReadVariableOptions")[0]

    def assign(self, name: str, value: int) -> None:
        """Replaces the value of a variable."""
        self.add("ASSIGN_VARIABLE", [self.handle(name), value], [], "AssignVariableOptions")

    def _tensor(self, tensor: _Tensor) -> int:
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def quantized(
        self,
        tensor: int,
        scales: Sequence[float] | float,
        zeros: Sequence[int] | int,
        axis: int = 0,
    ) -> int:
        """Sets the quantization of a tensor; returns the index of the tensor."""
        source = self.tensors[tensor]
        source.scales = (scales,) if isinstance(scales, float) else scales
        source.zeros = (zeros,) * len(source.scales) if isinstance(zeros, int) else zeros
        source.axis = axis
        return tensor

    def input(self, value: Array, signature: Sequence[int] = ()) -> int:
        """An input and its value."""
        self.feeds.append(value)
        name = f"input_{len(self.inputs)}"
        tensor = _Tensor(name, value.shape, _TYPES[value.dtype.name], b"", signature)
        self.inputs.append(self._tensor(tensor))
        return self.inputs[-1]

    def constant(self, value: Any, scales: Sequence[float] = (), zeros: Sequence[int] = ()) -> int:
        """A constant; lists of integers are int32."""
        array = np.asarray(value, np.int32) if isinstance(value, (int, list)) else value
        name = f"constant_{len(self.tensors)}"
        data = np.ascontiguousarray(array).tobytes()
        type = _TYPES[array.dtype.name]
        return self._tensor(_Tensor(name, array.shape, type, data, (), scales, zeros))

    def variable(self, *shape: int) -> int:
        """A float32 variable."""
        name = f"variable_{len(self.tensors)}"
        return self._tensor(_Tensor(name, shape, _TYPES["float32"], b"", is_variable=True))

    def add(
        self,
        type: str,
        inputs: Sequence[int],
        shapes: Sequence[Sequence[int]],
        options: str = "",
        dtype: str = "float32",
        **fields: Any,
    ) -> list[int]:
        """An operator, whose results have `shapes`; returns their numbers. One that TFLite does not
        have is a custom one, with `fields` as a flexbuffer, or with the bytes `struct`.
        """
        names = [f"{type.lower()}_{len(self.tensors) + i}" for i in range(len(shapes))]
        indices = [
            self._tensor(_Tensor(n, s, _TYPES[dtype], b""))
            for n, s in zip(names, shapes, strict=True)
        ]
        self.ops.append((type, inputs, indices, options, fields))
        return indices

    def write(self, folder: Path) -> Path:
        """Writes net.tflite and returns its path."""
        path = folder / "net.tflite"
        path.write_bytes(self.bytes())
        return path

    def bytes(self) -> bytes:
        """The file."""
        b = flatbuffers.Builder(1024)
        buffers = [_table(b, "Buffer")]
        every = [self, *self.graphs]
        types = list(dict.fromkeys(op[0] for graph in every for op in graph.ops))
        graphs = [graph._table(b, types, buffers) for graph in every]
        codes = [
            _table(
                b,
                "OperatorCode",
                BuiltinCode=number,
                DeprecatedBuiltinCode=min(number, 127),
                **name,
            )
            for number, name in (_code(b, type) for type in types)
        ]
        model = _table(
            b,
            "Model",
            Version=3,
            Description=b.CreateString("a test"),
            OperatorCodes=_offsets(b, codes),
            Subgraphs=_offsets(b, graphs),
            Buffers=_offsets(b, buffers),
        )
        b.Finish(model, b"TFL3")
        return bytes(b.Output())

    def _table(self, b: Any, types: Sequence[str], buffers: list[int]) -> int:
        tensors = []
        for tensor in self.tensors:
            index = 0
            if tensor.data:
                b.StartVector(1, len(tensor.data), 16)
                b.head -= len(tensor.data)
                b.Bytes[b.head : b.head + len(tensor.data)] = tensor.data
                index = len(buffers)
                buffers.append(_table(b, "Buffer", Data=b.EndVector()))
            tensors.append(_tensor(b, tensor, index))
        ops = [_op(b, types.index(op[0]), *op[1:]) for op in self.ops]
        return _table(
            b,
            "SubGraph",
            Tensors=_offsets(b, tensors),
            Operators=_offsets(b, ops),
            Inputs=_ints(b, self.inputs),
            Outputs=_ints(b, self.outputs),
        )


def _table(b: Any, name: str, **fields: Any) -> int:
    module = importlib.import_module(f"tflite.{name}")
    getattr(module, f"{name}Start")(b)
    for key, value in fields.items():
        getattr(module, f"{name}Add{key}")(b, value)
    return int(getattr(module, f"{name}End")(b))


def _offsets(b: Any, values: Sequence[int]) -> int:
    b.StartVector(4, len(values), 4)
    for value in reversed(values):
        b.PrependUOffsetTRelative(value)
    return int(b.EndVector())


def _ints(b: Any, values: Sequence[int]) -> int:
    b.StartVector(4, len(values), 4)
    for value in reversed(values):
        b.PrependInt32(value)
    return int(b.EndVector())


def _floats(b: Any, values: Sequence[float]) -> int:
    b.StartVector(4, len(values), 4)
    for value in reversed(values):
        b.PrependFloat32(value)
    return int(b.EndVector())


def _tensor(b: Any, tensor: _Tensor, buffer: int) -> int:
    fields: dict[str, Any] = {"Name": b.CreateString(tensor.name), "Shape": _ints(b, tensor.shape)}
    if tensor.signature:
        fields["ShapeSignature"] = _ints(b, tensor.signature)
    if tensor.scales:
        b.StartVector(4, len(tensor.scales), 4)
        for scale in reversed(tensor.scales):
            b.PrependFloat32(scale)
        scales = b.EndVector()
        b.StartVector(8, len(tensor.zeros), 8)
        for zero in reversed(tensor.zeros):
            b.PrependInt64(zero)
        fields["Quantization"] = _table(
            b,
            "QuantizationParameters",
            Scale=scales,
            ZeroPoint=b.EndVector(),
            QuantizedDimension=tensor.axis,
        )
    if tensor.is_variable:
        fields["IsVariable"] = True
    if tensor.sparsity:
        fields["Sparsity"] = _sparsity(b, tensor.sparsity)
    return _table(b, "Tensor", Type=tensor.type, Buffer=buffer, **fields)


def _sparsity(b: Any, sparsity: Sparsity) -> int:
    dense, compressed, int32 = 0, 1, 1  # of the schema
    levels = []
    for level in sparsity.levels:
        if isinstance(level, int):
            fields: dict[str, Any] = {"Format": dense, "DenseSize": level}
        else:
            segments, indices = (_table(b, "Int32Vector", Values=_ints(b, v)) for v in level)
            types = {"ArraySegmentsType": int32, "ArrayIndicesType": int32}
            arrays = {"ArraySegments": segments, "ArrayIndices": indices}
            fields = {"Format": compressed, **types, **arrays}
        levels.append(_table(b, "DimensionMetadata", **fields))
    blocks = {"BlockMap": _ints(b, sparsity.blocks)} if sparsity.blocks else {}
    order = _ints(b, sparsity.order)
    return _table(
        b, "SparsityParameters", TraversalOrder=order, DimMetadata=_offsets(b, levels), **blocks
    )


def _code(b: Any, type: str) -> tuple[int, dict[str, Any]]:
    """The number of an operator, with the name of a custom one."""
    number = getattr(tflite.BuiltinOperator, type, None)
    if number is not None:
        return number, {}
    return tflite.BuiltinOperator.CUSTOM, {"CustomCode": b.CreateString(type)}


def _flexbuffer(fields: dict[str, Any]) -> bytes:
    """A map; whole numbers that need it have no sign."""
    b = flexbuffers.Builder()
    with b.Map():
        for key, value in fields.items():
            b.Key(key)
            (b.UInt if isinstance(value, int) and value >= 2**63 else b.Add)(value)
    return bytes(b.Finish())


def _field(b: Any, value: Any) -> Any:
    if isinstance(value, bytes):
        return b.CreateByteVector(value)
    if isinstance(value, list):
        return _ints(b, value) if isinstance(value[0], int) else _floats(b, value)
    return b.CreateString(value) if isinstance(value, str) else value


def _op(
    b: Any,
    code: int,
    inputs: Sequence[int],
    outputs: Sequence[int],
    options: str,
    fields: dict[str, Any],
) -> int:
    more = {}
    if options:
        values = {k: _field(b, v) for k, v in fields.items()}
        union = "BuiltinOptions2" if hasattr(tflite.BuiltinOptions2, options) else "BuiltinOptions"
        more = {
            f"{union}Type": getattr(getattr(tflite, union), options),
            union: _table(b, options, **values),
        }
    elif fields:
        encoded = fields["struct"] if "struct" in fields else _flexbuffer(fields)
        more = {"CustomOptions": b.CreateByteVector(encoded)}
    ins, outs = _ints(b, inputs), _ints(b, outputs)
    return _table(b, "Operator", OpcodeIndex=code, Inputs=ins, Outputs=outs, **more)
