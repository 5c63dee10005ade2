"""Imports a TFLite model operator by operator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.importers._budget import MAX_EXPANDED
from trimtab.importers._graph import Array, Value
from trimtab.importers._inputs import Declared, Shapes, declared_inputs
from trimtab.importers._layer import ImportedLayer
from trimtab.importers._walk import NetworkImport
from trimtab.importers.tflite_ops.forms import Blocks, Complex, Form, Forms, value_of, with_value
from trimtab.importers.tflite_ops.model import (
    DTYPES,
    TfliteGraph,
    TfliteModel,
    TfliteTensor,
    read,
    reading,
    type_name,
)
from trimtab.importers.tflite_ops.node import HANDLERS, TfliteContext, TfliteNode
from trimtab.importers.tflite_ops.variables import Variable, Variables
from trimtab.importers.vocabulary.quantization import QuantizedConstant, dequantized, quantized
from trimtab.program import Program, Quantization, Var

_DETECTOR = "custom TFLite_Detection_PostProcess"

_MAX_NESTED = 16  # graphs within graphs

_I16, _I16_ENDS = 7, (-(2.0**15), 2.0**15 - 1)

_INPUT_DTYPES = {0: "f32", 2: "i32", 3: "u8", 4: "i64", 6: "bool", 7: "i16", 9: "i8"}


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the model at `path`."""
    model = read(path)
    graph, walk = model.graphs[0], TfliteImport(path, model)
    for index, shape in _inputs(path, graph, inputs).items():
        tensor = graph.tensors[index]
        walk.add_tensor(index, walk.add_input(tensor.name, shape, _INPUT_DTYPES[tensor.type]))
    for index, op in enumerate(graph.operators):
        walk.add(TfliteNode(walk, op, index, walk.context))
    outputs: dict[str, Hashable] = {}
    for index in dict.fromkeys(graph.outputs):
        name = graph.tensors[index].name
        outputs[f"{name}_{index}" if name in outputs else name] = index
    program = walk.finish(outputs)
    walk.context.variables.keep(walk)
    program.hints = model.hints
    if not program.hints.heads and [op.type for op in graph.operators[-1:]] == [_DETECTOR]:
        entry = "its last operator decodes boxes"
        program.hints = replace(program.hints, heads=("tflite_ssd",), entry=entry)
    return program


def _inputs(path: Path, model: TfliteGraph, shapes: Shapes) -> dict[int, tuple[int, ...]]:
    """The shape of every input, by the index of its tensor."""
    indices = {model.tensors[i].name: i for i in model.inputs}
    if len(indices) != len(model.inputs):
        raise ImportModelError(
            "two inputs have the same name", where=str(path), hint="rename one and convert again"
        )
    for name, index in indices.items():
        if model.tensors[index].type not in _INPUT_DTYPES:
            raise ImportModelError(
                f"input '{name}' has element type {type_name(model.tensors[index].type)}",
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
        super().__init__(path, HANDLERS, len(model.graphs[0].operators))
        self.model = model
        self.budget.add_stored(path.stat().st_size)
        self.forms = Forms(self.values)
        with reading(path):
            variables = Variables(model)
        self.context = TfliteContext([], self.forms, variables, self.inline)
        self._tensors = self.context.tensors
        self._nested = 0  # uses of graphs in graphs
        self._add_tensors(model.graphs[0])
        # Quantized tensors: `values` holds the dequantized tensor, `_stored` the quantized one.
        self._stored: dict[Hashable, Form] = {}

    def _add_tensors(self, graph: TfliteGraph) -> int:
        """Adds the tensors of a graph and its constants; returns the place of its first tensor."""
        begin = len(self._tensors)
        self._tensors.extend(graph.tensors)
        for i, tensor in enumerate(graph.tensors):
            if tensor.data is not None:
                self.values[begin + i] = _readable(tensor, tensor.data)
        return begin

    def inline(self, node: TfliteNode, number: int, keys: Sequence[Hashable]) -> tuple[int, ...]:
        """Adds the operators of a subgraph: see `TfliteContext`."""
        if not 0 <= number < len(self.model.graphs):
            raise node.invalid(f"it uses graph {number} of {len(self.model.graphs)}")
        graph = self.model.graphs[number]
        if self._nested > _MAX_NESTED:
            raise node.unsupported(f"more than {_MAX_NESTED} graphs are within one another")
        if not node.can_expand(count := len(graph.operators) + 1):
            raise node.unsupported(
                f"graphs within the network have more than {MAX_EXPANDED:,} operators, each counted"
                " as often as it runs"
            )
        self.budget.take_layers(count, node.where)
        if len(keys) != len(graph.inputs):
            raise node.invalid(f"it has {len(keys)} inputs, graph {number} {len(graph.inputs)}")
        begin = self._add_tensors(graph)
        for inner, outer in zip(graph.inputs, keys, strict=True):
            self.values[begin + inner] = self.values[outer]
            if outer in self._stored:
                self._stored[begin + inner] = self._stored[outer]
        self._nested += 1
        for index, op in enumerate(graph.operators):
            inputs, outputs = (
                tuple(i + begin if i >= 0 else i for i in indices)
                for indices in (op.inputs, op.outputs)
            )
            moved = replace(op, inputs=inputs, outputs=outputs)
            self.add(TfliteNode(self, moved, index, self.context, f" of graph {number}"))
        self._nested -= 1
        results = tuple(begin + i for i in graph.outputs)
        if any(key not in self.values or key in self.missing for key in results):
            raise node.unsupported(f"graph {number} has unsupported operators")
        return results

    def add_tensor(self, index: int, x: Value) -> None:
        """Binds an input of the program to a tensor."""
        name = self._tensors[index].name
        start = ImportedLayer(
            self, "input", f"{name}.real", [], [index], where=self.path, title=f"input '{name}'"
        )
        self.values[index] = x
        self.missing.add(index)
        with self.layer(start.title, f"{self.path}: {start.title}"):
            if self._tensors[index].type == _I16:
                scale = self._scale(start, index)
                whole = start.add("cast", x, to="f32" if scale else "i32")
                self.values[index] = start.scaled(whole, scale) if scale else whole
            elif quantization := self._quantization(start, index):
                self._stored[index] = x
                self.values[index] = dequantized(start, x, quantization)
            self.missing.discard(index)

    def _quantization(self, layer: ImportedLayer, key: Hashable) -> Quantization | None:
        """The quantization of a computed tensor."""
        assert isinstance(key, int)
        quantization = self._tensors[key].quantization()
        if quantization is not None and quantization.axis is not None:
            raise layer.unsupported(f"its tensor '{layer.value_name(key)}' has several scales")
        return quantization

    def _scale(self, layer: ImportedLayer, key: Hashable) -> float:
        """The scale of an int16 tensor; 0 if it has none."""
        quantization = self._quantization(layer, key)
        if quantization is None:
            return 0.0
        if quantization.zero_point[0] or quantization.scale[0] <= 0:
            raise layer.unsupported(f"its tensor '{layer.value_name(key)}' has a zero point")
        return quantization.scale[0]

    def check_defined(self, layer: ImportedLayer) -> None:
        """Also rejects operators that write to constants. A constant that cannot be read makes its
        reader unsupported, also one without a handler.
        """
        for key in layer.inputs:
            if not isinstance(key, int) or self.is_defined(key):
                continue
            kind, shape = self._tensors[key].type, self._tensors[key].shape
            if 0 in shape and kind in DTYPES:  # a constant without elements has no data
                self.values[key] = np.zeros(shape, DTYPES[kind])
                continue
            if layer.type not in HANDLERS:
                self.missing.add(key)
            elif kind not in DTYPES:
                self.missing.add(key)
                with self.layer(layer.title, layer.where):
                    name = layer.value_name(key)
                    raise layer.unsupported(
                        f"its input '{name}' has element type {type_name(kind)}"
                    )
        super().check_defined(layer)
        if any(isinstance(i, int) and self._tensors[i].data is not None for i in layer.outputs):
            raise ImportModelError(
                "it writes to a constant", where=layer.where, hint="convert the network again"
            )

    def bind(self, layer: ImportedLayer, results: Mapping[Hashable, Any], first_op: int) -> None:
        """Binds the results to tensors, rounded where a tensor is quantized; handles of variables
        and complex numbers are no values of the program.
        """
        kinds = (Variable, Complex)
        handles = {key: form for key, form in results.items() if isinstance(form, kinds)}
        self.values |= handles
        results = {key: form for key, form in results.items() if key not in handles}
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
        if self._tensors[key].type == _I16:
            # float32 holds its values exactly.
            scale = self._scale(layer, key)
            whole = layer.add("round", layer.scaled(layer.value(value), 1 / scale))
            whole = layer.add("clip", whole, alpha=_I16_ENDS[0], beta=_I16_ENDS[1])
            self._stored[key] = with_value(form, whole)
            return with_value(form, layer.scaled(whole, scale))
        to = _INPUT_DTYPES.get(self._tensors[key].type, "i32")
        if to not in ("i8", "u8"):
            raise layer.unsupported(f"its result is quantized to {to}, not i8 or u8")
        stored = quantized(layer, layer.value(value), quantization, to)
        self._stored[key] = with_value(form, stored)
        return with_value(form, layer.add("dequantize_linear", stored))

    def tensor(self, key: Hashable) -> Value | None:
        """The tensor of a value that an operator computes, in whatever form it has."""
        form = self.values.get(key)
        value = None if form is None or isinstance(form, (Variable, Complex)) else value_of(form)
        if not isinstance(value, Var) or not self.program.block.producer(value.name):
            return None
        return value

    def name(self, value: Any, name: str, first_op: int) -> None:
        """Names a tensor of the program; tensors of the file may share a name."""
        super().name(value_of(value), self.program.block.new_name(name), first_op)

    def result(self, key: Hashable, name: str) -> Value:
        """The tensor that leaves the program, in the file's form."""
        end = ImportedLayer(self, "output", "output", [key], [], where=self.path, title=name)
        if key in self._stored:
            y = self.operand(Forms(self._stored).plain(key, end), name)
            if isinstance(key, int) and self._tensors[key].type == _I16:
                return end.add("cast", y, to="i16")
            y.quantization = self._quantization(end, key)
            return y
        # Blocks with padding have the value of their tensor only in the file's layout.
        plain = self._rounded(end, key, self.forms.plain(key, end))
        if key in self._stored:
            return self.result(key, name)
        y = self.operand(value_of(self._stored.get(key, plain)), name)
        is_i16 = isinstance(key, int) and self._tensors[key].type == _I16 and y.dtype == "i32"
        return end.add("cast", y, to="i16") if is_i16 else y


def _readable(tensor: TfliteTensor, data: Array) -> Array:
    """A constant in a type that the engine has: int16 with a scale becomes float32."""
    if tensor.type != _I16:
        return data
    if tensor.quantization() is None:
        return data.astype(np.int32)
    quantization = tensor.quantization()
    assert quantization is not None
    return QuantizedConstant(data, quantization).values()
