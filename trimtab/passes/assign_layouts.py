"""Chooses NHWC or plain for every 4-D tensor, and inserts the cheapest conversions in between.

Convolutions and pools want NHWC, reshapes and products plain order; element-wise operators take
either, and inputs and outputs of the program are plain. The choice for the indifferent ones is a
minimum cut: a tensor whose maker and readers disagree costs its bytes, once. Conversions that move
nothing (one channel, or one pixel) are free, and so are transposes that only spell out the other
layout: both become reshapes.
"""

from __future__ import annotations

from typing import Literal, cast

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program
from trimtab.program.min_cut import INFINITE, SINK, SOURCE, MinCut

ORDER = 700

Layout = Literal["plain", "nhwc"]

# A conversion costs a pass over memory and an operator; the latter about this many bytes.
CALL_BYTES = 4096

# Logical shapes of these transposes' operands are those of one tensor in either layout.
TO_CHANNELS_LAST, TO_CHANNELS_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def run(program: Program) -> None:
    """First the choice, then one walk forward that carries it out."""
    graph = Graph(program)
    choice = _choose(graph)
    _Converter(graph, choice).run()


def _permutation(op: Op) -> tuple[int, ...]:
    return cast("tuple[int, ...]", op.attributes["permutation"]) if op.type == "transpose" else ()


def _is_indifferent(graph: Graph, op: Op) -> bool:
    return op.schema.layout == "any" and all(len(graph.shape(o)) == 4 for o in op.outputs)


def _wanted(op: Op) -> Layout:
    """What an operator that is not indifferent reads at best."""
    nhwc = op.schema.layout == "nhwc" or _permutation(op) == TO_CHANNELS_LAST
    return "nhwc" if nhwc else "plain"


def _given(op: Op) -> Layout:
    """What an operator that is not indifferent makes at best."""
    nhwc = op.schema.layout == "nhwc" or _permutation(op) == TO_CHANNELS_FIRST
    return "nhwc" if nhwc else "plain"


def _is_free(shape: tuple[int, ...]) -> bool:
    """Whether both layouts of [n, c, h, w] are the same bytes."""
    return shape[1] == 1 or shape[2] * shape[3] == 1


def _is_weight(op: Op, index: int) -> bool:
    ports = op.schema.inputs
    return ports[min(index, len(ports) - 1)].constant


def _choose(graph: Graph) -> dict[int, Layout]:
    """The layout of every indifferent operator, by id(op). NHWC is the source's side of the cut."""
    cut = MinCut()
    nodes = {id(op): cut.node() for op in graph.ops() if _is_indifferent(graph, op)}
    terminal = {"nhwc": SOURCE, "plain": SINK}
    for name, var in graph.block.vars.items():
        if len(var.shape) != 4 or var.data is not None or _is_free(var.shape):
            continue
        maker = graph.producer(name)
        made = SINK if maker is None else nodes.get(id(maker), terminal[_given(maker)])
        read = {nodes.get(id(op), terminal[_wanted(op)]) for op in graph.readers(name)}
        if graph.program.is_output(name):
            read.add(SINK)
        # One conversion serves all readers that disagree with the maker: a node of its own joins
        # them, for either direction.
        cost = var.bytes + CALL_BYTES
        some_plain, some_nhwc = cut.node(), cut.node()
        cut.add(made, some_plain, cost)
        cut.add(some_nhwc, made, cost)
        for reader in read:
            cut.add(some_plain, reader, INFINITE)
            cut.add(reader, some_nhwc, INFINITE)
    side = cut.source_side()
    return {op: "nhwc" if node in side else "plain" for op, node in nodes.items()}


class _Converter:
    """Walks forward: results get their layouts, operators their operands in the one they want."""

    def __init__(self, graph: Graph, choice: dict[int, Layout]) -> None:
        self.graph = graph
        self.choice = choice
        self.twins: dict[tuple[str, Layout], str] = {}

    def run(self) -> None:
        for op in self.graph.ops():
            current = self._as_view(op)
            if current is op:
                wanted = self.choice.get(id(op), self._reads(op))
                given = self.choice.get(id(op), self._makes(op))
                inputs = [
                    name if not name or _is_weight(op, i) else self._operand(name, wanted, op)
                    for i, name in enumerate(op.inputs)
                ]
                self.graph.set_inputs(op, inputs)
                self._weights_follow(op, wanted)
                self._finish(op, given)

    def _reads(self, op: Op) -> Layout:
        return "plain" if op.type == "transpose" else _wanted(op)

    def _makes(self, op: Op) -> Layout:
        return "plain" if op.type == "transpose" else _given(op)

    def _as_view(self, op: Op) -> Op:
        """A transpose that spells out the other layout becomes a reshape; anything else stays."""
        x, y = op.inputs[0], op.outputs[0]
        shape = {"shape": self.graph.shape(y)}
        if _permutation(op) == TO_CHANNELS_LAST and self._layout(x) == "nhwc":
            view = self.graph.substitute(op, "reshape", [x], shape)
            self._finish(view, "plain")
            return view
        if _permutation(op) == TO_CHANNELS_FIRST and self._layout(x) == "plain":
            readers = self.graph.readers(y)
            if any(self.choice.get(id(r), _wanted(r)) == "nhwc" for r in readers):
                view = self.graph.substitute(op, "reshape", [x], shape)
                self._finish(view, "nhwc")
                return view
        return op

    def _layout(self, name: str) -> str:
        return self.graph.var(name).layout

    def _finish(self, op: Op, given: Layout) -> None:
        """Marks 4-D results; one that leaves the program as NHWC gets a plain twin of its name."""
        for name in list(op.outputs):
            var = self.graph.var(name)
            if len(var.shape) != 4:
                continue
            var.layout = given
            if given == "nhwc" and self.graph.program.is_output(name):
                self._rename(op, name)

    def _rename(self, op: Op, name: str) -> None:
        block = self.graph.block
        var = block.vars.pop(name)
        var.name = block.new_name(f"{name}.nhwc")
        block.vars[var.name] = var
        op.outputs = [var.name if o == name else o for o in op.outputs]
        self.graph.replace_uses(name, var.name)
        self.graph.insert_after(op, self._conversion(var.name, "plain", name))
        self.twins[var.name, "plain"] = name

    def _conversion(self, name: str, layout: Layout, result: str) -> Op:
        var = self.graph.var(name)
        if _is_free(var.shape):
            op = self.graph.block.make_op("reshape", [name], {"shape": var.shape}, [result])
        else:
            op = self.graph.block.make_op("convert_layout", [name], {"layout": layout}, [result])
        twin = self.graph.var(op.outputs[0])
        twin.layout, twin.quantization = layout, var.quantization
        return op

    def _operand(self, name: str, wanted: Layout, reader: Op) -> str:
        """`name` in the layout `wanted`: itself, or a twin that is made before `reader`."""
        var = self.graph.var(name)
        if (name, wanted) in self.twins:
            return self.twins[name, wanted]
        if len(var.shape) != 4:
            # A smaller operand of an element-wise operator is broadcast; against NHWC it must have
            # its dimensions named.
            broadcast = reader.schema.layout == "any" and var.count > 1
            if wanted == "plain" or len(var.shape) > 4 or not broadcast:
                return name
            twin = self._with_four_dimensions(name, reader)
            self.twins[name, wanted] = self._operand(twin, wanted, reader)
            return self.twins[name, wanted]
        if var.layout == wanted:
            return name
        if var.data is not None:
            twin = self.graph.block.add_constant(var.data, f"{name}.{wanted}", var.quantization)
            self.graph.var(twin).layout = wanted
        else:
            conversion = self._conversion(name, wanted, f"{name}.{wanted}")
            self.graph.insert_before(reader, conversion)
            (twin,) = conversion.outputs
        self.twins[name, wanted] = twin
        self.twins[twin, "nhwc" if wanted == "plain" else "plain"] = name
        return twin

    def _with_four_dimensions(self, name: str, reader: Op) -> str:
        var = self.graph.var(name)
        shape = (1,) * (4 - len(var.shape)) + var.shape
        if var.data is not None:
            return self.graph.block.add_constant(var.data.reshape(shape), name, var.quantization)
        view = self.graph.block.make_op("reshape", [name], {"shape": shape})
        self.graph.insert_before(reader, view)
        return view.outputs[0]

    def _weights_follow(self, op: Op, wanted: Layout) -> None:
        """A 4-D weight of an indifferent operator (a slope per element) lies as the operands do."""
        if op.schema.layout != "any":
            return
        inputs = list(op.inputs)
        for i, name in enumerate(inputs):
            if name and _is_weight(op, i) and len(self.graph.shape(name)) == 4:
                inputs[i] = self._operand(name, wanted, op)
        self.graph.set_inputs(op, inputs)
