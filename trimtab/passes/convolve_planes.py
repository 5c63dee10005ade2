"""A convolution of few channels, or in small groups, between images in plain order is computed
there, plane by plane; one of few outputs and a large window also behind another order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from trimtab.passes._graph import Graph
from trimtab.passes.resize_planes import ends_plain, is_plain
from trimtab.program import Op, Program

ORDER = 696  # before the layouts are chosen

_FEW = 8  # input channels of a group: of more, pixels in NHWC fill the vectors of a GEMM,
_MOST, _LIGHT = 128, 32  # unless two conversions take longer than so few products for an element,
_FEW_OUTPUTS, _DENSE = 4, 9  # or most lanes of its tiles were empty
_NARROWEST, _NARROWEST_LIGHT, _NARROWEST_DEPTHWISE = 16, 24, 32  # columns
_LEAST = 1 << 14  # elements read and written: fewer are converted in a few microseconds


def run(program: Program) -> None:
    """Leaves small images, residuals, and what is read or written in NHWC; and of transposed
    convolutions those with phases that read different pixels, and free dimensions.
    """
    graph = Graph(program)
    for op in graph.ops("conv", "conv_transpose"):
        w = graph.constant(op.inputs[1])
        if (
            w is not None
            and w.dtype == np.float32
            and graph.var(op.inputs[0]).dtype == "f32"
            and not any(op.inputs[3:])
            and (_is_dense(op, w) or is_plain(graph, graph.producer(op.inputs[0])))
            and ends_plain(graph, op.outputs[0])
        ):
            if op.type == "conv_transpose":
                _split_phases(graph, op, w)
            elif _is_large(graph, op, w, graph.shape(op.outputs[0])[3], len(w)):
                _replace(graph, op, w)


def _is_dense(op: Op, w: NDArray[np.float32]) -> bool:
    """Whether there are few outputs, and so many products for each pixel of the input that its
    conversion takes less time than the empty lanes of tiles.
    """
    outputs = w.shape[0 if op.type == "conv" else 1]
    products: float = math.prod(w.shape[2:]) / math.prod(op.attributes["strides"])
    return outputs <= _FEW_OUTPUTS and products >= _DENSE


def _is_large(graph: Graph, op: Op, w: NDArray[np.float32], width: int, outputs: int) -> bool:
    """Whether planes are faster than two conversions: the image is large enough, and there are few
    channels, `outputs`, or products. `width`: columns of a plane.
    """
    x, y = graph.var(op.inputs[0]), graph.var(op.outputs[0])
    elements, channels, group = x.count + y.count, w.shape[1], op.attributes["group"]
    narrowest = _NARROWEST_DEPTHWISE if group == y.shape[1] == x.shape[1] else _NARROWEST
    is_light = y.count * math.prod(w.shape[1:]) <= _LIGHT * elements or outputs <= _FEW_OUTPUTS
    is_wide = width >= narrowest and elements >= _LEAST
    few = _MOST if is_light and width >= _NARROWEST_LIGHT else _FEW
    return is_wide and channels <= few


def _replace(graph: Graph, op: Op, w: NDArray[np.float32]) -> None:
    operands = [op.inputs[0], _weights(graph, w, op.attributes["group"]), *op.inputs[2:3]]
    values = {name: op.attributes[name] for name in ("strides", "pads", "dilations", "group")}
    graph.substitute(op, "conv_planes", operands, {**values, **_epilogue(op)})


def _weights(graph: Graph, w: NDArray[np.float32], groups: int) -> str:
    outputs, inputs, *taps = w.shape
    by_group = w.reshape(groups, outputs // groups, inputs, *taps).transpose(0, 2, 3, 4, 1)
    return graph.block.add_constant(by_group.reshape(groups * inputs, *taps, -1))


def _epilogue(op: Op) -> dict[str, object]:
    names = ("clamp_min", "clamp_max", "activation", "alpha", "beta")
    return {name: op.attributes[name] for name in names}


def _split_phases(graph: Graph, op: Op, w: NDArray[np.float32]) -> None:
    """Computes the phases of a transposed convolution, whose windows are the same pixels, as the
    planes of a convolution, and interleaves them.
    """
    (rows, columns), pads = op.attributes["strides"], op.attributes["pads"]
    inputs, outputs, *taps = w.shape
    steps = (rows, columns, rows, columns)
    bias = graph.constant(op.inputs[2]) if any(op.inputs[2:3]) else None
    plain = (op.attributes["group"], op.attributes["dilations"], op.attributes["output_padding"])
    uneven = any(size % step for size, step in zip((*taps, *pads), steps + steps[:2], strict=True))
    if graph.is_free or uneven or plain != (1, (1, 1), (0, 0)):
        return
    height, width = (size // step for size, step in zip(taps, steps, strict=False))
    inner = tuple(
        size // step - 1 - pad // step
        for size, step, pad in zip(taps * 2, steps, pads, strict=True)
    )
    by_phase = w.reshape(inputs, outputs, height, rows, width, columns)[:, :, ::-1, :, ::-1]
    phases = by_phase.transpose(1, 3, 5, 0, 2, 4).reshape(-1, inputs, height, width)
    n, c, *size = graph.shape(op.outputs[0])
    planes = (n * c, rows, columns, size[0] // rows, size[1] // columns)
    is_large = _is_large(graph, op, phases, planes[-1], outputs)
    if outputs > _FEW_OUTPUTS or min(inner) < 0 or not is_large:
        return
    operands = [op.inputs[0], _weights(graph, phases, 1)]
    if bias is not None:
        operands.append(graph.block.add_constant(np.repeat(bias, rows * columns)))
    make = graph.block.make_op
    image = make("conv_planes", operands, {"pads": inner, **_epilogue(op)}, 1, op.name)
    split = make("reshape", image.outputs, {"shape": planes}, 1, op.name)
    lines = make("transpose", split.outputs, {"permutation": (0, 3, 1, 4, 2)}, 1, op.name)
    graph.insert_before(op, image, split, lines)
    graph.substitute(op, "reshape", lines.outputs, {"shape": (n, c, *size)})
