"""A .tflite file in the making, by the classes that LiteRT's package has of the format's schema.

For the interpreter that has LiteRT: this imports no trimtab.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class File:
    """Tensors are known by their numbers."""

    def __init__(self) -> None:
        self._schema = importlib.import_module("ai_edge_litert.schema_py_generated")
        self._buffers = [self._schema.BufferT()]
        self._tensors: list[Any] = []
        self._operators: list[Any] = []
        self._codes: dict[int, Any] = {}

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: type,
        data: Array | None = None,
        steps: Sequence[float] | Array = (),
        zeros: Sequence[int] | Array = (),
        axis: int = 0,
    ) -> int:
        """A tensor, a constant one with `data`; `steps` and `zeros`: of its integers, along `axis`
        where there are several.
        """
        kind = getattr(self._schema.TensorType, np.dtype(dtype).name.upper())
        tensor = self._schema.TensorT(shape=np.array(shape, np.int32), type=kind, name=name)
        if data is not None:
            tensor.buffer = len(self._buffers)
            self._buffers.append(_aligned(self._schema, data))
        if len(steps):
            tensor.quantization = self._schema.QuantizationParametersT(
                scale=np.array(steps, np.float32),
                zeroPoint=np.array(zeros, np.int64),
                quantizedDimension=axis,
            )
        self._tensors.append(tensor)
        return len(self._tensors) - 1

    def constant(
        self, values: Array, steps: Sequence[float] = (), zeros: Sequence[int] = ()
    ) -> int:
        """A tensor of these values."""
        name = f"constant {len(self._tensors)}"
        return self.tensor(name, values.shape, values.dtype.type, values, steps, zeros)

    def numbers(self, values: Any) -> int:
        """A constant of shapes, axes and the like."""
        return self.constant(np.asarray(values, np.int32))

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        form: str = "",
        **options: Any,
    ) -> None:
        """An operator; `form`: of its options. Where these are names, they stand for the numbers
        that the schema has for them.
        """
        code = getattr(self._schema.BuiltinOperator, name)
        if code not in self._codes:
            made = self._schema.OperatorCodeT(min(code, 127), version=1, builtinCode=code)
            self._codes[code] = made
        operator = self._schema.OperatorT(list(self._codes).index(code), inputs, outputs)
        if form:
            enums = {
                "padding": self._schema.Padding,
                "fusedActivationFunction": self._schema.ActivationFunctionType,
            }
            fields = {k: getattr(enums[k], v) if k in enums else v for k, v in options.items()}
            operator.builtinOptionsType = getattr(self._schema.BuiltinOptions, f"{form}Options")
            operator.builtinOptions = getattr(self._schema, f"{form}OptionsT")(**fields)
        self._operators.append(operator)

    def content(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The whole file."""
        graph = self._schema.SubGraphT(self._tensors, inputs, outputs, self._operators)
        codes = list(self._codes.values())
        model = self._schema.ModelT(3, codes, [graph], buffers=self._buffers)
        builder = importlib.import_module("flatbuffers").Builder(1 << 20)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def _aligned(schema: Any, data: Array) -> Any:
    """A buffer that begins at a multiple of 16 bytes, as the format demands; the classes that are
    made of its schema do not heed that.
    """

    class Aligned(schema.BufferT):  # type: ignore[misc]
        def Pack(self, builder: Any) -> int:  # noqa: N802
            content = data.tobytes()
            builder.StartVector(1, len(content), 16)
            builder.head -= len(content)
            builder.Bytes[builder.head : builder.head + len(content)] = content
            vector = builder.EndVector()
            schema.BufferStart(builder)
            schema.BufferAddData(builder, vector)
            return int(schema.BufferEnd(builder))

    return Aligned()
