"""Imports a TFLite model operator by operator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trimtab.errors import ImportModelError
from trimtab.importers._graph import Value
from trimtab.importers._inputs import Declared, Shapes, declared_inputs
from trimtab.importers._layer import ImportedLayer
from trimtab.importers._walk import NetworkImport
from trimtab.importers.tflite_ops.forms import Blocks, Form, Forms, value_of, with_value
from trimtab.importers.tflite_ops.model import DTYPES, TfliteModel, TfliteTensor, read
from trimtab.importers.tflite_ops.node import HANDLERS, TfliteNode
from trimtab.importers.vocabulary.quantization import dequantized, quantized
from trimtab.program import Program, Quantization, Var

_INPUT_DTYPES = {0: "f32", 2: "i32", 3: "u8", 4: "i64", 6: "bool", 9: "i8"}


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the model at `path`."""
    model = read(path)
    walk = TfliteImport(path, model)
    for index, shape in _inputs(path, model, inputs).items():
        tensor = model.tensors[index]
        walk.add_tensor(index, walk.add_input(tensor.name, shape, _INPUT_DTYPES[tensor.type]))
    for index, op in enumerate(model.operators):
        walk.add(TfliteNode(walk, op, index, model, walk.forms))
    outputs: dict[str, Hashable] = {}
    for index in dict.fromkeys(model.outputs):
        name = model.tensors[index].name
        outputs[f"{name}_{index}" if name in outputs else name] = index
    program = walk.finish(outputs)
    program.hints = model.hints
    return program


def _inputs(path: Path, model: TfliteModel, shapes: Shapes) -> dict[int, tuple[int, ...]]:
    """The shape of every input, by the index of its tensor."""
    indices = {model.tensors[i].name: i for i in model.inputs}
    if len(indices) != len(model.inputs):
        raise ImportModelError(
            "two inputs have the same name", where=str(path), hint="rename one and convert again"
        )
    for name, index in indices.items():
        if model.tensors[index].type not in _INPUT_DTYPES:
            raise ImportModelError(
                f"input '{name}' has element type number {model.tensors[index].type}",
                where=str(path),
                hint=f"it must be one of {', '.join(_INPUT_DTYPES.values())}",
            )
    declared = {name: _declared(model.tensors[i], shapes.get(name)) for name, i in indices.items()}
    complete = declared_inputs(declared, shapes, str(path), fixed=True)
    return {indices[name]: shape for name, shape in complete.items()}


def _declared(tensor: TfliteTensor, shape: Sequence[int] | None) -> Declared:
    """The declared shape; if the user gives one, the signature says which dimensions are free."""
    if shape is None and min(tensor.shape, default=1) > 0:
        return tensor.shape
    return [size if size > 0 else None for size in tensor.signature]


class TfliteImport(NetworkImport):
    """Values are tensors by index, in one of the forms of `forms.py`."""

    def __init__(self, path: Path, model: TfliteModel) -> None:
        super().__init__(path, HANDLERS, len(model.operators))
        self.model = model
        self.values |= {i: t.data for i, t in enumerate(model.tensors) if t.data is not None}
        self.forms = Forms(self.values)
        # Quantized tensors: `values` holds the dequantized tensor, `_stored` the quantized one.
        self._stored: dict[Hashable, Form] = {}

    def add_tensor(self, index: int, x: Value) -> None:
        """Binds an input of the program to a tensor."""
        name = self.model.tensors[index].name
        start = ImportedLayer(
            self, "input", f"{name}.real", [], [index], where=self.path, title=f"input '{name}'"
        )
        self.values[index] = x
        with self.layer(start.title, f"{self.path}: {start.title}"):
            if quantization := self._quantization(start, index):
                self._stored[index] = x
                self.values[index] = dequantized(start, x, quantization)

    def _quantization(self, layer: ImportedLayer, key: Hashable) -> Quantization | None:
        """The quantization of a computed tensor."""
        assert isinstance(key, int)
        quantization = self.model.tensors[key].quantization()
        if quantization is not None and quantization.axis is not None:
            raise layer.unsupported(f"its tensor '{layer.value_name(key)}' has several scales")
        return quantization

    def check_defined(self, layer: ImportedLayer) -> None:
        """Also rejects operators that write to constants. A constant that cannot be read makes its
        reader unsupported, also one without a handler.
        """
        for key in layer.inputs:
            if not isinstance(key, int) or self.is_defined(key):
                continue
            kind = self.model.tensors[key].type
            if layer.type not in HANDLERS:
                self.missing.add(key)
            elif kind not in DTYPES:
                self.missing.add(key)
                with self.layer(layer.title, layer.where):
                    name = layer.value_name(key)
                    raise layer.unsupported(f"its input '{name}' has element type number {kind}")
        super().check_defined(layer)
        if any(
            isinstance(i, int) and self.model.tensors[i].data is not None for i in layer.outputs
        ):
            raise ImportModelError(
                "it writes to a constant", where=layer.where, hint="convert the network again"
            )

    def bind(self, layer: ImportedLayer, results: Mapping[Hashable, Any], first_op: int) -> None:
        """Binds the results to tensors, rounded where a tensor is quantized."""
        self.forms.forget(layer.outputs)
        rounded = {key: self._rounded(layer, key, form) for key, form in results.items()}
        super().bind(layer, rounded, first_op)
        recent = {name for op in self.program.ops[first_op:] for name in op.outputs}
        for key in rounded:
            stored = value_of(self._stored[key]) if key in self._stored else None
            if isinstance(stored, Var):
                name = layer.value_name(key)
                exists = name in self.program.vars and name not in recent
                self.rename(stored, self.program.block.new_name(name) if exists else name)

    def _rounded(self, layer: ImportedLayer, key: Hashable, form: Form) -> Form:
        """A float result, quantized and dequantized again if its tensor is quantized."""
        quantization = None if key is None else self._quantization(layer, key)
        value = value_of(form)
        dtype = value.dtype
        is_float = dtype == "f32" if isinstance(dtype, str) else dtype.kind == "f"
        if quantization is None or not is_float:
            return form
        if isinstance(form, Blocks) and any(form.pads):
            return form  # the padding is not part of the value yet
        assert isinstance(key, int)
        to = _INPUT_DTYPES.get(self.model.tensors[key].type, "i16")
        if to not in ("i8", "u8"):
            raise layer.unsupported(f"its result is quantized to {to}, not i8 or u8")
        stored = quantized(layer, layer.value(value), quantization, to)
        self._stored[key] = with_value(form, stored)
        return with_value(form, layer.add("dequantize_linear", stored))

    def name(self, value: Any, name: str, first_op: int) -> None:
        """Names a tensor of the program; tensors of the file may share a name."""
        super().name(value_of(value), self.program.block.new_name(name), first_op)

    def result(self, key: Hashable, name: str) -> Value:
        """The tensor that leaves the program, in the file's form."""
        end = ImportedLayer(self, "output", "output", [key], [], where=self.path, title=name)
        if key in self._stored:
            y = self.operand(Forms(self._stored).plain(key, end), name)
            y.quantization = self._quantization(end, key)
            return y
        # Blocks with padding have the value of their tensor only in the file's layout.
        plain = self._rounded(end, key, self.forms.plain(key, end))
        stored = self._stored.get(key, plain)
        return self.operand(value_of(stored), name)
