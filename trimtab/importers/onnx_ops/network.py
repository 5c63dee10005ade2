"""Imports an ONNX graph node by node; nodes with constant inputs are computed at import time."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from trimtab.errors import ImportModelError
from trimtab.importers._graph import Array, Operand, UnsupportedFormError, Value
from trimtab.importers._handlers import Handler
from trimtab.importers._inputs import Shapes, declared_inputs
from trimtab.importers._layer import is_known
from trimtab.importers._walk import NetworkImport
from trimtab.importers.beside import ultralytics
from trimtab.importers.onnx_ops import bounds, control, counted, functions, given, narrow
from trimtab.importers.onnx_ops import model as models
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.folding import (
    MAX_SHAPE_ELEMENTS,
    expected_bytes,
    is_foldable,
)
from trimtab.importers.onnx_ops.node import COMPUTED, HALVES, HANDLERS, OnnxContext, OnnxNode
from trimtab.importers.onnx_ops.order import sort_nodes, subgraphs
from trimtab.program import Program
from trimtab.schema import END_DTYPES

# The types in which inputs and outputs of another type are computed.
_COMPUTED = END_DTYPES | {"f16": "f32"}

_PICTURE = 4  # dimensions

# Operators on shapes: their results are constant even if their inputs are not.
_SHAPE_OPERATORS = ("Shape", "Size")


def load(path: Path, shapes: Shapes, values: Mapping[str, Array]) -> Program:
    """The program of the model at `path`; `values` replaces inputs by constants."""
    file = models.read(path)
    model = file.model
    sort_nodes(model, path)
    versions, graph = models.opsets(model, path), models.expanded(model, path)
    values = {**given.values(graph.input, shapes, path), **values}
    shapes = given.without(shapes, values)
    constants = {**models.constants(graph, str(path), path.parent, file.weights), **values}
    sparse = {tensor.values.name for tensor in graph.sparse_initializer}
    infos = [info for info in graph.input if info.name not in constants.keys() | sparse]
    dtypes = {info.name: models.input_dtype(info, path) for info in infos}
    declared = {info.name: models.declared_shape(info) for info in infos}
    ends = {info.name: models.output_dtype(info, path) for info in graph.output}
    weights_bytes = sum(weights.nbytes for weights in constants.values())
    walk = OnnxImport(path, versions, graph, weights_bytes, ends)
    walk.define(constants)
    walk.add_sparse(graph)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    shapes = {**ultralytics.sizes(metadata, declared), **shapes}
    for name, shape in declared_inputs(declared, shapes, str(path), fixed=True).items():
        walk.bind_input(name, walk.add_input(name, shape, dtypes[name]))
    walk.add_nodes(graph.node)
    program = walk.finish({info.name: info.name for info in graph.output})
    program.hints = ultralytics.of_ultralytics(metadata)
    if pixels := models.pixel_range(model):
        pictures = (name for name in program.inputs if len(program.vars[name].shape) == _PICTURE)
        program.input_ranges |= dict.fromkeys(pictures, pixels)
    return program


class OnnxImport(NetworkImport):
    """Values are tensors and constants by name.

    float16, bfloat16 and float64 values are computed in float32, small integers in wider ones.
    `ends` holds the dtypes of the network's outputs in the file, which they have in the program.
    """

    layer_word = "node"
    exact_types = True
    single_assignment = True

    def __init__(
        self,
        path: Path,
        versions: Mapping[str, int],
        graph: onnx.GraphProto,
        weights_bytes: int,
        ends: Mapping[str, str],
    ) -> None:
        self._file_graph = graph
        count = sum(node.op_type != "Constant" for node in graph.node)
        super().__init__(path, HANDLERS, count)
        self._context, self._ends = OnnxContext(versions), ends
        self._sizes = counted.SizeValues({}, {})  # values that are computed from sizes
        self._own_handler: Handler[OnnxNode] | None = None  # of the present node
        self._add_uses(graph)
        self.budget.add_stored(weights_bytes)

    def _add_uses(self, graph: onnx.GraphProto) -> None:
        self._context.read.update(name for node in graph.node for name in node.input)
        self._context.used.update(self._context.read)
        self._context.used.update(info.name for info in graph.output)
        for inner in subgraphs(graph.node):
            self._add_uses(inner)

    def define(self, constants: Mapping[str, Array]) -> None:
        """Binds constants to names."""
        for name, value in constants.items():
            to = HALVES.get(value.dtype.name)
            self.values[name] = value.astype(to) if to else value

    def add_sparse(self, graph: onnx.GraphProto) -> None:
        """Binds the sparse initializers of a graph."""
        for tensor in graph.sparse_initializer:
            name = tensor.values.name
            self.define({name: self._dense(tensor, f"{self.path}: initializer '{name}'")})

    def bind_input(self, name: str, x: Value) -> None:
        """Binds an input of the program to its name."""
        if to := _COMPUTED.get(x.dtype):
            if x.dtype in narrow.TYPES:
                self._context.narrow[name] = x.dtype
            (x,) = self.add_op("cast", [x], {"to": to}, 1, f"{name}.{to}")
        self.values[name] = x

    def operand(self, value: Operand, name: str) -> Value:
        """A value as a tensor of the program; float64 constants become float32."""
        if isinstance(value, np.ndarray) and (to := COMPUTED.get(value.dtype.name)):
            value = value.astype(to)
        return super().operand(value, name)

    def result(self, key: Hashable, name: str) -> Value:
        """The tensor that leaves the program."""
        if name in self.program.inputs:
            return self.program.vars[name]
        y = super().result(key, name)
        end = self._ends[name]
        # Values of 16 bits may be quantized ones, which are computed in float32.
        if y.dtype not in (_COMPUTED.get(end), "f32" if end in narrow.TYPES else None):
            return y
        return self.add_op("cast", [y], {"to": end}, 1, name)[0]

    def is_used(self, key: object) -> bool:
        """Whether a node or an output reads the value `key`."""
        return key in self._context.used

    def add_nodes(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """Imports nodes in topological order."""
        for index, proto in enumerate(nodes):
            node = OnnxNode(self, self._context, proto, index)
            self.check_defined(node)
            with self.layer(node.title, node.where):
                self._add_node(node, proto)
            self.missing.update(n for n in node.outputs if n and n not in self.values)

    def _add_node(self, node: OnnxNode, proto: onnx.NodeProto) -> None:
        if self._evaluate(node, proto):
            return
        complete = self.missing.isdisjoint(node.inputs)
        self._own_handler = counted.added(node, self.values, self._sizes) if complete else None
        if self._own_handler or not self._expand(node, proto):
            self.add(node)
        if complete:
            for at in self._sizes:
                self._note_sizes(node, proto, at)
            bounds.note(node)
            for name, dtype in narrow.note(node):
                self._wrap(name, dtype)

    def _wrap(self, name: str, dtype: str) -> None:
        """Wraps a value to the range of an integer type that it has in the file."""
        value = self.values[name]
        for to in (dtype, value.dtype):
            (value,) = self.add_op("cast", [value], {"to": to}, 1, f"{name}.{to}")
        self.rename(value, name)
        self.values[name] = value

    def alias(self, new: Hashable, old: Hashable) -> None:
        """Makes the name `new` stand for the value of `old`."""
        super().alias(new, old)
        if old in self._context.narrow:
            self._context.narrow[new] = self._context.narrow[old]

    def handler(self, layer: OnnxNode) -> Handler[OnnxNode] | None:
        """The handler of a node, which may depend on its operands."""
        own, self._own_handler = self._own_handler, None
        return own or super().handler(layer)

    def _note_sizes(self, node: OnnxNode, proto: onnx.NodeProto, at: dict[str, Array]) -> None:
        """Adds the results of a node to `at`, the values that follow from the sizes of tensors, if
        its operands are constants or such values.
        """
        inputs = [name for name in proto.input if name]
        if at.keys().isdisjoint(inputs) or not is_foldable(node, proto):
            return
        feeds = {name: at.get(name, self.values[name]) for name in inputs}
        if not all(is_known(v) and v.size <= MAX_SHAPE_ELEMENTS for v in feeds.values()):
            return
        results = self._compute(node, proto, feeds) or {}
        at |= {n: v for n, v in results.items() if v.size <= MAX_SHAPE_ELEMENTS}

    def _expand(self, node: OnnxNode, proto: onnx.NodeProto) -> bool:
        """Imports the nodes by which ONNX defines an operator without a handler, or those of the
        bodies of control flow; False if there are none.
        """
        if not self.missing.isdisjoint(proto.input):
            return False
        groups = control.expansion(node, proto, self.values), self._definition(node, proto)
        expanded = False
        try:
            for nodes in chain(*groups):
                read = {name for inner in nodes for name in inner.input}
                self._context.read |= read
                self._context.used |= read
                self._spend_layers(nodes, node.where)
                self.add_nodes(nodes)
                expanded = True
        except (ImportModelError, UnsupportedFormError) as error:
            if node.type != "If":
                raise
            reason = str(error)
            if isinstance(error, ImportModelError):
                reason = f"a branch does not fit the sizes of its operands: {error.what}"
            advice = given.remark(self._file_graph, proto.input[0])
            raise node.unsupported(f"its condition is computed, and {reason}{advice}") from error
        return expanded

    def _definition(
        self, node: OnnxNode, proto: onnx.NodeProto
    ) -> Iterator[Sequence[onnx.NodeProto]]:
        if nodes := functions.body(node, proto, self.values):
            yield nodes

    def _evaluate(self, node: OnnxNode, proto: onnx.NodeProto) -> bool:
        """Replaces a node by constants, or an If by one of its branches; False if it cannot."""
        inputs = [name for name in proto.input if name]
        if not self.missing.isdisjoint(inputs):
            return node.type in _SHAPE_OPERATORS
        constant = all(is_known(self.values[name]) for name in inputs)
        if node.type in _SHAPE_OPERATORS and not constant:
            self._add_shape(node)
        elif node.type == "If" and is_known(self.values[inputs[0]]):
            self._add_branch(node, proto)
        elif node.type == "Constant":
            self.define({proto.output[0]: self._constant(node, proto)})
        elif constant and is_foldable(node, proto):
            results = self._compute(node, proto, {name: self.values[name] for name in inputs})
            if results is None and node.type in HANDLERS:
                return False  # it tells what is wrong with the node
            if results is None:
                raise node.unsupported(
                    "its inputs are constant, but its result cannot be computed from them"
                )
            self.define(results)
        else:
            return False
        return True

    def _add_shape(self, node: OnnxNode) -> None:
        """Binds the shape or size of a value: a constant, unless it depends on data."""
        x, output = node.operand(), str(node.outputs[0])
        sizes = _shape_or_size(node, node.shape())
        if not counted.is_counted(x):
            self.values[output] = sizes
            return
        if node.type == "Size" or sizes.size != len(node.shape()):
            raise node.unsupported("the size of its operand depends on data")
        self.values[output] = counted.shape_of(node, node.x())
        self._sizes.largest[output], self._sizes.least[output] = sizes, np.zeros_like(sizes)

    def _constant(self, node: OnnxNode, proto: onnx.NodeProto) -> Array:
        """The value of a Constant."""
        if len(proto.attribute) != 1:
            raise node.invalid(f"a constant has one value, it has {len(proto.attribute)}")
        (attribute,) = proto.attribute
        if attribute.name == "sparse_value":
            return self._dense(attribute.sparse_tensor, node.where)
        if attribute.name == "value":
            return models.array(attribute.t, node.where)
        value = helper.get_attribute_value(attribute)
        dtype = {"value_float": np.float32, "value_int": np.int64}.get(attribute.name.rstrip("s"))
        return np.asarray(value, dtype)

    def _dense(self, tensor: onnx.SparseTensorProto, where: str) -> Array:
        self.budget.take_bytes(models.dense_bytes(tensor), where)
        return models.dense(tensor, where)

    def _compute(
        self, node: OnnxNode, proto: onnx.NodeProto, feeds: Mapping[str, Array]
    ) -> dict[str, Array] | None:
        """The outputs of a node with constant inputs, by ONNX's reference implementation; None if
        that fails.
        """
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for name, v in feeds.items()
        ]
        outputs = [name for name in proto.output if name]
        empty = [helper.make_empty_tensor_value_info(name) for name in outputs]
        model = helper.make_model(
            helper.make_graph([proto], "constant", infos, empty),
            opset_imports=[helper.make_opsetid("", self._context.versions[""])],
        )
        expected = expected_bytes(model, feeds) + windows.folded_bytes(proto, feeds)
        from onnx.reference import ReferenceEvaluator  # takes 20 ms, and few models need it

        self.budget.check_bytes(expected, node.where)
        try:
            with np.errstate(all="ignore"):
                values = ReferenceEvaluator(model).run(None, dict(feeds))
        except Exception:  # it raises many kinds, in its own words
            return None
        if any(isinstance(value, list) for value in values):
            return None  # a sequence of tensors
        results = {name: np.asarray(value) for name, value in zip(outputs, values, strict=True)}
        self.budget.take_bytes(sum(value.nbytes for value in results.values()), node.where)
        return results

    def _spend_layers(self, nodes: Sequence[onnx.NodeProto], where: str) -> None:
        """Spends the budget on the nodes that a node expands to."""
        count = sum(node.op_type != "Constant" for node in nodes)
        self.budget.take_layers(count, where)

    def _add_branch(self, node: OnnxNode, proto: onnx.NodeProto) -> None:
        """Replaces an If with a constant condition by one of its branches."""
        name = "then_branch" if self.values[proto.input[0]].reshape(-1)[0] else "else_branch"
        branch = next(a.g for a in proto.attribute if a.name == name)
        self._spend_layers(branch.node, node.where)
        self.define(models.constants(branch, node.where))
        self.add_sparse(branch)
        self.add_nodes(branch.node)
        for name, info in zip(proto.output, branch.output, strict=True):
            self.alias(name, info.name)
        self._forget(branch)

    def _forget(self, branch: onnx.GraphProto) -> None:
        """Drops the values of a branch: others may use the same names."""
        tensors = [*branch.initializer, *(tensor.values for tensor in branch.sparse_initializer)]
        names = [t.name for t in tensors] + [name for n in branch.node for name in n.output]
        for name in names:
            self.values.pop(name, None)
            self._context.stored.pop(name, None)
            self.missing.discard(name)


def _shape_or_size(node: OnnxNode, shape: tuple[int, ...]) -> Array:
    if node.type == "Size":
        return np.array(math.prod(shape), np.int64)
    return np.array(shape[node.integer("start", 0) : node.integer("end", len(shape))], np.int64)
