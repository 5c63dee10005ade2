"""Writes what calibration found into a program: pairs of quantize_linear and dequantize_linear.

It is the form that quantized models of other tools have too (QDQ): passes make operators on
integers of it, and whatever they leave is computed on real numbers. Weights are symmetric, with a
scale for each channel of the result, whose bias makes up for what rounding them does to its mean
(Nagel et al. 2019, 4.2); what operators read and give has one scale and zero point. Results of
products that operators on real numbers read, or the outside, are not rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trimtab.passes.fuse_qdq_conv import is_weighted, slopes_of, supports_float_result
from trimtab.program import Op, Program, Quantization
from trimtab.quantization.adaptive_rounding import MOST, NEAREST, Rounding
from trimtab.quantization.equalization import equalized
from trimtab.quantization.observer import Array, Range
from trimtab.quantization.ranges import Ranges

_BIAS_STEPS = 2.0**30  # a bias is an int32, of units of the products
_LEAST_SCALE = 2.0**-60
_HALFWAY = 1 / 64  # of a step, at most, from there
_WIDER = 1.25  # so much wider a range costs a third of a bit


def quantized(
    program: Program,
    ranges: Ranges,
    keep: Iterable[str] = (),
    rounding: Rounding = NEAREST,
) -> Program:
    """The simplified float32 `program` with its tensors in int8, where `ranges` has a range of all
    that an operator reads and gives. Operators named in `keep` stay in float32. `rounding`: of
    weights, by what was seen of their operands.
    """
    twin = equalized(program, ranges.factors)
    kept = frozenset(keep)
    chosen = [op for op in twin.ops if op.name not in kept and _can(twin, op, ranges)]
    chosen = [
        op
        for op in chosen
        if not op.schema.slope or op.schema.table or _sloped_product(twin, op) in chosen
    ]
    real = _real(twin, chosen)
    chosen = [op for op in chosen if is_weighted(op) or real.isdisjoint(op.outputs)]
    found = _joined(twin, chosen, ranges)
    exact = real | _inside(twin, chosen)
    wanted = {
        name
        for op in chosen
        for name in (*_activations(twin, op), *op.outputs)
        if name not in exact
    }
    ops, twin.block.ops = list(twin.ops), []
    weighted = [op for op in chosen if is_weighted(op)]
    given: dict[str, _Given] = {}
    for name in twin.inputs:
        if name in wanted:
            readers = [op for op in ops if name in op.inputs]
            summed = all(op in weighted for op in readers)
            moved = _moved(found[name]) if summed and not twin.is_output(name) else 0.0
            result = _quantize_input(twin, name, found[name], moved, ops)
            given[result] = _Given(name, moved)
    for op in ops:
        if op in weighted:
            _quantize_weights(twin, op, ranges, rounding, given.get(op.inputs[0]))
        results = [name for name in op.outputs if name in wanted]
        renamed = {name: _renamed(twin, op, name) for name in results}
        twin.block.ops.append(op)
        for name in results:
            _pair(twin, renamed[name], found[name], name)
    return twin


def able(program: Program, ranges: Ranges) -> set[str]:
    """The names of the operators that may compute on integers."""
    return {op.name for op in program.ops if _can(program, op, ranges)}


def quantization(found: Range) -> Quantization:
    """int8 with one scale and zero point: its integers reach from end to end, and one is 0."""
    least, most = min(found.least, 0.0), max(found.most, 0.0)
    scale = np.float32((most - least) / 255)
    if scale < np.finfo(np.float32).tiny:  # or 0: nothing was seen but that
        return Quantization.of(1.0)
    point = round(-128 - least / float(scale))
    return Quantization.of(scale, min(max(point, -128), 127))


def _activations(program: Program, op: Op) -> list[str]:
    """What an operator reads that is not constant."""
    return [name for name in op.inputs if name and program.vars[name].data is None]


def _can(program: Program, op: Op, ranges: Ranges) -> bool:
    """Whether an operator may compute on integers."""
    names = [*_activations(program, op), *op.outputs]
    constants = [name for name in op.inputs if name and program.vars[name].data is not None]
    if not is_quantizable(op) or not all(name in ranges.ranges for name in names):
        return False
    if is_weighted(op):
        weights = op.inputs[1]
        return weights in constants and all(
            len(program.block.consumers(name)) == 1 or name == weights for name in constants
        )
    if op.schema.slope and not op.schema.table:
        return _sloped_product(program, op) is not None
    return not constants


def is_quantizable(op: Op) -> bool:
    """True if int8 networks compute this operator on int8 values."""
    traits = op.schema
    return bool(traits.quantized_as or traits.table or traits.slope or traits.moves(op.attributes))


def _passes_on(op: Op) -> bool:
    """True if int8 results of `op` are only moved or mapped int8 operands."""
    return bool(op.schema.table or op.schema.slope or op.schema.moves(op.attributes))


def _real(program: Program, chosen: list[Op]) -> set[str]:
    """Results that stay real numbers: of products, and of what moves these or is a function of
    them, where no other operator on integers reads them.
    """
    ids = {id(op) for op in chosen}
    read: set[str] = set()  # by operators on integers, at last
    for op in reversed(program.ops):
        if id(op) in ids and (not _passes_on(op) or not read.isdisjoint(op.outputs)):
            read.update(op.inputs)
    found: set[str] = set()
    for op in chosen:
        product = is_weighted(op) and supports_float_result(program, op)
        follows = _passes_on(op) and not found.isdisjoint(op.inputs)
        if (product or follows) and read.isdisjoint(op.outputs):
            found.update(op.outputs)
    return found


def _inside(program: Program, chosen: list[Op]) -> set[str]:
    """Results that a bound or slopes follow, and nothing else reads: what these give is rounded."""
    found = set()
    for op in chosen:
        x = op.inputs[0]
        if op.schema.slope and _sloped_product(program, op) in chosen:
            found.add(x)
        elif op.schema.clamp and program.sole_reader(x) is not None:
            source = program.block.producer(x)
            if (
                source is not None
                and source in chosen
                and (is_weighted(source) or source.type == "add")
            ):
                found.add(x)
    return found


def _sloped_product(program: Program, op: Op) -> Op | None:
    """The product whose kernels can multiply what is below 0 as `op` does, which alone reads it."""
    product = program.block.producer(op.inputs[0])
    if product is None or not is_weighted(product) or not program.sole_reader(op.inputs[0]):
        return None
    return product if slopes_of(program, op, product) is not None else None


def _joined(program: Program, chosen: list[Op], ranges: Ranges) -> dict[str, Range]:
    """Ranges by tensor, one for all that go through operators which change none."""
    groups = _Groups(program, ranges)
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
                whole = whole.joined(groups.range_of(name))
            for name in operands:
                # Others that read it would lose steps: then its bytes alone are brought to the
                # scale of the concatenation.
                wider = whole.width > _WIDER * groups.range_of(name).width
                if not wider or groups.readers(name) == {op.name}:
                    groups.join(op.outputs[0], name)
    return {name: groups.range_of(name) for name in ranges.ranges}


class _Groups:
    """Tensors that have one range, which holds those of all."""

    def __init__(self, program: Program, ranges: Ranges) -> None:
        self._program = program
        self._members = {name: [name] for name in ranges.ranges}
        self._ranges = dict(ranges.ranges)
        for name in self._ranges:
            producer = program.block.producer(name)
            readers = {op.type for op in program.block.consumers(name)}
            # A gate that is cut off does little; its steps count, as all of a block goes through.
            if producer and producer.schema.result_range and readers != {"mul"}:
                self._ranges[name] = Range(*producer.schema.result_range)

    def range_of(self, name: str) -> Range:
        """That of its group."""
        return self._ranges[self._members[name][0]]

    def join(self, name: str, other: str) -> None:
        """Makes one group of theirs."""
        kept, lost = self._members[name], self._members[other]
        if kept is lost:
            return
        self._ranges[kept[0]] = self._ranges[kept[0]].joined(self._ranges[lost[0]])
        kept += lost
        for member in lost:
            self._members[member] = kept

    def readers(self, name: str) -> set[str]:
        """The operators that read tensors of its group and whose results are in none of it; with
        "" where one leaves the program.
        """
        members = set(self._members[name])
        found = {"" for member in members if self._program.is_output(member)}
        for member in members:
            readers = self._program.block.consumers(member)
            found |= {op.name for op in readers if not members & {*op.outputs}}
        return found


@dataclass(frozen=True)
class _Given:
    """The input `name` of a network, whose integers stand for so much more than it holds."""

    name: str
    moved: float


def _moved(found: Range) -> float:
    """What an input has to be moved by, so that its 0 is an integer, where that lies halfway
    between two, as of pictures with values from -1 to 1: each of theirs does, too, and would be
    rounded by half a step.
    """
    kept = quantization(found)
    scale = kept.scale[0]
    point = -128 - min(found.least, 0.0) / scale
    half = point - np.floor(point)
    return scale / 2 if abs(half - 0.5) <= _HALFWAY else 0.0


def _quantize_input(program: Program, name: str, found: Range, moved: float, ops: list[Op]) -> str:
    """Integers of an input for all that read it, and the name of what they stand for."""
    result = program.block.new_name(f"{name}.dequantized")
    real = name
    if moved:
        by = program.block.add_constant(np.array([moved], np.float32), f"{name}.by")
        (real,) = program.block.add_op("add", [name, by], {}, 1, f"{name}.moved")
        found = Range(min(found.least, 0.0) + moved, max(found.most, 0.0) + moved)
    _pair(program, real, found, result)
    for op in ops:
        op.inputs = [result if i == name else i for i in op.inputs]
    return result


def _renamed(program: Program, op: Op, name: str) -> str:
    """Gives the result `name` of an operator another name, so that its own is free."""
    new = program.block.new_name(f"{name}.real")
    var = program.vars.pop(name)
    var.name, program.vars[new] = new, var
    op.outputs = [new if o == name else o for o in op.outputs]
    return new


def _pair(program: Program, real: str, found: Range, name: str) -> None:
    """Integers of the real numbers `real`, and the real numbers `name` that these stand for."""
    (integers,) = program.block.add_op("quantize_linear", [real], {"to": "i8"}, 1, f"{name}.i8")
    program.vars[integers].quantization = quantization(found)
    program.vars[integers].check()
    program.block.add_op("dequantize_linear", [integers], None, [name], f"{name}.dequantize")


def _quantize_weights(
    program: Program, op: Op, ranges: Ranges, rounding: Rounding, given: _Given | None
) -> None:
    """Weights of 8 bits and a bias of 32 in the place of those of an operator; `given`: the input
    that it reads, if it is one.
    """
    x, w = op.inputs[:2]
    bias = op.inputs[2] if len(op.inputs) > 2 else ""
    source = program.block.producer(x)
    integers = program.vars[source.inputs[0] if source else x]
    step = integers.quantization.scale[0] if integers.quantization else 1.0
    weights = np.asarray(program.vars[w].data, np.float32)
    offsets = (
        np.zeros(len(weights)) if not bias else np.asarray(program.vars[bias].data, np.float64)
    )
    scales = weight_scales(weights, offsets, step)
    along = scales.reshape(-1, *[1] * (weights.ndim - 1))
    stored = rounding.of(op.name, weights, scales, step)
    if means := ranges.means.get(given.name if given else x):
        offsets = offsets + lost(weights - stored * along, np.array(means))
    moved = given.moved if given else 0.0
    offsets = offsets - moved * (stored * along).reshape(len(stored), -1).sum(axis=1)
    op.inputs[1] = _stored(program, stored, Quantization.of(scales, 0, 0), f"{w}.i8")
    if bias or means or moved:
        products = (np.float32(step) * scales).astype(np.float32)
        limit = 2**31 - 1
        sums = np.clip(np.rint(offsets / products), -limit, limit).astype(np.int32)
        name = f"{bias or f'{op.name}.bias'}.i32"
        constant = _stored(program, sums, Quantization.of(products, 0, 0), name)
        op.inputs[2:3] = [constant]


def lost(rounding: Array, means: Array) -> Array:
    """What rounding the weights takes from each channel of the result in the mean, where its
    operand has these means by channel.
    """
    by_channel = rounding.reshape(*rounding.shape[:2], -1).sum(axis=2)  # [c_out, c_in / group]
    c_out, depth = by_channel.shape
    group = np.arange(c_out) // (c_out // (len(means) // depth))
    return np.asarray((by_channel * means.reshape(-1, depth)[group]).sum(axis=1))


def weight_scales(weights: Array, bias: Array | None, step: float) -> Array:
    """A scale for each index of the first axis of `weights`, so that its largest magnitude is 127
    of them, and that the bias, in units of it and of the operand's `step`, is an int32.
    """
    scales = np.abs(weights).reshape(len(weights), -1).max(axis=1, initial=0.0) / MOST
    if bias is not None:
        scales = np.maximum(scales, np.abs(bias) / (step * _BIAS_STEPS))
    # Nothing but zeros, or what float32 holds of products with no more.
    return np.where(scales > _LEAST_SCALE, scales, 1.0).astype(np.float32)


def _stored(program: Program, data: Array, kept: Quantization, name: str) -> str:
    constant = program.block.add_constant(data, name, kept)
    (real,) = program.block.add_op("dequantize_linear", [constant], None, 1, f"{name}.dequantize")
    return real
