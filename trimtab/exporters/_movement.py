"""What moves elements, combines two operands, or reduces one."""

from __future__ import annotations

import numpy as np
from onnx import helper

from trimtab.exporters._graph import Graph, emits, refusal
from trimtab.program import Op
from trimtab.program.program import NUMPY_DTYPES

_BINARY = {
    "div": "Div",
    "max": "Max",
    "min": "Min",
    "mul": "Mul",
    "pow": "Pow",
    "prelu": "PRelu",
    "sub": "Sub",
}
_RELATIONS = {"equal": "Equal", "less": "Less", "less_or_equal": "LessOrEqual"}
_REDUCTIONS = {
    "reduce_max": "ReduceMax",
    "reduce_mean": "ReduceMean",
    "reduce_min": "ReduceMin",
    "reduce_sum": "ReduceSum",
}
_TO_NHWC, _TO_PLAIN = (0, 2, 3, 1), (0, 3, 1, 2)


@emits(*_BINARY)
def binary(graph: Graph, op: Op) -> None:
    """Operands in the same order, numpy broadcasting."""
    graph.node(_BINARY[op.type], op.inputs, op.outputs[0])


@emits("where")
def where(graph: Graph, op: Op) -> None:
    """Runtimes choose among numbers; a choice among truth values is logic."""
    condition, a, b = op.inputs
    if graph.var(op.outputs[0]).dtype != "bool":
        graph.node("Where", op.inputs, op.outputs[0])
        return
    chosen = graph.node("And", [condition, a])
    other = graph.node("And", [graph.node("Not", [condition]), b])
    graph.node("Or", [chosen, other], op.outputs[0])


@emits("compare")
def compare(graph: Graph, op: Op) -> None:
    """A relation is an operator."""
    graph.node(_RELATIONS[op.attributes["relation"]], op.inputs, op.outputs[0])


@emits("cast")
def cast(graph: Graph, op: Op) -> None:
    """To another element type."""
    dtype = np.dtype(NUMPY_DTYPES[op.attributes["to"]])
    graph.node("Cast", op.inputs, op.outputs[0], to=helper.np_dtype_to_tensor_dtype(dtype))


@emits("convert_layout")
def convert_layout(graph: Graph, op: Op) -> None:
    """ONNX has one memory order."""
    graph.node("Identity", op.inputs, op.outputs[0])


@emits("reshape")
def reshape(graph: Graph, op: Op) -> None:
    """Elements keep their places in memory, which may lie pixel by pixel before or after."""
    x, before, after = op.inputs[0], graph.var(op.inputs[0]), graph.var(op.outputs[0])
    if before.layout == "nhwc":
        x = graph.node("Transpose", [x], perm=_TO_NHWC)
    shape = list(after.shape)
    if after.layout == "nhwc":
        shape = [shape[i] for i in _TO_NHWC]
    wanted = graph.constant(shape, "i64", "shape")
    if after.layout == "nhwc":
        x = graph.node("Reshape", [x, wanted], allowzero=1)
        graph.node("Transpose", [x], op.outputs[0], perm=_TO_PLAIN)
    else:
        graph.node("Reshape", [x, wanted], op.outputs[0], allowzero=1)


@emits("transpose")
def transpose(graph: Graph, op: Op) -> None:
    """The same permutation."""
    graph.node("Transpose", op.inputs, op.outputs[0], perm=op.attributes["permutation"])


@emits("concat", "softmax", "log_softmax", "gather", "gather_elements")
def along_an_axis(graph: Graph, op: Op) -> None:
    """Operators that have nothing but an axis."""
    names = {
        "concat": "Concat",
        "softmax": "Softmax",
        "log_softmax": "LogSoftmax",
        "gather": "Gather",
        "gather_elements": "GatherElements",
    }
    graph.node(names[op.type], op.inputs, op.outputs[0], axis=op.attributes["axis"])


@emits("split")
def split(graph: Graph, op: Op) -> None:
    """Parts of given sizes."""
    sizes = graph.constant(op.attributes["sizes"], "i64", "sizes")
    graph.node("Split", [op.inputs[0], sizes], op.outputs, axis=op.attributes["axis"])


@emits("slice")
def cut(graph: Graph, op: Op) -> None:
    """Bounds are inputs."""
    given = op.attributes
    steps = given["steps"] or [1] * len(given["axes"])
    parts = {"starts": given["starts"], "ends": given["ends"], "axes": given["axes"]}
    names = [graph.constant(v, "i64", k) for k, v in {**parts, "steps": steps}.items()]
    graph.node("Slice", [op.inputs[0], *names], op.outputs[0])


@emits("expand", "tile")
def repeated(graph: Graph, op: Op) -> None:
    """How often, or to which shape, is an input."""
    name, key = {"expand": ("Expand", "shape"), "tile": ("Tile", "repeats")}[op.type]
    count = graph.constant(op.attributes[key], "i64", key)
    graph.node(name, [op.inputs[0], count], op.outputs[0])


@emits("pad")
def pad(graph: Graph, op: Op) -> None:
    """Amounts and value are inputs."""
    given = op.attributes
    operands = [op.inputs[0], graph.constant(given["pads"], "i64", "pads")]
    if given["mode"] == "constant":
        operands.append(graph.constant(given["value"], graph.var(op.inputs[0]).dtype, "value"))
    graph.node("Pad", operands, op.outputs[0], mode=given["mode"])


@emits(*_REDUCTIONS)
def reduction(graph: Graph, op: Op) -> None:
    """Axes are an input."""
    axes = graph.constant(op.attributes["axes"], "i64", "axes")
    keep = int(op.attributes["keep_dims"])
    graph.node(_REDUCTIONS[op.type], [op.inputs[0], axes], op.outputs[0], keepdims=keep)


@emits("arg_max")
def arg_max(graph: Graph, op: Op) -> None:
    """The index of the largest."""
    given = op.attributes
    named = {"keepdims": int(given["keep_dims"]), "axis": given["axis"]}
    last = int(given["select_last_index"])
    graph.node("ArgMax", op.inputs, op.outputs[0], **named, select_last_index=last)


@emits("top_k")
def top_k(graph: Graph, op: Op) -> None:
    """Best first."""
    given = op.attributes
    k = graph.constant([given["k"]], "i64", "k")
    named = {"axis": given["axis"], "largest": int(given["largest"]), "sorted": 1}
    graph.node("TopK", [op.inputs[0], k], op.outputs, **named)


@emits("depth_to_space", "space_to_depth")
def blocks(graph: Graph, op: Op) -> None:
    """Channels into blocks of pixels, and back."""
    size = op.attributes["block_size"]
    if op.type == "space_to_depth":
        graph.node("SpaceToDepth", op.inputs, op.outputs[0], blocksize=size)
    else:
        mode = op.attributes["mode"].upper()
        graph.node("DepthToSpace", op.inputs, op.outputs[0], blocksize=size, mode=mode)


@emits("channel_shuffle")
def channel_shuffle(graph: Graph, op: Op) -> None:
    """Groups of channels become a dimension, which changes places with the channels in one."""
    x, group = graph.var(op.inputs[0]), op.attributes["group"]
    n, c, h, w = x.shape
    apart = graph.constant([n, group, c // group, h, w], "i64", "shape")
    whole = graph.constant(list(x.shape), "i64", "shape")
    y = graph.node("Reshape", [x.name, apart], allowzero=1)
    y = graph.node("Transpose", [y], perm=[0, 2, 1, 3, 4])
    if len(op.outputs) == 1:
        graph.node("Reshape", [y, whole], op.outputs[0], allowzero=1)
    else:
        y = graph.node("Reshape", [y, whole], allowzero=1)
        sizes = graph.constant([graph.var(o).shape[1] for o in op.outputs], "i64", "sizes")
        graph.node("Split", [y, sizes], op.outputs, axis=1)


@emits("resize")
def resize(graph: Graph, op: Op) -> None:
    """By scales where the model had some, else by sizes."""
    given, x = op.attributes, graph.var(op.inputs[0])
    coordinates = given["coordinate_mode"]
    if coordinates in ("tf_crop_and_resize", "tf_half_pixel_for_nn"):
        raise refusal(op, f"coordinates of {coordinates}")
    named = {
        "mode": given["mode"],
        "coordinate_transformation_mode": coordinates,
        "antialias": int(given["antialias"]),
        "exclude_outside": int(given["exclude_outside"]),
    }
    if given["mode"] == "nearest":
        named["nearest_mode"] = given["nearest_mode"]
    sizes = tuple(given["sizes"])
    scales = [float(np.float32(s)) for s in given["scales"]]
    if scales:
        made = [
            int(np.float32(n) * np.float32(s)) for n, s in zip(x.shape[2:], scales, strict=True)
        ]
        if tuple(made) != sizes:
            raise refusal(op, f"scales {given['scales']} for a result of {list(sizes)}")
        factor = graph.constant([1, 1, *scales], "f32", "scales")
        graph.node("Resize", [x.name, "", factor], op.outputs[0], **named)
    else:
        wanted = graph.constant([*x.shape[:2], *sizes], "i64", "sizes")
        graph.node("Resize", [x.name, "", "", wanted], op.outputs[0], **named)
