"""Construction of an ncnn network: its layers, their text and their weights.

Format: ncnn, docs/developer-guide/param-and-model-file-structure.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trimtab.errors import ExportModelError
from trimtab.exporters._emitters import Emitters
from trimtab.exporters._layers import FileLayer, LayerGraph, LayerOp, Results
from trimtab.importers._param_text import MAGIC
from trimtab.importers.ncnn_ops.layer import NONE
from trimtab.importers.ncnn_ops.param import ARRAY_KEY
from trimtab.importers.ncnn_ops.spec import PARAMETERS, Parameter
from trimtab.importers.ncnn_ops.weights import FLOAT32
from trimtab.program import Program, Var

__all__ = ["NONE", "NcnnGraph", "NcnnOp", "emits", "raw", "tagged"]

_MAX_DIMENSIONS = 4
_MAX_NAME = 200  # ncnn reads 255 characters; the names of copies are longer

Emit = Callable[["NcnnOp"], Results]
EMITTERS = Emitters[Emit](__name__, "ncnn")
emits = EMITTERS.emits


def raw(values: ArrayLike) -> bytes:
    """Weights without a tag."""
    return np.asarray(values, "<f4").tobytes()


def tagged(values: ArrayLike) -> bytes:
    """Weights with a tag, for layers that also read other encodings."""
    return FLOAT32.to_bytes(4, "little") + raw(values)


def sizes(shape: Sequence[int]) -> dict[str, int]:
    """The parameters w, h, c, d of a blob; `shape` has no batch."""
    values = dict(zip(("w", "hw", "chw", "cdhw")[len(shape) - 1], shape, strict=True))
    return {name: values[name] for name in "whcd" if name in values}


def pair(stem: str, values: Sequence[int]) -> dict[str, int]:
    """The parameters for a vertical and a horizontal value."""
    return {f"{stem}_w": values[1], f"{stem}_h": values[0]}


def padding(pads: Sequence[int]) -> dict[str, int]:
    """The parameters for padding at the top, left, bottom and right."""
    top, left, bottom, right = pads
    return {"pad_left": left, "pad_top": top, "pad_right": right, "pad_bottom": bottom}


class NcnnGraph(LayerGraph):
    """The layers of a network."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, EMITTERS)

    def file_name(self, name: str) -> str:
        """A name without spaces, which separate the words of a line, and of limited length."""
        return re.sub(r"\s", "_", name)[:_MAX_NAME] or "blob"

    def add_input(self, name: str, var: Var) -> None:
        """Adds an Input layer with the shape of the blob."""
        if problem := _problem(var):
            raise ExportModelError(
                f"ncnn cannot have an input with {problem}",
                where=f"input {var.name}",
                hint="export the network for one image; or with a free batch, and convert it with "
                "--input NAME=1,C,H,W",
            )
        self.add("Input", [], [name], sizes(var.shape[1:]))

    def constant(self, var: Var) -> str | None:
        """Adds a MemoryData layer; constants without a batch get one."""
        shape = var.shape[1:] if len(var.shape) > 1 and var.shape[0] == 1 else var.shape
        return self.memory(var.name, var.data, shape)

    def memory(self, hint: str, values: ArrayLike | None, shape: Sequence[int]) -> str:
        """Adds a MemoryData layer with a blob of `shape`, which has no batch."""
        name = self.new_name(hint)
        self.add(
            "MemoryData",
            [],
            [name],
            sizes(shape or (1,)),
            [raw(values if values is not None else 0)],
        )
        return name

    def text(self) -> str:
        """The content of the .param file."""
        lines = [_line(layer) for layer in self._split()]
        blobs = len({top for layer in self._split() for top in layer.tops})
        return "\n".join([MAGIC, f"{len(lines)} {blobs}", *lines, ""])

    def weights(self) -> bytes:
        """The content of the .bin file."""
        return b"".join(data for layer in self.layers for data in layer.weights)

    def _split(self) -> list[FileLayer]:
        """The layers, with a Split for each blob that several layers read."""
        readers = Counter(blob for layer in self.layers for blob in layer.bottoms)
        copies = {
            blob: iter([self.file_name(f"{blob}_splitncnn_{i}") for i in range(count)])
            for blob, count in readers.items()
            if count > 1
        }
        result = []
        for layer in self.layers:
            bottoms = [next(copies[blob]) if blob in copies else blob for blob in layer.bottoms]
            result.append(FileLayer(layer.type, bottoms, layer.tops, layer.params, layer.weights))
            for top in layer.tops:
                if top in copies:
                    names = [f"{top}_splitncnn_{i}" for i in range(readers[top])]
                    result.append(FileLayer("Split", [top], names))
        return result


def _line(layer: FileLayer) -> str:
    params = (layer.params or {}).items()
    pairs = [_pair(PARAMETERS[layer.type][name], value) for name, value in params]
    counts = f"{len(layer.bottoms)} {len(layer.tops)}"
    name = layer.name if layer.type != "Split" else f"split_{layer.bottoms[0]}"
    return " ".join([layer.type, name, counts, *layer.bottoms, *layer.tops, *pairs])


def _pair(parameter: Parameter, value: Any) -> str:
    if isinstance(value, list | tuple):
        values = ",".join([str(len(value)), *map(_number, value)])
        return f"{ARRAY_KEY - parameter.number}={values}"
    value = parameter.values.index(value) if isinstance(value, str) else value
    return f"{parameter.number}={_number(value)}"


def _number(value: float) -> str:
    return f"{value:.8e}" if isinstance(value, float) else str(int(value))


def _problem(var: Var) -> str:
    """Why a tensor is no blob; "" if it is one."""
    if var.dtype != "f32":
        return f"elements of {var.dtype}"
    if len(var.shape) < 2 or len(var.shape) > _MAX_DIMENSIONS + 1:
        return f"{len(var.shape)} dimensions"
    return "" if var.shape[0] == 1 else f"a first dimension of {var.shape[0]}, not 1"


class NcnnOp(LayerOp):
    """An operator during its export to ncnn."""

    graph: NcnnGraph

    def check(self, var: Var) -> None:
        """Refuses a tensor that is no blob."""
        if var.data is None and (problem := _problem(var)):
            raise self.refusal(f"{var.name} has {problem}")
        super().check(var)

    def axis(self, axis: int, rank: int = 0) -> int:
        """The blob's axis for a tensor's axis, by default of the first operand."""
        axis %= rank or len(self.shape())
        if axis == 0:
            raise self.refusal("its axis is the batch, which ncnn lacks")
        return axis - 1

    def binary(self, function: str, a: str, b: str | float) -> str:
        """Adds a BinaryOp of two blobs, or of a blob and a number."""
        if isinstance(b, str):
            return self.add("BinaryOp", [a, b], {"op_type": function})
        return self.add("BinaryOp", a, {"op_type": function, "with_scalar": 1, "b": b})

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """Adds a Reshape to a tensor's shape."""
        if shape[:1] != (1,) or not 2 <= len(shape) <= _MAX_DIMENSIONS + 1:
            raise self.refusal(f"its result has the shape {list(shape)}, without a batch of 1")
        return self.add("Reshape", x, sizes(shape[1:]))
