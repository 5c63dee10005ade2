"""Operators that move, select or reduce elements."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from trimtab import schema
from trimtab.exporters.onnx_ops.graph import OnnxGraph, attributes_of, emits, refusal
from trimtab.importers.onnx_ops.condition import COMPARE
from trimtab.program import Op
from trimtab.program.block import NUMPY_DTYPES

_RELATIONS = {relation: type for type, (relation, swapped) in COMPARE.items() if not swapped}


@emits("where")
def where(graph: OnnxGraph, op: Op) -> None:
    """Runtimes implement Where for numbers only; bool becomes logic."""
    condition, a, b = op.inputs
    if graph.var(op.outputs[0]).dtype != "bool":
        graph.node("Where", op.inputs, op.outputs[0])
        return
    first = graph.node("And", [condition, a])
    second = graph.node("And", [graph.node("Not", [condition]), b])
    graph.node("Or", [first, second], op.outputs[0])


@emits("compare")
def compare(graph: OnnxGraph, op: Op) -> None:
    """Each relation is an ONNX operator."""
    graph.node(_RELATIONS[op.attributes["relation"]], op.inputs, op.outputs[0])


@emits("cast")
def cast(graph: OnnxGraph, op: Op) -> None:
    """Writes Cast."""
    dtype = np.dtype(NUMPY_DTYPES[op.attributes["to"]])
    graph.node("Cast", op.inputs, op.outputs[0], to=helper.np_dtype_to_tensor_dtype(dtype))


@emits("reshape")
def reshape(graph: OnnxGraph, op: Op) -> None:
    """The shape is an input."""
    shape = graph.constant(graph.var(op.outputs[0]).shape, "i64", "shape")
    graph.node("Reshape", [op.inputs[0], shape], op.outputs[0], allowzero=1)


@emits("transpose")
def transpose(graph: OnnxGraph, op: Op) -> None:
    """Writes Transpose with the same permutation."""
    graph.node("Transpose", op.inputs, op.outputs[0], perm=op.attributes["permutation"])


def _int64(graph: OnnxGraph, indices: str) -> str:
    if graph.var(indices).dtype == "i64":
        return indices
    return graph.node("Cast", [indices], to=TensorProto.INT64)


@emits("gather_nd")
def gather_nd(graph: OnnxGraph, op: Op) -> None:
    """Writes GatherND."""
    x, indices = op.inputs
    graph.node("GatherND", [x, _int64(graph, indices)], op.outputs[0])


@emits("scatter_nd")
def scatter_nd(graph: OnnxGraph, op: Op) -> None:
    """Writes ScatterND, or of single elements ScatterElements."""
    x, indices, updates = op.inputs
    name, values = "ScatterND", {"reduction": op.attributes["reduction"]}
    if op.attributes["by_element"]:
        name, values["axis"] = "ScatterElements", op.attributes["axis"]
    graph.node(name, [x, _int64(graph, indices), updates], op.outputs[0], **values)


@emits("split")
def split(graph: OnnxGraph, op: Op) -> None:
    """The sizes are an input."""
    sizes = graph.constant(op.attributes["sizes"], "i64", "sizes")
    graph.node("Split", [op.inputs[0], sizes], op.outputs, axis=op.attributes["axis"])


@emits("slice")
def cut(graph: OnnxGraph, op: Op) -> None:
    """Bounds, axes and steps are inputs."""
    values = op.attributes
    steps = values["steps"] or [1] * len(values["axes"])
    operands = {"starts": values["starts"], "ends": values["ends"], "axes": values["axes"]}
    names = [graph.constant(v, "i64", k) for k, v in {**operands, "steps": steps}.items()]
    graph.node("Slice", [op.inputs[0], *names], op.outputs[0])


@emits("expand", "tile")
def repeated(graph: OnnxGraph, op: Op) -> None:
    """The shape or the repeats are an input."""
    name, key = {"expand": ("Expand", "shape"), "tile": ("Tile", "repeats")}[op.type]
    count = graph.constant(op.attributes[key], "i64", key)
    graph.node(name, [op.inputs[0], count], op.outputs[0])


@emits("pad")
def pad(graph: OnnxGraph, op: Op) -> None:
    """Amounts and value are inputs."""
    values = op.attributes
    operands = [op.inputs[0], graph.constant(values["pads"], "i64", "pads")]
    if values["mode"] == "constant":
        operands.append(graph.constant(values["value"], graph.var(op.inputs[0]).dtype, "value"))
    graph.node("Pad", operands, op.outputs[0], mode=values["mode"])


@emits(*(op.name for op in schema.operators().values() if op.kind == "reduction"))
def reduction(graph: OnnxGraph, op: Op) -> None:
    """The axes are an input."""
    axes = graph.constant(op.attributes["axes"], "i64", "axes")
    keep = int(op.attributes["keep_dims"])
    graph.node(op.schema.onnx, [op.inputs[0], axes], op.outputs[0], keepdims=keep)


@emits("arg_max")
def arg_max(graph: OnnxGraph, op: Op) -> None:
    """Writes ArgMax with its flags as ints."""
    values = op.attributes
    attributes = {"keepdims": int(values["keep_dims"]), "axis": values["axis"]}
    last = int(values["select_last_index"])
    graph.node("ArgMax", op.inputs, op.outputs[0], **attributes, select_last_index=last)


@emits("top_k")
def top_k(graph: OnnxGraph, op: Op) -> None:
    """k is an input; results are sorted."""
    values = op.attributes
    k = graph.constant([values["k"]], "i64", "k")
    attributes = {"axis": values["axis"], "largest": int(values["largest"]), "sorted": 1}
    graph.node("TopK", [op.inputs[0], k], op.outputs, **attributes)


@emits("roi_align")
def roi_align(graph: OnnxGraph, op: Op) -> None:
    """Writes RoiAlign with means; the indices of images must be i64."""
    values = op.attributes
    images = op.inputs[2]
    if graph.program.vars[images].dtype != "i64":
        images = graph.node("Cast", [images], to=TensorProto.INT64)
    half = "half_pixel" if values["half_pixel"] else "output_half_pixel"
    graph.node(
        "RoiAlign",
        [*op.inputs[:2], images],
        op.outputs[0],
        output_height=values["rows"],
        output_width=values["columns"],
        sampling_ratio=values["samples"],
        spatial_scale=values["scale"],
        coordinate_transformation_mode=half,
        mode="avg",
    )


@emits("depth_to_space", "space_to_depth")
def blocks(graph: OnnxGraph, op: Op) -> None:
    """Writes SpaceToDepth or DepthToSpace."""
    size = op.attributes["block_size"]
    if op.type == "space_to_depth":
        graph.node("SpaceToDepth", op.inputs, op.outputs[0], blocksize=size)
    else:
        mode = op.attributes["mode"].upper()
        graph.node("DepthToSpace", op.inputs, op.outputs[0], blocksize=size, mode=mode)


@emits("channel_shuffle")
def channel_shuffle(graph: OnnxGraph, op: Op) -> None:
    """Writes Reshape, Transpose, Reshape: the groups become a dimension that is transposed with
    the channels of a group.
    """
    x, group = graph.var(op.inputs[0]), op.attributes["group"]
    n, c, h, w = x.shape
    split = graph.constant([n, group, c // group, h, w], "i64", "shape")
    whole = graph.constant(list(x.shape), "i64", "shape")
    y = graph.node("Reshape", [x.name, split], allowzero=1)
    y = graph.node("Transpose", [y], perm=[0, 2, 1, 3, 4])
    if len(op.outputs) == 1:
        graph.node("Reshape", [y, whole], op.outputs[0], allowzero=1)
    else:
        y = graph.node("Reshape", [y, whole], allowzero=1)
        sizes = graph.constant([graph.var(o).shape[1] for o in op.outputs], "i64", "sizes")
        graph.node("Split", [y, sizes], op.outputs, axis=1)


@emits("grid_sample")
def grid_sample(graph: OnnxGraph, op: Op) -> None:
    """Writes GridSample, whose padding has another name."""
    values = attributes_of(op.schema, op.attributes)
    values["padding_mode"] = values.pop("padding")
    graph.node("GridSample", op.inputs, op.outputs, **values)


@emits("resize")
def resize(graph: OnnxGraph, op: Op) -> None:
    """Writes scales if the operator has them, else sizes."""
    values, x = op.attributes, graph.var(op.inputs[0])
    coordinates = values["coordinate_mode"]
    if coordinates in ("tf_crop_and_resize", "tf_half_pixel_for_nn"):
        raise refusal(op, f"coordinate_mode {coordinates}")
    attributes = {
        "mode": values["mode"],
        "coordinate_transformation_mode": coordinates,
        "antialias": int(values["antialias"]),
        "exclude_outside": int(values["exclude_outside"]),
    }
    if values["mode"] == "nearest":
        attributes["nearest_mode"] = values["nearest_mode"]
    sizes = tuple(values["sizes"])
    scales = [float(np.float32(s)) for s in values["scales"]]
    if scales:
        resized = [
            int(np.float32(n) * np.float32(s)) for n, s in zip(x.shape[2:], scales, strict=True)
        ]
        if tuple(resized) != sizes:
            raise refusal(op, f"scales {values['scales']} with sizes {list(sizes)}")
        factor = graph.constant([1, 1, *scales], "f32", "scales")
        graph.node("Resize", [x.name, "", factor], op.outputs[0], **attributes)
    else:
        size = graph.constant([*x.shape[:2], *sizes], "i64", "sizes")
        graph.node("Resize", [x.name, "", "", size], op.outputs[0], **attributes)
