"""Walks an ONNX graph: what is known now is computed now, the rest goes to the handlers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from trimtab.errors import ImportModelError
from trimtab.importers._handled_layer import is_known
from trimtab.importers._inputs import declared_inputs
from trimtab.importers._layers import Array, LayerImport, UnsupportedFormError
from trimtab.importers.onnx_ops import model as models
from trimtab.importers.onnx_ops.node import HANDLERS, Node
from trimtab.importers.vocabulary.quantization import DTYPES, Stored
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

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

# What may be computed ahead of time in all: networks compute shapes and rearrange their weights.
_LEAST_COMPUTED_BYTES = 1 << 30  # VGG19 without weights, as ONNX has it for tests, makes 575 MB
_COMPUTED_PER_WEIGHT_BYTE = 8
_SIZES = 64  # operands of no more elements may say how large a result is

# Operators that need no handler, as their results are known while importing.
_MEASURES = ("Shape", "Size")


def load(path: Path, shapes: Shapes, values: Mapping[str, Array]) -> Program:
    """The program of the model at `path`, of which some inputs have known values."""
    model = models.read(path)
    opset, graph = models.opset(model, path), models.expanded(model, path)
    constants = {**models.constants(graph, path), **values}
    infos = [info for info in graph.input if info.name not in constants]
    dtypes = {info.name: models.input_dtype(info, path) for info in infos}
    declared = {info.name: models.declared_shape(info) for info in infos}
    work = GraphImport(path, opset, graph)
    work.values |= constants
    work.allow_computing(sum(weights.nbytes for weights in constants.values()))
    for name, shape in declared_inputs(declared, shapes, str(path), fixed=True).items():
        work.values[name] = work.add_input(name, shape, dtypes[name])
    work.add_nodes(graph.node)
    return work.finish({info.name: info.name for info in graph.output})


class GraphImport(LayerImport):
    """A program in the making, with what is known of every value of the ONNX graph.

    `stored`: how the file stores those that are known and were scaled integers.
    """

    layer_word = "node"
    exact_types = True
    single_assignment = True

    def __init__(self, path: Path, opset: int, graph: onnx.GraphProto) -> None:
        count = sum(node.op_type != "Constant" for node in graph.node)
        super().__init__(path, HANDLERS, count)
        self.opset = opset
        self.stored: dict[Hashable, Stored] = {}
        self._used: set[str] = set()
        self._note_uses(graph)
        self._computable_bytes = _LEAST_COMPUTED_BYTES

    def _note_uses(self, graph: onnx.GraphProto) -> None:
        self._used |= {name for node in graph.node for name in node.input}
        self._used |= {info.name for info in graph.output}

    def allow_computing(self, weights_bytes: int) -> None:
        """Raises what may be computed ahead of time to what suits a network with such weights."""
        self._computable_bytes += weights_bytes * _COMPUTED_PER_WEIGHT_BYTE

    def is_used(self, key: object) -> bool:
        """Whether anything reads the ONNX value `key`."""
        return key in self._used

    def add_nodes(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """Imports nodes in their order."""
        for index, proto in enumerate(nodes):
            node = Node(self, proto, index)
            self.check_defined(node)
            with self.layer(node.title, node.where):
                if not self._evaluate(node, proto):
                    self.add(node)
            self.missing.update(n for n in node.outputs if n and n not in self.values)

    def _evaluate(self, node: Node, proto: onnx.NodeProto) -> bool:
        """Does without a node whose results, or whose branch, are known; False: it is needed."""
        inputs = [name for name in proto.input if name]
        if not self.missing.isdisjoint(inputs):
            return node.type in _MEASURES
        known = all(is_known(self.values[name]) for name in inputs)
        if node.type in _MEASURES and not known:
            self.values[proto.output[0]] = _measure(node, node.shape())
        elif node.type == "If" and is_known(self.values[inputs[0]]):
            self._add_branch(proto)
        elif known and _is_foldable(node, proto):
            self.values |= self._compute(proto, inputs)
        else:
            return False
        return True

    def _compute(self, proto: onnx.NodeProto, inputs: list[str]) -> dict[str, Array]:
        """The outputs of a node whose inputs are all known, by ONNX's reference implementation."""
        if proto.op_type == "Constant" and proto.attribute[0].name == "value":
            return {proto.output[0]: numpy_helper.to_array(proto.attribute[0].t)}
        feeds = {name: self.values[name] for name in inputs}
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for name, v in feeds.items()
        ]
        outputs = [name for name in proto.output if name]
        empty = [helper.make_empty_tensor_value_info(name) for name in outputs]
        model = helper.make_model(
            helper.make_graph([proto], "constant", infos, empty),
            opset_imports=[helper.make_opsetid("", self.opset)],
        )
        self._check_budget(_expected_bytes(model, feeds), proto)
        try:
            values = ReferenceEvaluator(model).run(None, feeds)
        except Exception as error:
            raise UnsupportedFormError(f"it cannot be computed ahead of time: {error}") from error
        results = {name: np.asarray(value) for name, value in zip(outputs, values, strict=True)}
        computed = sum(value.nbytes for value in results.values())
        self._check_budget(computed, proto)
        self._computable_bytes -= computed
        return results

    def _check_budget(self, bytes: int, proto: onnx.NodeProto) -> None:
        """ImportModelError when results of so many bytes are more than a network computes."""
        if bytes > self._computable_bytes:
            raise ImportModelError(
                f"it makes constants of {bytes:,} bytes, which with others is far more than the "
                "weights of the file",
                where=f"{self.path}: '{proto.name}'",
                hint="export the model with constants folded, or check where it is from",
            )

    def _add_branch(self, proto: onnx.NodeProto) -> None:
        """The branch of an If whose condition is known takes the place of the If."""
        wanted = "then_branch" if self.values[proto.input[0]].reshape(-1)[0] else "else_branch"
        branch = next(a.g for a in proto.attribute if a.name == wanted)
        self._note_uses(branch)
        for tensor in branch.initializer:
            self.values[tensor.name] = numpy_helper.to_array(tensor)
        self.add_nodes(branch.node)
        for name, info in zip(proto.output, branch.output, strict=True):
            self.alias(name, info.name)


def _expected_bytes(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> int:
    """The size of what a model of one node computes, as far as ONNX's rules tell it; else 0."""
    small = {name: value for name, value in feeds.items() if value.size <= _SIZES}
    model.graph.initializer.extend(numpy_helper.from_array(v, name) for name, v in small.items())
    try:
        found = shape_inference.infer_shapes(model).graph.output
    except Exception:  # of a damaged node: computing it says what is wrong
        return 0
    finally:
        del model.graph.initializer[:]
    types = [info.type.tensor_type for info in found]
    return sum(
        math.prod(dim.dim_value for dim in t.shape.dim)
        * helper.tensor_dtype_to_np_dtype(t.elem_type).itemsize
        for t in types
        if t.HasField("shape") and t.elem_type
    )


def _is_foldable(node: Node, proto: onnx.NodeProto) -> bool:
    """Whether ONNX says what comes out of a node when all its inputs are known."""
    if proto.domain not in ("", "ai.onnx") or node.type in RANDOM:
        return False
    if any(a.HasField("g") or a.graphs for a in proto.attribute):
        return False
    if node.type == "DequantizeLinear" and node.dtype(0) in DTYPES:
        return False  # its handler keeps the integers
    return node.type == "Constant" or bool(proto.input)


def _measure(node: Node, shape: tuple[int, ...]) -> Array:
    if node.type == "Size":
        return np.array(math.prod(shape), np.int64)
    return np.array(shape[node.integer("start", 0) : node.integer("end", len(shape))], np.int64)
