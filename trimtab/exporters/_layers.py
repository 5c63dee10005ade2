"""Construction of a network that consists of layers with named blobs, such as Caffe's and ncnn's.

An emitter gets a `LayerOp`, adds layers to its graph, and returns the blobs of its results. The
last layer of each result then gets the name of the program's tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import ExportModelError
from trimtab.exporters._emitters import Emitters
from trimtab.program import Op, Program, Var

Array = NDArray[np.float32]
Results = str | tuple[str, ...]
"""The blob of an operator's result, or the blobs of all its results."""


@dataclass
class FileLayer:
    """A layer of the file. Its name is that of its first top; `params` is None if it has none."""

    type: str
    bottoms: list[str]
    tops: list[str]
    params: Mapping[str, Any] | None = None
    weights: Sequence[Any] = ()

    @property
    def name(self) -> str:
        """The name of the layer."""
        return self.tops[0] if self.tops else self.type


class LayerGraph:
    """The layers of a network, and the blob of each tensor of the program."""

    def __init__(self, program: Program, emitters: Emitters[Any]) -> None:
        self.program = program
        self.emitters = emitters
        self.layers: list[FileLayer] = []
        self.blobs: dict[str, str] = {}
        self._names: set[str] = set()
        self._inputs = 0  # the layers of the network's inputs
        self._last_output = -1  # the layer of the last output

    def file_name(self, name: str) -> str:
        """The name of a tensor in the form that the format permits."""
        return name

    def build(self, op_class: type[LayerOp]) -> None:
        """Adds the inputs, the layers of every operator, and the outputs.

        ExportModelError lists all operators that the format cannot express.
        """
        program = self.program
        # The names that users see come first, so that no other blob takes them.
        names = {name: self.new_name(name) for name in (*program.inputs, *program.outputs)}
        for name in program.inputs:
            self.add_input(names[name], program.vars[name])
            self.blobs[name] = names[name]
        self._inputs = len(self.layers)

        def emit(op: Op) -> None:
            emitter = self.emitters.get(op.type)
            if emitter is None:
                raise self.emitters.refusal(op, op.schema.doc.rstrip("."))
            first = len(self.layers)
            layer_op = op_class(self, op)
            results = emitter(layer_op)
            layer_op.check_unread()
            for var in layer_op.results:
                layer_op.check(var)
            self._bind(op, results if isinstance(results, tuple) else (results,), first, names)

        self.emitters.write(program.ops, emit, program.name)
        for name in program.outputs:
            self._add_output(name, names[name])

    def add_input(self, name: str, var: Var) -> None:
        """Adds an input of the network."""
        raise NotImplementedError

    def constant(self, var: Var) -> str | None:
        """Adds a constant blob; None if the format has none."""
        return None

    def new_name(self, hint: str) -> str:
        """A unique name: `hint`, with a number appended if it is already used."""
        stem = self.file_name(hint)
        name, i = stem, 0
        while name in self._names:
            i += 1
            name = f"{stem}_{i}"
        self._names.add(name)
        return name

    def add(
        self,
        type: str,
        bottoms: Sequence[str],
        tops: Sequence[str],
        params: Mapping[str, Any] | None = None,
        weights: Sequence[Any] = (),
    ) -> None:
        """Appends a layer."""
        self.layers.append(FileLayer(type, list(bottoms), list(tops), params, weights))

    def _bind(self, op: Op, results: Sequence[str], first: int, names: Mapping[str, str]) -> None:
        """Names the results, which layers from `first` on compute, like the program's tensors."""
        own = {top for layer in self.layers[first:] for top in layer.tops}
        for tensor, blob in zip(op.outputs, results, strict=True):
            name = blob
            if blob in own:
                name = names.get(tensor) or self.new_name(tensor)
                self._rename(blob, name, first)
                own.remove(blob)
            self.blobs[tensor] = name

    def _rename(self, old: str, new: str, first: int) -> None:
        for layer in self.layers[first:]:
            layer.bottoms = [new if name == old else name for name in layer.bottoms]
            layer.tops = [new if name == old else name for name in layer.tops]

    def _add_output(self, tensor: str, name: str) -> None:
        """Readers take the blobs that no layer reads as outputs, in the order of their layers, and
        some know the result of a layer by the name of the layer.
        """
        var = self.program.vars[tensor]
        blob = self.blobs.get(tensor) or (self.constant(var) if var.data is not None else None)
        if blob is None:
            raise ExportModelError(
                f"{self.emitters.format} has no constants",
                where=f"output {tensor}",
                hint="name another output with --tensor",
            )
        own = next((i for i, layer in enumerate(self.layers) if blob in layer.tops), -1)
        is_last = own >= max(self._last_output + 1, self._inputs) and not any(
            blob in layer.bottoms for layer in self.layers
        )
        if blob == name and is_last and self.layers[own].name == blob:
            self._last_output = own
            return
        if blob == name and own >= self._inputs:
            blob = self.new_name(f"{name}_inner")
            self._rename(name, blob, 0)
            self.blobs = {t: blob if b == name else b for t, b in self.blobs.items()}
        self.add("Split", [blob], [name])
        self.blobs[tensor] = name
        self._last_output = len(self.layers) - 1

    def unread(self) -> list[str]:
        """Results of layers that are not read and no outputs of the network."""
        read = {blob for layer in self.layers for blob in layer.bottoms}
        ends = {self.blobs[name] for name in self.program.outputs if name in self.blobs}
        tops = [top for layer in self.layers[self._inputs :] for top in layer.tops]
        return [top for top in tops if top not in read | ends]


class LayerOp:
    """An operator during its export: its operands, its attributes, and the layers it becomes."""

    def __init__(self, graph: LayerGraph, op: Op) -> None:
        self.graph, self.op = graph, op
        self._read: set[str] = set()

    def refusal(self, reason: str) -> ExportModelError:
        """The error for a form of the operator that the format cannot express."""
        return self.graph.emitters.refusal(self.op, reason)

    def __getitem__(self, attribute: str) -> Any:
        """The value of an attribute, which counts as expressed."""
        self._read.add(attribute)
        return self.op.attributes[attribute]

    def check_unread(self) -> None:
        """Refuses attributes that the emitter did not express, unless they have no effect."""
        for a in self.op.schema.attributes:
            value = self.op.attributes[a.name]
            if a.name not in self._read and not a.plan and value != a.default:
                raise self.refusal(f"its {a.name} is {value}")

    # Operands: by position, or by the name of their port.

    def name(self, port: int | str) -> str:
        """The tensor of an operand; "" if it is absent."""
        if isinstance(port, str):
            return self.op.operand(port)
        return self.op.inputs[port] if port < len(self.op.inputs) else ""

    def has(self, port: int | str) -> bool:
        """Whether an optional operand is present."""
        return bool(self.name(port))

    def var(self, port: int | str = 0) -> Var:
        """An operand's tensor."""
        return self.graph.program.vars[self.name(port)]

    def shape(self, port: int | str = 0) -> tuple[int, ...]:
        """An operand's shape."""
        return self.var(port).shape

    @property
    def results(self) -> list[Var]:
        """The tensors of the results."""
        return [self.graph.program.vars[name] for name in self.op.outputs]

    @property
    def result(self) -> Var:
        """The tensor of the only result."""
        return self.results[0]

    def is_used(self, result: int) -> bool:
        """Whether an operator reads a result, or it is an output of the program."""
        program, name = self.graph.program, self.op.outputs[result]
        return name in program.outputs or any(name in op.inputs for op in program.ops)

    def is_constant(self, port: int | str) -> bool:
        """Whether an operand is constant."""
        return self.var(port).data is not None

    def constant(self, port: int | str) -> Array:
        """The values of a constant operand."""
        var = self.var(port)
        if var.data is None:
            raise self.refusal(f"its operand {port} is computed")
        if var.dtype != "f32":
            raise self.refusal(f"its operand {port} holds {var.dtype}, not float32")
        return np.ascontiguousarray(var.data, np.float32)

    def optional(self, port: int | str) -> Array | None:
        """The values of a constant operand; None if it is absent."""
        return self.constant(port) if self.has(port) else None

    def x(self, port: int | str = 0) -> str:
        """The blob of an operand."""
        var = self.var(port)
        self.check(var)
        if var.data is None:
            return self._computed(var.name)
        if var.name not in self.graph.blobs:
            blob = self.graph.constant(var)
            if blob is None:
                raise self.refusal(f"its operand {port} is constant")
            self.graph.blobs[var.name] = blob
        return self.graph.blobs[var.name]

    def _computed(self, name: str) -> str:
        """The blob of a computed tensor; that of a refused operator is never written."""
        return self.graph.blobs.setdefault(name, name)

    def xs(self) -> list[str]:
        """The blobs of all operands."""
        return [self.x(i) for i in range(len(self.op.inputs))]

    def image(self) -> tuple[int, int, int, int]:
        """The shape [n, c, h, w] of the first operand."""
        shape = self.shape()
        if len(shape) != 4:
            raise self.refusal(f"its operand has {len(shape)} dimensions, not 4")
        n, c, h, w = shape
        return n, c, h, w

    def check(self, var: Var) -> None:
        """Refuses a tensor that the format cannot hold."""
        if var.dtype != "f32":
            raise self.refusal(f"its operand {var.name} is {var.dtype}, not float32")

    def per_channel(self, port: int | str, axis: int = 1) -> Array | None:
        """The values of a constant that depend only on the channel of operand 0: [c], or [1];
        None if they depend on anything else.
        """
        values, x = self.constant(port), self.shape()
        if values.size == 1:
            return values.reshape(1)
        shape = (1,) * (len(x) - values.ndim) + values.shape
        is_channel = [n == (x[axis] if i == axis else 1) for i, n in enumerate(shape)]
        return values.reshape(-1) if len(shape) == len(x) and all(is_channel) else None

    # Layers.

    def add(
        self,
        type: str,
        bottoms: Sequence[str] | str,
        params: Mapping[str, Any] | None = None,
        weights: Sequence[Any] = (),
    ) -> str:
        """Adds a layer with one top, and returns its blob."""
        return self.add_many(type, bottoms, 1, params, weights)[0]

    def add_many(
        self,
        type: str,
        bottoms: Sequence[str] | str,
        count: int,
        params: Mapping[str, Any] | None = None,
        weights: Sequence[Any] = (),
    ) -> tuple[str, ...]:
        """Adds a layer with `count` tops, and returns their blobs."""
        hint = f"{self.op.outputs[0]}_{type.lower()}"
        tops = tuple(self.graph.new_name(hint) for _ in range(count))
        bottoms = [bottoms] if isinstance(bottoms, str) else bottoms
        self.graph.add(type, bottoms, tops, params, weights)
        return tops
