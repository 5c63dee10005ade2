"""Operator cases, and helpers that write one in a line."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Array = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A model of one node (or a few), its inputs, and how closely outputs must agree.

    `source`: the model, or the function that makes it when a test needs it, so that an invalid
    model is an error of that test.
    """

    id: str
    source: onnx.ModelProto | Callable[[], onnx.ModelProto]
    inputs: dict[str, Array]
    rtol: float = 1e-4
    atol: float = 1e-5

    @cached_property
    def model(self) -> onnx.ModelProto:
        """The model."""
        return self.source() if callable(self.source) else self.source


@dataclass(frozen=True)
class Const:
    """An input that is an initializer of the model."""

    value: Array


@dataclass
class Graph:
    """A model under construction; inputs are named x0, x1, ... and initializers c0, c1, ..."""

    opset: int = 17
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def value(self, value: Array | Const | str | None) -> str:
        """The name of a new graph input, a new initializer, an existing value, or none at all."""
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        if isinstance(value, Const):
            name = f"c{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(value.value, name))
            return name
        name = f"x{len(self.inputs)}"
        self.inputs[name] = value
        return name

    def node(
        self, op_type: str, *inputs: Array | Const | str | None, outputs: int = 1, **attributes: Any
    ) -> str:
        """Adds a node; returns the name of its first output (`n<i>`, others `n<i>.1`, ...)."""
        first = f"n{len(self.nodes)}"
        names = [first, *(f"{first}.{i}" for i in range(1, outputs))]
        values = [self.value(value) for value in inputs]
        self.nodes.append(helper.make_node(op_type, values, names, f"node_{first}", **attributes))
        return first

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The model, checked by onnx; by default the outputs of the last node are its outputs."""
        graph = helper.make_graph(
            self.nodes,
            "case",
            [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
                )
                for name, value in self.inputs.items()
            ],
            [
                helper.make_empty_tensor_value_info(name)
                for name in (outputs or self.nodes[-1].output)
            ],
            self.constants,
        )
        imports = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(
            graph, opset_imports=imports, ir_version=8 if self.opset < 22 else 10
        )
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        onnx.checker.check_model(model)
        return model

    def case(self, id: str, *outputs: str, rtol: float = 1e-4, atol: float = 1e-5) -> Case:
        """The finished case."""
        return Case(id, partial(self.model, *outputs), self.inputs, rtol, atol)


def case(
    id: str,
    op_type: str,
    *inputs: Array | Const | None,
    opset: int = 17,
    outputs: int = 1,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    **attributes: Any,
) -> Case:
    """A model of one node."""
    graph = Graph(opset)
    graph.node(op_type, *inputs, outputs=outputs, **attributes)
    return graph.case(f"{op_type}-{id}", rtol=rtol, atol=atol)


def normal(*shape: int, seed: str = "") -> NDArray[np.float32]:
    """Standard normal values that depend only on the shape and `seed`."""
    rng = np.random.default_rng(zlib.crc32(f"{shape}{seed}".encode()))
    return rng.standard_normal(shape, np.float32)


def ints(*values: int) -> Const:
    """A constant int64 vector."""
    return Const(np.array(values, np.int64))


def floats(*values: float) -> Const:
    """A constant float32 vector."""
    return Const(np.array(values, np.float32))
