"""Convolutions and GEMMs with dequantized operands become int8 convolutions: with clamps, leaky
ReLU or PReLU and an int8 result if the result is quantized, else with a float32 result.

real(x) real(w) = sx sw (x - zx) w for weights without zero point. The sums of x w, minus zx times
the sums of the weights, are the result in units of sx sw; one factor per channel converts it to the
scale of the result. onnxruntime's QLinearConv and XNNPACK compute bit-equal results.

A result that is not quantized, as at the end of a detector, is the float32 value of the sums: it is
never rounded to 8 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.passes import _qdq as q
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program, Var

ORDER = 450

_INT32_RANGE = 2**31
_WINDOW = ("strides", "pads", "dilations", "group")


def run(program: Program) -> None:
    """Matches DQ, conv or gemm, then optionally slopes, clamps and Q."""
    graph = Graph(program)
    for op in graph.ops():
        if not is_weighted(op):
            continue
        x = q.stored(graph, op.inputs[0])
        end = _end(graph, op)
        w = q.stored_constant(graph, op.inputs[1])
        if x is None or w is None or op.operand("residual"):
            continue
        if graph.is_free and len(x.shape) not in (2, 4):
            continue  # the number of its rows is a product of free dimensions
        operands = _operands(graph, op, x, w)
        if operands is None:
            continue
        weights, bias, units = operands
        constants: _Constants = {"weight": weights, "bias": bias, "scale": units}
        if end is not None:
            y = graph.var(end.last.outputs[0])
            factors = np.asarray(units / q.quantization(y)[0], np.float32)
            # The kernels support slopes only with factors below 1.
            if end.slopes is None or np.all(np.abs(factors) < 1):
                constants["scale"] = factors
                if end.slopes is not None:
                    constants["slope"] = end.slopes
                clamp = q.clamp_attributes(end.low, end.high, y)
                _replace(graph, op, x, end.last, constants, clamp)
                continue
        if supports_float_result(program, op):
            _replace(graph, op, x, op, constants, {"to": "f32"})


def is_weighted(op: Op) -> bool:
    """True for operators with weights that have an int8 counterpart: conv and gemm."""
    return bool(op.schema.quantized_as) and op.schema.channel_axis is not None


def supports_float_result(program: Program, op: Op) -> bool:
    """True if the int8 kernels of `op` can return float32; those of depthwise convolutions only
    requantize.
    """
    w = program.vars[op.inputs[1]].shape
    return op.type == "gemm" or not (op.attributes["group"] == w[0] and w[1] == 1)


@dataclass(frozen=True)
class _End:
    """The operators from a conv or gemm to its quantized result: a factor per channel for negative
    values (or None), then clamps, then the quantize_linear `last`.
    """

    slopes: NDArray[np.float32] | None
    low: float
    high: float
    last: Op


def _end(graph: Graph, weighted: Op) -> _End | None:
    """The end of `weighted`; None if its result is not quantized or has other readers."""
    name = weighted.outputs[0]
    op, slopes = graph.sole_reader(name), None
    if op is not None and (slopes := slopes_of(graph.program, op, weighted)) is not None:
        name = op.outputs[0]
    bounded = q.bounded(graph, name)
    return _End(slopes, *bounded) if bounded else None


def slopes_of(program: Program, op: Op, weighted: Op) -> NDArray[np.float32] | None:
    """The factors, one per channel, by which `op` multiplies negative results of `weighted`.

    None if `op` has no slope, or one above 1 in magnitude.
    """
    shape = program.vars[op.outputs[0]].shape
    axis = weighted.schema.channel_axis
    assert axis is not None
    slope, slopes = op.schema.slope, None
    if slope in op.attributes:
        slopes = np.array([op.attributes[slope]])
    elif slope and (data := program.vars[op.operand(slope)].data) is not None:
        along = data.reshape(*[1] * (len(shape) - data.ndim), *data.shape)
        slopes = data.ravel() if data.size == along.shape[axis] else None
    if slopes is None or not np.all(np.abs(slopes) <= 1):
        return None
    return np.broadcast_to(slopes, shape[axis]).astype(np.float32)


_Constants = dict[str, NDArray[Any]]  # by role
_Operands = tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.float32]]


def _operands(graph: Graph, op: Op, x: Var, w: Var) -> _Operands | None:
    """Weights, int32 biases and the units of the sums; None if int8 kernels do not support them."""
    assert w.data is not None
    assert w.quantization is not None
    if w.dtype != q.DTYPE or any(w.quantization.zero_point) or w.quantization.axis not in (None, 0):
        return None
    columns = w.shape[0]
    sx, zx = q.quantization(x)
    sw = np.broadcast_to(np.array(w.quantization.scale, np.float32), (columns,))
    units = sx * sw
    bias = _bias(graph, op.operand("bias"), units)
    if bias is None:
        return None
    weights = w.data.reshape(columns, -1).astype(np.int64)
    bias = bias - zx * weights.sum(axis=1)
    if np.any(np.abs(bias) + 128 * np.abs(weights).sum(axis=1) >= _INT32_RANGE):
        return None
    data = w.data if w.data.ndim == 4 else w.data.reshape(*w.data.shape, 1, 1)
    return data, bias.astype(np.int32), units


def _bias(graph: Graph, name: str, units: NDArray[np.float32]) -> NDArray[np.int64] | None:
    """The bias in units of the sums: the stored int32 values, or a float32 bias rounded to them."""
    if not name:
        return np.zeros(units.shape, np.int64)
    var = q.stored_constant(graph, name)
    if var is not None and var.data is not None and var.quantization is not None:
        scales = np.array(var.quantization.scale, np.float32)
        same = np.isclose(scales, units, 1e-6, 0) | (var.data == 0)
        if not any(var.quantization.zero_point) and np.all(same):
            return var.data.astype(np.int64)
        real = var.quantization.dequantize(var.data)
    else:
        constant = graph.constant(name)
        if constant is None:
            return None
        real = constant
    rounded = np.rint(real.astype(np.float64) / units)
    return rounded.astype(np.int64) if np.all(np.abs(rounded) < _INT32_RANGE) else None


def _replace(
    graph: Graph,
    op: Op,
    x: Var,
    last: Op,
    constants: _Constants,
    result: dict[str, Any],
) -> None:
    """Replaces `last` (`op` itself, or the quantize_linear of its result) by the int8 operator.

    `result`: the attributes that define the result's type and clamps.
    """
    block, type = graph.block, op.schema.quantized_as
    names = [
        block.add_constant(np.ascontiguousarray(data), f"{op.name}.{role}")
        for role, data in constants.items()
    ]
    if op.type == "conv":
        values = {name: op.attributes[name] for name in _WINDOW} | result
        graph.substitute(last, type, [x.name, *names], values)
        return
    rows, columns = x.count // x.shape[-1], len(constants["weight"])
    to_pixels: tuple[str, dict[str, Any]] = "reshape", {"shape": (rows, x.shape[-1], 1, 1)}
    if graph.is_free:
        to_pixels = graph.view(x.name, (0, 1, -1, -1))
    pixels = block.make_op(to_pixels[0], [x.name], to_pixels[1])
    product = block.make_op(type, [*pixels.outputs, *names], result, 1, op.name)
    y = graph.var(last.outputs[0])
    graph.var(product.outputs[0]).quantization = y.quantization
    assert graph.shape(product.outputs[0])[1] == columns
    graph.insert_before(last, pixels, product)
    to_rows: tuple[str, dict[str, Any]] = "reshape", {"shape": y.shape}
    if graph.is_free:
        to_rows = graph.view(product.outputs[0], (0, 1))
    graph.substitute(last, to_rows[0], product.outputs, to_rows[1])
