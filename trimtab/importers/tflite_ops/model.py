"""Reads TFLite's flatbuffer with the `tflite` package.

The package trusts every offset and length of a file. This module is the only one that reads it: it
checks lengths against a budget, and turns any exception on a damaged file into one error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from trimtab.errors import ModelFileError, UnsupportedOperatorError
from trimtab.importers._files import read_bytes
from trimtab.importers._graph import Array
from trimtab.importers.tflite_ops import hints
from trimtab.importers.tflite_ops.sparse import flat_indices
from trimtab.program import ModelHints, Quantization

LIMIT_BYTES = 2**32

_MAX_DIMENSIONS = 8

# numpy's names of element types by TensorType.
DTYPES = {
    0: "<f4",
    1: "<f2",
    2: "<i4",
    3: "u1",
    4: "<i8",
    6: "?",
    7: "<i2",
    9: "i1",
    10: "<f8",
    15: "<u4",
}
_OTHERS = {
    5: "string",
    8: "complex64",
    11: "complex128",
    12: "uint64",
    13: "resource",
    14: "variant",
    16: "uint16",
    17: "int4",
    18: "bfloat16",
}

_QUANTIZED = (2, 3, 7, 9)  # int32, uint8, int16, int8

_CUSTOM = 32
_MAX_SPARSE_GROWTH = 64  # elements of a sparse constant per byte of the file
_PLACEHOLDER = 127  # the value of the old one-byte field for operators beyond its range


def type_name(number: int) -> str:
    """The name of an element type, for messages."""
    name = np.dtype(DTYPES[number]).name if number in DTYPES else f"number {number}"
    return _OTHERS.get(number, name)


@dataclass(frozen=True)
class TfliteTensor:
    """A tensor. `signature` has -1 for a free dimension; `data` is None unless it is constant.

    `scales`, `zeros` and `axis` are its quantization. A sparse constant is dense here.
    A variable has zeros as its data: each run begins with them.
    """

    name: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    type: int
    data: Array | None
    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int

    def quantization(self) -> Quantization | None:
        """The quantization, unchecked; None if the tensor is not quantized."""
        if not self.scales or self.type not in _QUANTIZED:
            return None
        axis = self.axis if len(self.scales) > 1 else None
        return Quantization.of(self.scales, self.zeros or 0, axis)


@dataclass(frozen=True)
class TfliteOperator:
    """An operator: operands by index (-1: absent). `table` has its options, `table2` those of newer
    operators, `custom` the encoded options of a custom operator.
    """

    type: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_type: int
    table: Any
    custom: bytes = b""
    options2_type: int = 0
    table2: Any = None


@dataclass(frozen=True)
class TfliteGraph:
    """A subgraph: its tensors, and its operators, inputs and outputs by their indices."""

    tensors: Sequence[TfliteTensor]
    operators: Sequence[TfliteOperator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class TfliteModel:
    """The subgraphs, of which the first is the network."""

    graphs: Sequence[TfliteGraph]
    hints: ModelHints


def read(path: Path) -> TfliteModel:
    """The model at `path`; ModelFileError if it is not a TFLite model."""
    data = read_bytes(path, LIMIT_BYTES)
    if data[4:8] != b"TFL3":
        raise ModelFileError(
            "is not a TFLite model: it lacks the identifier TFL3 at byte 4",
            where=str(path),
            hint="convert the network with tf.lite.TFLiteConverter",
        )
    with reading(path):
        return _ModelReader(data, str(path)).model()


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Converts what the accessors of the package raise on invalid offsets, which are many
    exceptions, to a ModelFileError; operators read their options under a guard of their own.
    """
    try:
        yield
    except UnsupportedOperatorError:
        raise
    except Exception as error:
        raise ModelFileError(
            f"is a damaged TFLite model, or truncated: {error}",
            where=f"{path}: {path.stat().st_size} bytes",
            hint="convert it or copy it again",
        ) from error


@cache
def _names() -> dict[int, str]:
    """The names of the builtin operators by number."""
    members = vars(tflite.BuiltinOperator).items()
    return {n: name for name, n in members if isinstance(n, int) and not name.startswith("_")}


class _ModelReader:
    def __init__(self, data: bytes, path: str) -> None:
        self._data, self._path = data, path
        # The vectors of a valid file do not overlap: their total size is limited by the file.
        self._budget = len(data)
        self._arrays: dict[tuple[int, int, tuple[int, ...]], Array | None] = {}

    def _count(self, length: int, size: int = 4) -> int:
        self._budget -= length * size
        if length < 0 or self._budget < 0:
            raise ValueError(f"a list of {length} elements does not fit into it")
        return length

    def _numbers(self, table: Any, name: str) -> tuple[int, ...]:
        count = self._count(getattr(table, f"{name}Length")())
        read = getattr(table, name)
        return tuple(int(read(i)) for i in range(count))

    def _tables(self, table: Any, name: str) -> list[Any]:
        count = self._count(getattr(table, f"{name}Length")())
        read = getattr(table, name)
        return [read(i) for i in range(count)]

    def model(self) -> TfliteModel:
        model = tflite.Model.GetRootAs(self._data, 0)
        codes = [self._code(code) for code in self._tables(model, "OperatorCodes")]
        buffers = self._tables(model, "Buffers")
        graphs = [self._graph(g, codes, buffers) for g in self._tables(model, "Subgraphs")]
        if not graphs:
            raise ValueError("it has no graph")
        shapes = [graphs[0].tensors[i].shape for i in graphs[0].inputs[:1]]
        is_last = any(len(shape) == 4 and shape[3] in (1, 3) for shape in shapes)
        return TfliteModel(graphs, hints.read(self._data, channels_last=is_last))

    def _graph(self, graph: Any, codes: list[str], buffers: list[Any]) -> TfliteGraph:
        tensors = [
            self._tensor(t, i, buffers) for i, t in enumerate(self._tables(graph, "Tensors"))
        ]
        operators = [self._operator(op, codes) for op in self._tables(graph, "Operators")]
        inputs, outputs = self._numbers(graph, "Inputs"), self._numbers(graph, "Outputs")
        used = [i for op in operators for i in (*op.inputs, *op.outputs)]
        invalid = [i for i in used if not -1 <= i < len(tensors)]
        invalid += [i for i in (*inputs, *outputs) if not 0 <= i < len(tensors)]
        if invalid:
            raise ValueError(f"tensor {invalid[0]} is used, it has {len(tensors)}")
        return TfliteGraph(tensors, operators, inputs, outputs)

    def _code(self, code: Any) -> str:
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        if number == _CUSTOM:
            return f"custom {self._text(code.CustomCode())}"
        return _names().get(number, f"number {number}")

    def _text(self, value: bytes | None) -> str:
        self._count(len(value or b""), 1)
        return (value or b"").decode("utf-8", errors="replace")

    def _tensor(self, tensor: Any, index: int, buffers: list[Any]) -> TfliteTensor:
        shape = self._numbers(tensor, "Shape")
        signature = self._numbers(tensor, "ShapeSignature") or shape
        if max(len(shape), len(signature)) > _MAX_DIMENSIONS:
            raise ValueError(f"tensor {index} has {len(shape)} dimensions")
        quantization = tensor.Quantization()
        scales: tuple[float, ...] = ()
        zeros: tuple[int, ...] = ()
        axis = 0
        if quantization is not None:
            count = self._count(quantization.ScaleLength())
            scales = tuple(float(quantization.Scale(i)) for i in range(count))
            zeros = self._numbers(quantization, "ZeroPoint")
            axis = int(quantization.QuantizedDimension())
        name = self._text(tensor.Name()) or f"tensor_{index}"
        type = int(tensor.Type())
        if sparsity := tensor.Sparsity():
            data = self._sparse(tensor.Buffer(), type, shape, buffers, sparsity)
        else:
            data = self._buffer(tensor.Buffer(), type, shape, buffers)
        if tensor.IsVariable() and data is None and type in DTYPES:
            self._count(math.prod(shape), 1)
            data = np.zeros(shape, DTYPES[type])
        return TfliteTensor(name, shape, signature, type, data, scales, zeros, axis)

    def _buffer(
        self, index: int, type: int, shape: tuple[int, ...], buffers: list[Any]
    ) -> Array | None:
        """The elements of a constant; None for a computed tensor or an unsupported type."""
        key = (index, type, shape)
        if key not in self._arrays:
            self._arrays[key] = self._array(index, type, shape, buffers)
        return self._arrays[key]

    def _sparse(
        self, index: int, type: int, shape: tuple[int, ...], buffers: list[Any], sparsity: Any
    ) -> Array | None:
        """The elements of a sparse constant; ValueError if its form is damaged, or its shape is of
        many more bytes than the file.
        """
        if min(shape, default=1) < 0 or type not in DTYPES:
            return None
        if math.prod(shape) > _MAX_SPARSE_GROWTH * len(self._data):
            raise ValueError(f"a sparse tensor of shape {list(shape)} is out of proportion")
        positions = flat_indices(sparsity, shape)
        elements = self._buffer(index, type, (positions.size,), buffers)
        if elements is None:
            return None
        data = np.zeros(math.prod(shape), elements.dtype)
        data[positions] = elements
        return data.reshape(shape)

    def _array(
        self, index: int, type: int, shape: tuple[int, ...], buffers: list[Any]
    ) -> Array | None:
        if not 0 <= index < len(buffers):
            raise ValueError(f"buffer {index} is used, it has {len(buffers)}")
        buffer = buffers[index]
        length = buffer.DataLength()
        if length:
            data = memoryview(buffer.DataAsNumpy().tobytes())
        elif buffer.Offset() > 1:
            # Models of more than 2 GB have their buffers after the flatbuffer.
            length = buffer.Size()
            data = memoryview(self._data)[buffer.Offset() : buffer.Offset() + length]
        if not length or type not in DTYPES:
            return None
        dtype = np.dtype(DTYPES[type])
        if min(shape, default=1) < 0 or math.prod(shape) * dtype.itemsize != len(data):
            raise ValueError(
                f"a constant of shape {list(shape)} takes {math.prod(shape) * dtype.itemsize}"
                f" bytes, buffer {index} has {len(data)}"
            )
        return np.frombuffer(data, dtype).reshape(shape)

    def _operator(self, op: Any, codes: list[str]) -> TfliteOperator:
        code = op.OpcodeIndex()
        if not 0 <= code < len(codes):
            raise ValueError(f"operator code {code} is used, it has {len(codes)}")
        return TfliteOperator(
            codes[code],
            self._numbers(op, "Inputs"),
            self._numbers(op, "Outputs"),
            int(op.BuiltinOptionsType()),
            op.BuiltinOptions(),
            b"" if op.CustomOptionsIsNone() else op.CustomOptionsAsNumpy().tobytes(),
            int(op.BuiltinOptions2Type()),
            op.BuiltinOptions2(),
        )


def options(operator: TfliteOperator, name: str) -> Any:
    """The options of an operator as the class `name` of the package; None if it has no such."""
    is_new = hasattr(tflite.BuiltinOptions2, name)
    union = operator.table2 if is_new else operator.table
    kind = operator.options2_type if is_new else operator.options_type
    numbers = tflite.BuiltinOptions2 if is_new else tflite.BuiltinOptions
    if union is None or kind != getattr(numbers, name):
        return None
    table = getattr(tflite, name)()
    table.Init(union.Bytes, union.Pos)
    return table


def all_options(operator: TfliteOperator) -> dict[str, Any]:
    """The options of an operator by the names of TFLite's schema; vectors become lists."""
    types = {number: name for name, number in vars(tflite.BuiltinOptions).items()}
    table = options(operator, types[operator.options_type])
    accessors = {name for name in vars(type(table)) if name[0].isupper()} - {"Init", "GetRootAs"}
    accessors = {name for name in accessors if type(table).__name__ not in name}
    values = {}
    for name in sorted(accessors):
        # A vector has three more accessors: AsNumpy, Length and IsNone.
        if f"{name}AsNumpy" in accessors:
            is_none = getattr(table, f"{name}IsNone")()
            values[_snake(name)] = [] if is_none else getattr(table, f"{name}AsNumpy")().tolist()
        elif not name.endswith(("AsNumpy", "Length", "IsNone")):
            values[_snake(name)] = getattr(table, name)()
    return values


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
