"""Inserts quantize_linear and dequantize_linear pairs into a float32 program (QDQ form).

Quantized models of other tools have the same form. Passes fuse the pairs into int8 operators;
operators that they leave compute in float32. Weights are symmetric, with a scale for each output
channel; the bias corrects the mean of their rounding errors (Nagel et al. 2019, 4.2). Activations
have one scale and zero point. A result of a convolution or GEMM that only float32 operators or the
caller read is not quantized.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trimtab.passes.fuse_qdq_conv import is_weighted, slopes_of, supports_float_result
from trimtab.program import Op, Program, Quantization
from trimtab.quantization.adaptive_rounding import WEIGHT_MAX, Rounding
from trimtab.quantization.equalization import equalized
from trimtab.quantization.observer import Array, Range
from trimtab.quantization.ranges import Ranges

_BIAS_LIMIT = 2.0**30  # a bias is an int32 in units of the products
_MIN_SCALE = 2.0**-60
_HALFWAY = 1 / 64  # tolerance of a zero point halfway between two integers, as a part of the scale
_WIDER = 1.25  # a range wider by this factor costs a third of a bit


def quantized(
    program: Program,
    ranges: Ranges,
    keep: Iterable[str] = (),
    rounding: Rounding | None = None,
) -> Program:
    """The simplified float32 `program` in QDQ form.

    An operator is quantized if `ranges` has all tensors that it reads and computes; operators named
    in `keep` stay in float32. `rounding` rounds the weights; without it, to nearest.
    """
    rounding = rounding or Rounding({})
    twin = equalized(program, ranges.factors)
    names = frozenset(keep)
    chosen = [op for op in twin.ops if op.name not in names and _supports(twin, op, ranges)]
    chosen = [op for op in chosen if not _needs_weights(op) or weighted_before(twin, op) in chosen]
    exact = _float_results(twin, chosen)
    chosen = [op for op in chosen if is_weighted(op) or exact.isdisjoint(op.outputs)]
    by_tensor = _shared_ranges(twin, chosen, ranges)
    exact = exact | _unrounded(twin, chosen)
    tensors = {
        name
        for op in chosen
        for name in (*_activations(twin, op), *op.outputs)
        if name not in exact
    }
    ops, twin.block.ops = list(twin.ops), []
    weighted = [op for op in chosen if is_weighted(op)]
    inputs: dict[str, _QuantizedInput] = {}
    for name in twin.inputs:
        if name in tensors:
            readers = [op for op in ops if name in op.inputs and not op.schema.checks]
            can_shift = all(op in weighted for op in readers) and not twin.is_output(name)
            shift = _shift(by_tensor[name]) if can_shift else 0.0
            result = _quantize_input(twin, name, by_tensor[name], shift, ops)
            inputs[result] = _QuantizedInput(name, shift)
    states: dict[str, str] = {}
    for op in ops:
        if op.schema.checks:
            op.inputs = [states.get(name, name) for name in op.inputs]
        if op in weighted:
            _quantize_weights(twin, op, ranges, rounding, inputs.get(op.inputs[0]))
        results = [name for name in op.outputs if name in tensors]
        renamed = {name: _renamed(twin, op, name) for name in results}
        if op.schema.prepares:
            states |= renamed
        twin.block.ops.append(op)
        for name in results:
            _add_pair(twin, renamed[name], by_tensor[name], name)
    return twin


def quantizable(program: Program, ranges: Ranges) -> set[str]:
    """The names of the operators that can compute on int8 values."""
    return {op.name for op in program.ops if _supports(program, op, ranges)}


def never_rounded(program: Program) -> set[str]:
    """The tensors that an int8 network rounds only if it leaves operators in float32."""
    names = [name for name, var in program.vars.items() if var.dtype == "f32"]
    ranges = Ranges(program.name, "", 1, dict.fromkeys(names, Range(0.0, 0.0)))
    return _unrounded(program, [op for op in program.ops if _supports(program, op, ranges)])


def quantization(range_: Range) -> Quantization:
    """The int8 scale and zero point of a range, extended so that 0 is exact."""
    low, high = min(range_.low, 0.0), max(range_.high, 0.0)
    scale = np.float32((high - low) / 255)
    if scale < np.finfo(np.float32).tiny:  # all values were 0
        return Quantization.of(1.0)
    point = round(-128 - low / float(scale))
    return Quantization.of(scale, min(max(point, -128), 127))


def _activations(program: Program, op: Op) -> list[str]:
    """The operands that are not constant."""
    return [name for name in op.inputs if name and program.vars[name].data is None]


def _supports(program: Program, op: Op, ranges: Ranges) -> bool:
    """True if int8 networks can compute this operator on int8 values."""
    traits, names = op.schema, [*_activations(program, op), *op.outputs]
    constants = [name for name in op.inputs if name and program.vars[name].data is not None]
    if not (traits.quantized_as or _passes_through(op)):
        return False
    if not all(name in ranges.ranges for name in names):
        return False
    if is_weighted(op):
        weights = op.inputs[1]
        return weights in constants and all(
            len(program.block.consumers(name)) == 1 or name == weights for name in constants
        )
    if _needs_weights(op):
        return weighted_before(program, op) is not None
    return not constants


def _passes_through(op: Op) -> bool:
    """True if an operator moves int8 values or maps each of them to another one."""
    return bool(op.schema.table or op.schema.slope or op.schema.moves(op.attributes))


def _needs_weights(op: Op) -> bool:
    """True if int8 networks compute this operator only in the epilogue of one with weights."""
    return bool(op.schema.slope) and not op.schema.table


def _float_results(program: Program, chosen: list[Op]) -> set[str]:
    """The results that stay in float32: those of operators with weights, and functions and
    movements of them, that no other int8 operator reads.
    """
    ids = {id(op) for op in chosen}
    read: set[str] = set()  # by int8 operators, directly or through functions and movements
    for op in reversed(program.ops):
        if id(op) in ids and (not _passes_through(op) or not read.isdisjoint(op.outputs)):
            read.update(op.inputs)
    exact: set[str] = set()
    for op in chosen:
        starts = is_weighted(op) and supports_float_result(program, op)
        follows = _passes_through(op) and not exact.isdisjoint(op.inputs)
        if (starts or follows) and read.isdisjoint(op.outputs):
            exact.update(op.outputs)
    return exact


def _unrounded(program: Program, chosen: list[Op]) -> set[str]:
    """The results that only a clamp or a slope in the same kernel reads; its result is rounded."""
    names = set()
    for op in chosen:
        x = op.inputs[0]
        if op.schema.slope and weighted_before(program, op) in chosen:
            names.add(x)
        elif op.schema.clamp and program.sole_reader(x) is not None:
            source = program.block.producer(x)
            clamps = source is not None and (is_weighted(source) or source.type == "add")
            if clamps and source in chosen:
                names.add(x)
    return names


def weighted_before(program: Program, op: Op) -> Op | None:
    """The operator with weights whose kernels can apply the slope of `op`, its only reader."""
    source = program.block.producer(op.inputs[0])
    if source is None or not is_weighted(source) or not program.sole_reader(op.inputs[0]):
        return None
    return source if slopes_of(program, op, source) is not None else None


def _shared_ranges(program: Program, chosen: list[Op], ranges: Ranges) -> dict[str, Range]:
    """Ranges by tensor; the tensors around a movement share one."""
    groups = _RangeGroups(program, ranges)
    for op in chosen:
        if op.schema.moves(op.attributes) and op.type != "concat":
            first, *others = (*_activations(program, op), *op.outputs)
            for name in others:
                groups.join(first, name)
    for op in chosen:
        if op.type == "concat":
            operands = _activations(program, op)
            whole = groups.range_of(op.outputs[0])
            for name in operands:
                whole = whole.union(groups.range_of(name))
            for name in operands:
                # Other readers would lose precision: then the concat requantizes its operand.
                wider = whole.width > _WIDER * groups.range_of(name).width
                if not wider or groups.readers(name) == {op.name}:
                    groups.join(op.outputs[0], name)
    return {name: groups.range_of(name) for name in ranges.ranges}


class _RangeGroups:
    """Groups of tensors with one range, the union of their ranges."""

    def __init__(self, program: Program, ranges: Ranges) -> None:
        self._program = program
        self._members = {name: [name] for name in ranges.ranges}
        self._ranges = dict(ranges.ranges)
        for name in self._ranges:
            producer = program.block.producer(name)
            readers = {op.type for op in program.block.consumers(name)}
            # Clipping a gate does little harm, but its precision matters: it scales a whole block.
            if producer and producer.schema.result_range and readers != {"mul"}:
                self._ranges[name] = Range(*producer.schema.result_range)

    def range_of(self, name: str) -> Range:
        """The range of the tensor's group."""
        return self._ranges[self._members[name][0]]

    def join(self, name: str, other: str) -> None:
        """Merges the groups of two tensors."""
        target, source = self._members[name], self._members[other]
        if target is source:
            return
        self._ranges[target[0]] = self._ranges[target[0]].union(self._ranges[source[0]])
        target += source
        for member in source:
            self._members[member] = target

    def readers(self, name: str) -> set[str]:
        """The names of the operators that read the tensor's group and compute none of it; contains
        "" if one of its tensors is a graph output.
        """
        members = set(self._members[name])
        names = {"" for member in members if self._program.is_output(member)}
        for member in members:
            readers = self._program.block.consumers(member)
            names |= {op.name for op in readers if not members & {*op.outputs}}
        return names


@dataclass(frozen=True)
class _QuantizedInput:
    """A graph input whose quantized tensor represents `name` + `shift`."""

    name: str
    shift: float


def _shift(range_: Range) -> float:
    """The shift that makes 0 of an input exact, if its zero point is halfway between two integers.

    This is so for pictures with values from -1 to 1, each of which would be rounded by half a
    scale.
    """
    scale = quantization(range_).scale[0]
    point = -128 - min(range_.low, 0.0) / scale
    fraction = point - np.floor(point)
    return scale / 2 if abs(fraction - 0.5) <= _HALFWAY else 0.0


def _quantize_input(program: Program, name: str, range_: Range, shift: float, ops: list[Op]) -> str:
    """Quantizes an input for all its readers; returns the name of the dequantized tensor."""
    result = program.block.new_name(f"{name}.dequantized")
    source = name
    if shift:
        by = program.block.add_constant(np.array([shift], np.float32), f"{name}.by")
        (source,) = program.block.add_op("add", [name, by], {}, 1, f"{name}.moved")
        range_ = Range(min(range_.low, 0.0) + shift, max(range_.high, 0.0) + shift)
    _add_pair(program, source, range_, result)
    for op in ops:
        if not op.schema.checks:
            op.inputs = [result if i == name else i for i in op.inputs]
    return result


def _renamed(program: Program, op: Op, name: str) -> str:
    """Renames the result `name` of an operator, so that the dequantized tensor can have its name.

    Returns the new name.
    """
    new = program.block.new_name(f"{name}.real")
    var = program.vars.pop(name)
    var.name, program.vars[new] = new, var
    op.outputs = [new if o == name else o for o in op.outputs]
    return new


def _add_pair(program: Program, source: str, range_: Range, name: str) -> None:
    """Appends a quantize_linear of `source` and a dequantize_linear to `name`."""
    (stored,) = program.block.add_op("quantize_linear", [source], {"to": "i8"}, 1, f"{name}.i8")
    program.vars[stored].quantization = quantization(range_)
    program.vars[stored].check()
    program.block.add_op("dequantize_linear", [stored], None, [name], f"{name}.dequantize")


def _quantize_weights(
    program: Program, op: Op, ranges: Ranges, rounding: Rounding, input: _QuantizedInput | None
) -> None:
    """Replaces the weights of an operator by int8 values and its bias by int32 values.

    `input`: the graph input that the operator reads, if it reads one.
    """
    x, w = op.inputs[:2]
    bias = op.inputs[2] if len(op.inputs) > 2 else ""
    source = program.block.producer(x)
    stored_x = program.vars[source.inputs[0] if source else x]
    x_scale = stored_x.quantization.scale[0] if stored_x.quantization else 1.0
    weights = np.asarray(program.vars[w].data, np.float32)
    offsets = (
        np.zeros(len(weights)) if not bias else np.asarray(program.vars[bias].data, np.float64)
    )
    scales = weight_scales(weights, offsets, x_scale)
    along = scales.reshape(-1, *[1] * (weights.ndim - 1))
    stored, errors = rounding.of(op.name, weights, scales, x_scale)
    if means := ranges.means.get(input.name if input else x):
        offsets = offsets + mean_error(errors, np.array(means))
    shift = input.shift if input else 0.0
    if shift:
        offsets = offsets - shift * (stored * along).reshape(len(stored), -1).sum(axis=1)
    op.inputs[1] = _stored(program, stored, Quantization.of(scales, 0, 0), f"{w}.i8")
    if bias or means or shift:
        units = (np.float32(x_scale) * scales).astype(np.float32)
        limit = 2**31 - 1
        sums = np.clip(np.rint(offsets / units), -limit, limit).astype(np.int32)
        name = f"{bias or f'{op.name}.bias'}.i32"
        constant = _stored(program, sums, Quantization.of(units, 0, 0), name)
        op.inputs[2:3] = [constant]


def mean_error(errors: Array, means: Array) -> Array:
    """The mean error of each output channel through rounding errors of the weights, summed over
    windows, [c_out, c_in / group], for operands with these means by channel.
    """
    c_out, depth = errors.shape
    group = np.arange(c_out) // (c_out // (len(means) // depth))
    return np.asarray((errors * means.reshape(-1, depth)[group]).sum(axis=1))


def weight_scales(weights: Array, bias: Array | None, x_scale: float) -> Array:
    """A scale for each output channel of `weights`: the largest magnitude is 127, and the bias, in
    units of the product with `x_scale`, fits an int32.
    """
    scales = np.abs(weights).reshape(len(weights), -1).max(axis=1, initial=0.0) / WEIGHT_MAX
    if bias is not None:
        scales = np.maximum(scales, np.abs(bias) / (x_scale * _BIAS_LIMIT))
    # Channels that are 0, or whose products would underflow float32.
    return np.where(scales > _MIN_SCALE, scales, 1.0).astype(np.float32)


def _stored(program: Program, data: Array, quantization: Quantization, name: str) -> str:
    """Adds a quantized constant; returns the name of its dequantized tensor."""
    constant = program.block.add_constant(data, name, quantization)
    (real,) = program.block.add_op("dequantize_linear", [constant], None, 1, f"{name}.dequantize")
    return real
