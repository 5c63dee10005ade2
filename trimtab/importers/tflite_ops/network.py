"""The operators of a TFLite model in their order, one after the other into a program."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._inputs import Declared, declared_inputs
from trimtab.importers._layers import LayerImport, Value
from trimtab.importers.tflite_ops.forms import Blocks, Form, Forms, value_of, with_value
from trimtab.importers.tflite_ops.model import Model, Tensor, read
from trimtab.importers.tflite_ops.node import HANDLERS, Node
from trimtab.importers.vocabulary.quantization import dequantized, quantized
from trimtab.program import Program, Quantization, Var

if TYPE_CHECKING:
    from trimtab.importers import Shapes

_INPUT_DTYPES = {0: "f32", 2: "i32", 3: "u8", 4: "i64", 6: "bool", 9: "i8"}


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the model at `path`."""
    model = read(path)
    work = TensorImport(path, model)
    for index, shape in _inputs(path, model, inputs).items():
        tensor = model.tensors[index]
        work.add_tensor(index, work.add_input(tensor.name, shape, _INPUT_DTYPES[tensor.type]))
    for index, op in enumerate(model.operators):
        work.add(Node(work, op, index))
    outputs: dict[str, Hashable] = {}
    for index in dict.fromkeys(model.outputs):
        name = model.tensors[index].name
        outputs[f"{name}_{index}" if name in outputs else name] = index
    return work.finish(outputs)


def _inputs(path: Path, model: Model, given: Shapes) -> dict[int, tuple[int, ...]]:
    """The shape of every input, by the number of the tensor."""
    found = {model.tensors[i].name: i for i in model.inputs}
    if len(found) != len(model.inputs):
        raise ImportModelError("two inputs have one name", where=str(path))
    for name, index in found.items():
        if model.tensors[index].type not in _INPUT_DTYPES:
            raise ImportModelError(
                f"input '{name}' has element type number {model.tensors[index].type}",
                where=str(path),
                hint=f"it must be one of {', '.join(_INPUT_DTYPES.values())}",
            )
    declared = {name: _declared(model.tensors[i], given.get(name)) for name, i in found.items()}
    shapes = declared_inputs(declared, given, str(path), fixed=True)
    return {found[name]: shape for name, shape in shapes.items()}


def _declared(tensor: Tensor, given: Sequence[int] | None) -> Declared:
    """What the file says; its signature, when sizes are given, says which ones are free."""
    if given is None and min(tensor.shape, default=1) > 0:
        return tensor.shape
    return [size if size > 0 else None for size in tensor.signature]


class TensorImport(LayerImport):
    """Tensors are known by number, and stand for values in either of two forms."""

    def __init__(self, path: Path, model: Model) -> None:
        super().__init__(path, HANDLERS, len(model.operators))
        self.model = model
        self.values |= {i: t.data for i, t in enumerate(model.tensors) if t.data is not None}
        self.forms = Forms(self.values)
        # Of quantized tensors, `values` are the real numbers, and these the integers.
        self._stored: dict[Hashable, Form] = {}

    def add_tensor(self, index: int, x: Value) -> None:
        """Lets a tensor stand for an input."""
        name = self.model.tensors[index].name
        start = HandledLayer(
            self, "input", f"{name}.real", [], [index], where=self.path, title=f"input '{name}'"
        )
        self.values[index] = x
        with self.layer(start.title, f"{self.path}: {start.title}"):
            if quantization := self._quantization(start, index):
                self._stored[index] = x
                self.values[index] = dequantized(start, x, quantization)

    def _quantization(self, layer: HandledLayer, key: Hashable) -> Quantization | None:
        """What the integers of a computed tensor stand for."""
        assert isinstance(key, int)
        found = self.model.tensors[key].quantization()
        if found is not None and found.axis is not None:
            raise layer.unsupported(f"its tensor '{layer.value_name(key)}' has several scales")
        return found

    def check_defined(self, layer: HandledLayer) -> None:
        """Refuses operators that write to constants, besides."""
        super().check_defined(layer)
        if any(
            isinstance(i, int) and self.model.tensors[i].data is not None for i in layer.outputs
        ):
            raise ImportModelError("it writes to a constant", where=layer.where)

    def bind(self, layer: HandledLayer, results: Mapping[Hashable, Any], first_op: int) -> None:
        """Lets tensors stand for results, and for nothing else."""
        self.forms.forget(layer.outputs)
        made = {key: self._kept(layer, key, found) for key, found in results.items()}
        super().bind(layer, made, first_op)
        recent = {name for op in self.program.ops[first_op:] for name in op.outputs}
        for key in made:
            stored = value_of(self._stored[key]) if key in self._stored else None
            if isinstance(stored, Var):
                name = layer.value_name(key)
                taken = name in self.program.vars and name not in recent
                self.rename(stored, self.program.block.new_name(name) if taken else name)

    def _kept(self, layer: HandledLayer, key: Hashable, found: Form) -> Form:
        """Real numbers as a tensor keeps them: rounded, where it is quantized."""
        quantization = None if key is None else self._quantization(layer, key)
        value = value_of(found)
        is_real = value.dtype.kind == "f" if isinstance(value, np.ndarray) else value.dtype == "f32"
        if quantization is None or not is_real:
            return found
        if isinstance(found, Blocks) and any(found.pads):
            return found  # numbers that are not moved yet; padding has no integer
        assert isinstance(key, int)
        dtype = _INPUT_DTYPES.get(self.model.tensors[key].type, "i16")
        if dtype not in ("i8", "u8"):
            raise layer.unsupported(f"its result is quantized to {dtype}, not i8 or u8")
        stored = quantized(layer, layer.value(value), quantization, dtype)
        self._stored[key] = with_value(found, stored)
        return with_value(found, layer.add("dequantize_linear", stored))

    def name(self, value: Any, name: str, first_op: int) -> None:
        """Names an operand; tensors may share a name."""
        super().name(value_of(value), self.program.block.new_name(name), first_op)

    def result(self, key: Hashable, name: str) -> Value:
        """A tensor as the file has it."""
        end = HandledLayer(self, "output", "output", [key], [], where=self.path, title=name)
        if key not in self._stored:
            return self.operand(self.forms.plain(key, end), name)
        y = self.operand(Forms(self._stored).plain(key, end), name)
        y.quantization = self._quantization(end, key)
        return y
