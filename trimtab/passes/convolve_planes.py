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

# Input channels of a group: of more, pixels in NHWC fill the vectors of a GEMM.
_FEW = 8
# Unless the two conversions of layout take longer than so few products for each element, or so few
# outputs leave most lanes of a tile empty; of more input channels they do not.
_LIGHT = {"conv": 32, "conv_transpose": 48}
_FEW_OUTPUTS = 4
_MOST = 128
# Products of each pixel of the input with one output, from which on empty lanes take longer than
# the conversion of an input in NHWC, on NEON, too, whose vectors are four wide.
_DENSE = 49
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
                _replace_transposed(graph, op, w)
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
    products = math.prod(w.shape[1:]) * y.count
    is_light = products <= _LIGHT[op.type] * elements or outputs <= _FEW_OUTPUTS
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


def _replace_transposed(graph: Graph, op: Op, w: NDArray[np.float32]) -> None:
    """The neighbors in the result that read the same pixels are the outputs of a window: zeros
    around the taps make their number a multiple of the stride. Leaves groups and dilations.
    """
    steps = op.attributes["strides"]
    inputs, outputs, *taps = w.shape
    sizes = zip(graph.shape(op.inputs[0])[2:], graph.shape(op.outputs[0])[2:], strict=True)
    before = [-pad % step for pad, step in zip(op.attributes["pads"], steps, strict=False)]
    windows = [-(-(a + k) // step) for a, k, step in zip(before, taps, steps, strict=True)]
    after = [n * step - a - k for n, step, a, k in zip(windows, steps, before, taps, strict=True)]
    wide = np.pad(w, [(0, 0), (0, 0), *zip(before, after, strict=True)])
    (height, width), (rows, columns) = windows, steps
    by_phase = wide.reshape(inputs, outputs, height, rows, width, columns)[:, :, ::-1, :, ::-1]
    phases = by_phase.transpose(1, 3, 5, 0, 2, 4).reshape(-1, inputs, height, width)
    first = [
        n - 1 - (pad + a) // step
        for n, pad, a, step in zip(windows, op.attributes["pads"], before, steps, strict=False)
    ]
    blocks = [(-(-y // step), -y % step, x) for (x, y), step in zip(sizes, steps, strict=True)]
    last = [y - x - pad + n - 1 for (y, _, x), pad, n in zip(blocks, first, windows, strict=True)]
    bias = graph.constant(op.inputs[2]) if any(op.inputs[2:3]) else None
    is_simple = (op.attributes["group"], op.attributes["dilations"]) == (1, (1, 1))
    is_fixed = bias is not None or not any(op.inputs[2:3])
    if (
        not (is_simple and is_fixed and min(*first, *last) >= 0)
        or graph.is_free
        or not _is_large(graph, op, phases, blocks[1][0], outputs)
    ):
        return
    operands = [op.inputs[0], _weights(graph, phases, 1)]
    if bias is not None:
        operands.append(graph.block.add_constant(np.repeat(bias, rows * columns)))
    values = {"pads": (*first, *last), "phases": steps, "crop": tuple(b[1] for b in blocks)}
    graph.substitute(op, "conv_planes", operands, {**values, **_epilogue(op)})
