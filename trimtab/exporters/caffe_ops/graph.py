"""Construction of a Caffe network: its layers, their text and their weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import ExportModelError
from trimtab.exporters._emitters import Emitters
from trimtab.exporters._layers import FileLayer, LayerGraph, LayerOp, Results
from trimtab.importers.caffe_ops import weights
from trimtab.importers.caffe_ops.spec import ELTWISE, Spatial, message_of
from trimtab.program import Program, Var

Emit = Callable[["CaffeOp"], Results]
EMITTERS = Emitters[Emit](__name__, "Caffe")
emits = EMITTERS.emits


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r"})


# Layers that OpenCV merges with a Scale behind them.
MERGING = ("Convolution", "Deconvolution", "BatchNorm", "Scale", "InnerProduct")


class Word(str):
    """The name of a value of an enumeration, which has no quotes."""


class CaffeGraph(LayerGraph):
    """The layers of a network."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, EMITTERS)

    def add_input(self, name: str, var: Var) -> None:
        """Adds an Input layer."""
        if not var.shape or 0 in var.shape or var.dtype != "f32":
            raise ExportModelError(
                f"Caffe cannot have an input {var.dtype}{list(var.shape)}",
                where=f"input {var.name}",
                hint="its inputs are float32, with at least one dimension",
            )
        self.add("Input", [], [name], {"shape": {"dim": var.shape}})

    def build(self, op_class: type[LayerOp]) -> None:
        """Adds a Silence layer for results that no layer reads, so that they are no outputs."""
        super().build(op_class)
        if unread := self.unread():
            self.add("Silence", unread, [])

    def text(self) -> str:
        """The content of the .prototxt file."""
        lines = list(_lines({"name": self.program.name})) if self.program.name else []
        for layer in self.layers:
            lines += _lines({"layer": _message(layer)})
        return "\n".join([*lines, ""])

    def weights(self) -> bytes:
        """The content of the .caffemodel file."""
        net = weights.net_class()(name=self.program.name)
        size = sum(array.nbytes for layer in self.layers for array in layer.weights)
        if size > weights.LIMIT_BYTES:
            raise ExportModelError(
                f"the weights have {size:,} bytes, and the limit is {weights.LIMIT_BYTES:,}",
                where=self.program.name,
                hint="a protobuf message cannot be larger; convert to .param or .ttm",
            )
        for layer in self.layers:
            message = net.layer.add(name=layer.name, type=layer.type)
            message.bottom.extend(layer.bottoms)
            message.top.extend(layer.tops)
            for array in layer.weights:
                blob = message.blobs.add()
                blob.shape.dim.extend(array.shape)
                blob.data.append(np.asarray(array, "<f4").tobytes())
        return bytes(net.SerializeToString(deterministic=True))


def _message(layer: FileLayer) -> Mapping[str, Any]:
    head = {"name": layer.name, "type": layer.type, "bottom": layer.bottoms, "top": layer.tops}
    return head if layer.params is None else {**head, message_of(layer.type): layer.params}


def _lines(message: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """The fields of a message in the text format of protobuf; sequences are repeated fields."""
    for name, value in message.items():
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, Mapping):
                yield f"{indent}{name} {{"
                yield from _lines(item, indent + "  ")
                yield f"{indent}}}"
            else:
                yield f"{indent}{name}: {_scalar(item)}"


def _scalar(value: Any) -> str:
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, bool):
        return str(value).lower()
    return str(np.float32(value)) if isinstance(value, float) else str(int(value))


def pair(field: Spatial, values: Sequence[int]) -> dict[str, int]:
    """A vertical and a horizontal value as one field, or as two if they differ; none by default."""
    if values[0] == values[1]:
        return {} if values[0] == field.default else {field.name: values[0]}
    return {f"{field.stem}_h": values[0], f"{field.stem}_w": values[1]}


def word(enumeration: Mapping[str, str], value: str) -> Word:
    """Caffe's name of a value of an enumeration of `spec`."""
    return Word({engine: caffe for caffe, engine in enumeration.items()}[value])


class CaffeOp(LayerOp):
    """An operator during its export to Caffe."""

    def check(self, var: Var) -> None:
        """Refuses a tensor that is no blob of a result."""
        super().check(var)
        if not var.shape or 0 in var.shape:
            raise self.refusal(f"{var.name} has the shape {list(var.shape)}")

    def axis(self, axis: int) -> int:
        """A non-negative axis of the first operand."""
        return axis % len(self.shape())

    def power(self, x: str, scale: float = 1.0, shift: float = 0.0, power: float = 1.0) -> str:
        """Adds (shift + scale * x) ^ power."""
        values = {"power": (power, 1.0), "scale": (scale, 1.0), "shift": (shift, 0.0)}
        changed = {k: float(value) for k, (value, default) in values.items() if value != default}
        return self.add("Power", x, changed) if changed else x

    def eltwise(self, a: str, b: str, operation: str) -> str:
        """Adds an Eltwise of two blobs of the same shape: mul, add or max."""
        return self.add("Eltwise", [a, b], {"operation": word(ELTWISE, operation)})

    def scale(
        self, x: str, factor: NDArray[Any], axis: int, offset: NDArray[Any] | None = None
    ) -> str:
        """Adds a Scale by values for some dimensions of x from `axis` on.

        OpenCV multiplies the results of some layers by the values of a Scale behind them, whatever
        its axis is, unless there is a layer between both.
        """
        producers = [layer.type for layer in self.graph.layers if x in layer.tops]
        if any(kind in MERGING for kind in producers) and (axis, factor.ndim) != (1, 1):
            x = self.add("Split", x)
        params: dict[str, Any] = {} if axis == 1 else {"axis": axis}
        params |= {} if factor.ndim == 1 else {"num_axes": factor.ndim}
        params |= {} if offset is None else {"bias_term": True}
        values = [v.astype(np.float32) for v in (factor, offset) if v is not None]
        return self.add("Scale", x, params, values)

    def reshape(self, x: str, shape: Sequence[int], before: Sequence[int] = ()) -> str:
        """Adds a Reshape; the batch of `before` is copied if it stays."""
        dims = [0 if i == 0 and before[:1] == (n,) else n for i, n in enumerate(shape)]
        return self.add("Reshape", x, {"shape": {"dim": dims}})

    def permute(self, x: str, order: Sequence[int]) -> str:
        """Adds a Permute."""
        return self.add("Permute", x, {"order": list(order)})
