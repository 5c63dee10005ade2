"""Walks an ONNX graph: what is known now is computed now, the rest goes to the handlers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from trimtab.errors import ImportModelError, ProgramError, TrimtabError, UnsupportedOperatorError
from trimtab.importers.onnx_ops import handlers
from trimtab.importers.onnx_ops.node import Array, Node, UnsupportedFormError, Value
from trimtab.program import MAX_ELEMENTS, Op, Program

# Computing these ahead of time would freeze what should differ from run to run.
RANDOM = frozenset(
    (
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    )
)


class GraphImport:
    """A program in the making, with what is known of every value of the ONNX graph."""

    def __init__(
        self, path: Path, opset: int, constants: dict[str, Array], graph: onnx.GraphProto
    ) -> None:
        self.path = str(path)
        self.opset = opset
        self.constants = constants
        self.program = Program(path.stem)
        self._graph = graph
        self._vars: dict[str, Value] = {}
        # By the array's identity, with the array, which keeps the identity its own.
        self._constant_vars: dict[int, tuple[Array, Value]] = {}
        self._unknown: set[str] = set()
        self._unsupported: list[str] = []
        self._used = {name for node in graph.node for name in node.input}
        self._used |= {info.name for info in graph.output}

    def add_input(self, name: str, shape: tuple[int, ...], dtype: str) -> None:
        """Declares an input of the program."""
        self._vars[name] = self.program.vars[self.program.add_input(name, shape, dtype)]

    def finish(self) -> Program:
        """Imports all nodes; UnsupportedOperatorError names everything that the engine lacks."""
        self._add_nodes(self._graph.node)
        if self._unsupported:
            count = len(self._unsupported)
            raise UnsupportedOperatorError(
                "\n  ".join(
                    [
                        f"{count} node{'s are' if count > 1 else ' is'} not supported:",
                        *self._unsupported,
                    ]
                ),
                where=self.path,
                hint="docs/importers.md lists what is supported; export without these",
            )
        for info in self._graph.output:
            self.program.outputs.append(self._output(info.name))
        return self.program

    # What a Node asks for.

    def is_used(self, name: str) -> bool:
        """Whether anything reads the ONNX value `name`."""
        return name in self._used

    def value(self, name: str) -> Value:
        """The operand of the program that stands for an ONNX value."""
        if name in self.constants:
            return self.add_constant(name, self.constants[name])
        return self._vars[name]

    def add_constant(self, name: str, value: Array) -> Value:
        """A constant operand; the same array becomes the same operand."""
        if id(value) not in self._constant_vars:
            try:
                added = self.program.block.add_constant(value, name)
            except ProgramError as error:
                raise UnsupportedFormError(f"operand '{name}': {error.what}") from error
            self._constant_vars[id(value)] = value, self.program.vars[added]
        return self._constant_vars[id(value)][1]

    def add_op(
        self, node: Node, op: str, inputs: Sequence[Value], outputs: int, attributes: dict[str, Any]
    ) -> tuple[Value, ...]:
        """Appends an operator of the engine."""
        names = self.program.block.add_op(
            op, [value.name for value in inputs], attributes, outputs, node.name
        )
        return tuple(self.program.vars[name] for name in names)

    # The walk.

    def _add_nodes(self, nodes: Iterable[onnx.NodeProto]) -> None:
        for index, proto in enumerate(nodes):
            node = Node(self, proto, index)
            for name in filter(None, proto.input):
                if not self._is_defined(name):
                    raise ImportModelError(f"its input '{name}' is not defined", where=node.where)
            for name in filter(None, proto.output):
                if self._is_defined(name):
                    raise ImportModelError(
                        f"its output '{name}' is defined twice", where=node.where
                    )
            try:
                self._add_node(node, proto)
            except UnsupportedFormError as reason:
                domain = f"{proto.domain}." if proto.domain else ""
                self._unsupported.append(
                    f"node '{node.name}': {domain}{proto.op_type} (opset {self.opset}): {reason}"
                )
                self._unknown.update(proto.output)
            except ProgramError as error:
                raise ImportModelError(error.what, where=node.where, hint=error.hint) from error
            except TrimtabError:
                raise
            except Exception as error:
                # A damaged node breaks a handler's assumptions in ways that are not worth listing.
                raise ImportModelError(f"it is malformed: {error}", where=node.where) from error

    def _is_defined(self, name: str) -> bool:
        return name in self._vars or name in self.constants or name in self._unknown

    def _add_node(self, node: Node, proto: onnx.NodeProto) -> None:
        standard = proto.domain in ("", "ai.onnx")
        handler = handlers().get(proto.op_type) if standard else None
        inputs = [name for name in proto.input if name]
        if not standard:
            raise UnsupportedFormError("it is not a standard operator")
        if self._unknown.intersection(inputs):
            if handler is None and proto.op_type not in ("Shape", "Size"):
                raise UnsupportedFormError("the engine has no such operator")
            self._unknown.update(proto.output)
        elif proto.op_type in ("Shape", "Size") and inputs[0] in self._vars:
            self.constants[proto.output[0]] = self._measure(node, self.value(inputs[0]).shape)
        elif proto.op_type == "If" and inputs[0] in self.constants:
            self._add_branch(proto)
        elif self._is_foldable(proto, inputs):
            self.constants.update(self._compute(proto, inputs))
        elif handler is None:
            raise UnsupportedFormError("the engine has no such operator")
        else:
            first_op = len(self.program.ops)
            values = handler(node)
            self._bind(proto, [values] if isinstance(values, Value) else values, first_op)

    @staticmethod
    def _measure(node: Node, shape: tuple[int, ...]) -> Array:
        if node.op_type == "Size":
            return np.array(math.prod(shape), np.int64)
        return np.array(shape[node.integer("start", 0) : node.integer("end", len(shape))], np.int64)

    def _is_foldable(self, proto: onnx.NodeProto, inputs: list[str]) -> bool:
        if proto.op_type in RANDOM or any(a.HasField("g") or a.graphs for a in proto.attribute):
            return False
        return proto.op_type == "Constant" or bool(
            inputs and all(i in self.constants for i in inputs)
        )

    def _compute(self, proto: onnx.NodeProto, inputs: list[str]) -> dict[str, Array]:
        """The outputs of a node whose inputs are all known, by ONNX's reference implementation."""
        if proto.op_type == "Constant" and proto.attribute[0].name == "value":
            return {proto.output[0]: numpy_helper.to_array(proto.attribute[0].t)}
        if proto.op_type in ("ConstantOfShape", "Expand"):
            count = math.prod(int(n) for n in self.constants[inputs[-1]].reshape(-1))
            if count > MAX_ELEMENTS:
                raise ImportModelError(
                    f"it makes a constant of {count} elements", where=f"{self.path}: '{proto.name}'"
                )
        feeds = {name: self.constants[name] for name in inputs}
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for name, v in feeds.items()
        ]
        outputs = [name for name in proto.output if name]
        results = [helper.make_empty_tensor_value_info(name) for name in outputs]
        model = helper.make_model(
            helper.make_graph([proto], "constant", infos, results),
            opset_imports=[helper.make_opsetid("", self.opset)],
        )
        try:
            values = ReferenceEvaluator(model).run(None, feeds)
        except Exception as error:
            raise UnsupportedFormError(f"it cannot be computed ahead of time: {error}") from error
        return {name: np.asarray(value) for name, value in zip(outputs, values, strict=True)}

    def _add_branch(self, proto: onnx.NodeProto) -> None:
        """The branch of an If whose condition is known takes the place of the If."""
        wanted = "then_branch" if self.constants[proto.input[0]].reshape(-1)[0] else "else_branch"
        branch = next(a.g for a in proto.attribute if a.name == wanted)
        self._used |= {name for node in branch.node for name in node.input}
        self._used |= {info.name for info in branch.output}
        for tensor in branch.initializer:
            self.constants[tensor.name] = numpy_helper.to_array(tensor)
        self._add_nodes(branch.node)
        for name, info in zip(proto.output, branch.output, strict=True):
            if info.name in self.constants:
                self.constants[name] = self.constants[info.name]
            if info.name in self._vars:
                self._vars[name] = self._vars[info.name]
            if info.name in self._unknown:
                self._unknown.add(name)

    def _bind(self, proto: onnx.NodeProto, values: Sequence[Value], first_op: int) -> None:
        """Gives the ONNX node's outputs their values, and new operands the ONNX names."""
        recent = self.program.ops[first_op:]
        for name, value in zip(proto.output, values, strict=False):
            if any(value.name in op.outputs for op in recent):
                self._rename(value, name, recent)
            self._vars[name] = value

    def _rename(self, value: Value, name: str, ops: Sequence[Op]) -> None:
        """Renames an operand that only `ops` know; whoever has the name gives way."""
        old = value.name
        if not name or name == old:
            return
        if other := self.program.vars.get(name):
            self._rename(other, self.program.block.new_name(f"{name}.inner"), self.program.ops)
        for op in ops:
            op.inputs = [name if i == old else i for i in op.inputs]
            op.outputs = [name if o == old else o for o in op.outputs]
        self.program.vars[name] = self.program.vars.pop(old)
        value.name = name

    def _output(self, name: str) -> str:
        """The operand that leaves the program as ONNX output `name`, under that name."""
        if not self._is_defined(name):
            raise ImportModelError(f"output '{name}' is not computed by any node", where=self.path)
        value = self.value(name)
        named = value.name in (*self.program.inputs, *self.program.outputs)
        if value.data is None and not named:
            self._rename(value, name, self.program.ops)
        elif value.data is not None or value.name != name:
            # Another name for something that must keep its own, or is a constant: a view of it.
            view = self.program.block.add_op("reshape", [value.name], {"shape": value.shape})
            self._rename(self.program.vars[view[0]], name, self.program.ops)
        return name
