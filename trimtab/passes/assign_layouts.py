"""Assigns NHWC or plain layout to every 4-D tensor and inserts the cheapest conversions.

Convolutions require NHWC; reshapes, GEMMs and graph inputs and outputs require plain
order; element-wise operators accept either, and so do pools, which have operators of their own in
plain order: global ones are reductions of rows. A minimum cut chooses the layouts of the latter: a
tensor whose producer and readers disagree costs its bytes once. Conversions that move nothing (one
channel or one pixel) are free, and so are transposes that only spell out the other layout: both
become reshapes.
"""

from __future__ import annotations

import math
from typing import Literal, cast

from trimtab import schema
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program
from trimtab.program.min_cut import SINK, SOURCE, MinCut

ORDER = 700

Layout = Literal["plain", "nhwc"]

# The cost of a conversion besides its memory traffic, in bytes.
CALL_BYTES = 4096

_REDUCTIONS = {"global_average_pool": "reduce_mean", "global_max_pool": "reduce_max"}
_NARROWEST = 24  # columns of a pool in plain order; with fewer, conversions take less time
_PLANES = {"max_pool": "max_pool_planes", "average_pool": "average_pool_planes"}

# Transposes between the logical shapes of one tensor in both layouts.
TO_CHANNELS_LAST, TO_CHANNELS_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def run(program: Program) -> None:
    """Chooses the layouts, then applies them in one forward sweep."""
    graph = Graph(program)
    choice = _choose(graph)
    _Converter(graph, choice).run()


def _permutation(op: Op) -> tuple[int, ...]:
    return cast("tuple[int, ...]", op.attributes["permutation"]) if op.type == "transpose" else ()


def _is_indifferent(graph: Graph, op: Op) -> bool:
    accepts_either = op.schema.layout == "any" or _has_planes(graph, op)
    return accepts_either and all(len(graph.shape(o)) == 4 for o in op.outputs)


def _has_planes(graph: Graph, op: Op) -> bool:
    """Whether another operator pools images in plain order: rows that fill vectors."""
    if op.type not in _PLANES or graph.var(op.inputs[0]).dtype != "f32":
        return False
    is_wide = graph.shape(op.outputs[0])[3] >= _NARROWEST
    return is_wide and op.attributes.get("pad_value", -math.inf) == -math.inf


def _read_layout(op: Op) -> Layout:
    """The layout that an operator with a fixed layout reads."""
    nhwc = op.schema.layout == "nhwc" or _permutation(op) == TO_CHANNELS_LAST
    return "nhwc" if nhwc else "plain"


def _write_layout(op: Op) -> Layout:
    """The layout that an operator with a fixed layout produces."""
    nhwc = op.schema.layout == "nhwc" or _permutation(op) == TO_CHANNELS_FIRST
    return "nhwc" if nhwc else "plain"


def _is_free(shape: tuple[int, ...]) -> bool:
    """True if both layouts of [n, c, h, w] have the same bytes."""
    return shape[1] == 1 or shape[2] * shape[3] == 1


def _has_no_layout(op: Op, index: int) -> bool:
    """Whether an operand is no image: weights, or sizes."""
    port = op.schema.inputs[min(index, len(op.schema.inputs) - 1)]
    return port.constant or bool(port.sizes)


def _choose(graph: Graph) -> dict[int, Layout]:
    """The layout of every operator that accepts either, by id(op). NHWC is the source side of the
    cut.
    """
    cut = MinCut()
    nodes = {id(op): cut.node() for op in graph.ops() if _is_indifferent(graph, op)}
    terminal = {"nhwc": SOURCE, "plain": SINK}
    for name, var in graph.block.vars.items():
        if len(var.shape) != 4 or var.data is not None or _is_free(var.shape):
            continue
        op = graph.producer(name)
        producer = SINK if op is None else nodes.get(id(op), terminal[_write_layout(op)])
        readers = {
            nodes.get(id(op), terminal[_read_layout(op)])
            for op in graph.readers(name)
            if op.type not in _REDUCTIONS or var.dtype != "f32"
        }
        if graph.program.is_output(name):
            readers.add(SINK)
        cut.add_conversion(producer, readers, var.bytes + CALL_BYTES)
    side = cut.source_side()
    return {op: "nhwc" if node in side else "plain" for op, node in nodes.items()}


class _Converter:
    """Applies the layouts in a forward sweep, and inserts conversions of operands."""

    def __init__(self, graph: Graph, choice: dict[int, Layout]) -> None:
        self.graph = graph
        self.choice = choice
        self.twins: dict[tuple[str, Layout], str] = {}

    def run(self) -> None:
        for op in map(self._in_plain_order, self.graph.ops()):
            current = self._as_view(op)
            if current is op:
                read = self.choice.get(id(op), self._reads(op))
                write = self.choice.get(id(op), self._writes(op))
                inputs = [
                    name if not name or _has_no_layout(op, i) else self._operand(name, read, op)
                    for i, name in enumerate(op.inputs)
                ]
                self.graph.set_inputs(op, inputs)
                self._convert_weights(op, read)
                self._finish(op, write)

    def _reads(self, op: Op) -> Layout:
        return "plain" if op.type == "transpose" else _read_layout(op)

    def _writes(self, op: Op) -> Layout:
        return "plain" if op.type == "transpose" else _write_layout(op)

    def _in_plain_order(self, op: Op) -> Op:
        """Replaces a pool of an image in plain order by the operator that computes it there."""
        if op.type in _PLANES and self.choice.get(id(op)) == "plain":
            names = {a.name for a in schema.operator(_PLANES[op.type]).attributes if not a.plan}
            values = {name: value for name, value in op.attributes.items() if name in names}
            return self.graph.substitute(op, _PLANES[op.type], op.inputs, values)
        var = self.graph.var(op.inputs[0]) if op.type in _REDUCTIONS else None
        if var is None or (var.layout, var.dtype) != ("plain", "f32"):
            return op
        axes = {"axes": (2, 3), "keep_dims": True}
        return self.graph.substitute(op, _REDUCTIONS[op.type], op.inputs, axes)

    def _as_view(self, op: Op) -> Op:
        """Replaces a transpose that only spells out the other layout by a reshape."""
        x, y = op.inputs[0], op.outputs[0]
        if _permutation(op) == TO_CHANNELS_LAST and self._layout(x) == "nhwc":
            type, values = self.graph.view(x, TO_CHANNELS_LAST)
            view = self.graph.substitute(op, type, [x], values)
            self._finish(view, "plain")
            return view
        if _permutation(op) == TO_CHANNELS_FIRST and self._layout(x) == "plain":
            readers = self.graph.readers(y)
            if any(self.choice.get(id(r), _read_layout(r)) == "nhwc" for r in readers):
                type, values = self.graph.view(x, TO_CHANNELS_FIRST)
                view = self.graph.substitute(op, type, [x], values)
                self._finish(view, "nhwc")
                return view
        return op

    def _layout(self, name: str) -> str:
        return self.graph.var(name).layout

    def _finish(self, op: Op, layout: Layout) -> None:
        """Sets the layout of 4-D results; an NHWC graph output is converted to plain order."""
        for name in list(op.outputs):
            var = self.graph.var(name)
            if len(var.shape) != 4:
                continue
            var.layout = layout
            if layout == "nhwc" and self.graph.program.is_output(name):
                self._rename(op, name)

    def _rename(self, op: Op, name: str) -> None:
        block = self.graph.block
        var = block.vars.pop(name)
        var.name = block.new_name(f"{name}.nhwc")
        block.vars[var.name] = var
        self.graph.set_outputs(op, [var.name if o == name else o for o in op.outputs])
        self.graph.replace_uses(name, var.name)
        self.graph.insert_after(op, self._conversion(var.name, "plain", name))
        self.twins[var.name, "plain"] = name

    def _conversion(self, name: str, layout: Layout, result: str) -> Op:
        var = self.graph.var(name)
        if _is_free(var.shape):
            type, values = self.graph.view(name, range(4))
            op = self.graph.block.make_op(type, [name], values, [result])
        else:
            op = self.graph.block.make_op("convert_layout", [name], {"layout": layout}, [result])
        twin = self.graph.var(op.outputs[0])
        twin.layout, twin.quantization = layout, var.quantization
        return op

    def _operand(self, name: str, layout: Layout, reader: Op) -> str:
        """`name` in this layout: itself, or a conversion that is inserted before `reader`."""
        var = self.graph.var(name)
        if (name, layout) in self.twins:
            return self.twins[name, layout]
        if len(var.shape) != 4:
            # A broadcast operand of an element-wise operator in NHWC needs all four dimensions.
            broadcast = reader.schema.layout == "any" and var.count > 1
            if layout == "plain" or len(var.shape) > 4 or not broadcast:
                return name
            twin = self._with_four_dimensions(name, reader)
            self.twins[name, layout] = self._operand(twin, layout, reader)
            return self.twins[name, layout]
        if var.layout == layout:
            return name
        if var.data is not None:
            twin = self.graph.block.add_constant(var.data, f"{name}.{layout}", var.quantization)
            self.graph.var(twin).layout = layout
        else:
            conversion = self._conversion(name, layout, f"{name}.{layout}")
            self.graph.insert_before(reader, conversion)
            (twin,) = conversion.outputs
        self.twins[name, layout] = twin
        self.twins[twin, "nhwc" if layout == "plain" else "plain"] = name
        return twin

    def _with_four_dimensions(self, name: str, reader: Op) -> str:
        var = self.graph.var(name)
        shape = (1,) * (4 - len(var.shape)) + var.shape
        if var.data is not None:
            return self.graph.block.add_constant(var.data.reshape(shape), name, var.quantization)
        rank = len(var.shape)
        type, values = self.graph.view(name, [*[-1] * (4 - rank), *range(rank)])
        view = self.graph.block.make_op(type, [name], values)
        self.graph.insert_before(reader, view)
        return view.outputs[0]

    def _convert_weights(self, op: Op, layout: Layout) -> None:
        """Converts 4-D weights (a slope per element) of operators that accept either layout."""
        if op.schema.layout != "any":
            return
        inputs = list(op.inputs)
        for i, name in enumerate(inputs):
            if name and _has_no_layout(op, i) and len(self.graph.shape(name)) == 4:
                inputs[i] = self._operand(name, layout, op)
        self.graph.set_inputs(op, inputs)
