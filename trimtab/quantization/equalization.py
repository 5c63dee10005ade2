"""Cross-layer equalization: scales channels to similar ranges in an equivalent program (Nagel et
al. 2019, 4.1).

All channels of a tensor share one scale, so a channel of small values uses few int8 steps. A
convolution can multiply a channel by a factor if the convolutions that read it divide by the
factor: relu(s x) = s relu(x), and likewise for leaky ReLU, maxima, means and sums. A depthwise
reader has a weight scale for each channel and loses nothing. Any other reader shares a weight scale
among the channels that it sums; there the benefit for activations is weighed against the loss for
weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from trimtab.program import Op, Program
from trimtab.quantization.observer import Array

_MAX_FACTOR = 2.0**8  # limits how far a channel with unseen large values is clipped
# The error of adaptively rounded weights relative to rounding to nearest: 0.1 to 0.4 in three
# detectors, whose noise is smallest with values of 0.03 to 0.3 here.
_ROUNDING_GAIN = 0.1
# The next sample may exceed the observed range. With few samples, channels keep a distance from the
# end of the range, where they would be clipped.
_UNSEEN_SAMPLES = 8
_RANGE_CANDIDATES = 8
_INT8_STEPS, _WEIGHT_STEPS = 255, 254


@dataclass(frozen=True)
class ChannelStatistics:
    """Extremes of the channels of a tensor over `samples` samples: the largest magnitude below and
    above 0, and the sum of each sample's mean square.
    """

    samples: int
    below: Array
    above: Array
    sums: Array

    @property
    def squares(self) -> Array:
        """Mean square of each channel."""
        return self.sums / self.samples

    @staticmethod
    def of(values: Array) -> ChannelStatistics:
        """The statistics of one sample, [n, c, h, w]."""
        axes = (0, 2, 3)
        squares = np.square(values).mean(axis=axes, dtype=np.float64)
        below, above = (-values).max(axis=axes, initial=0), values.max(axis=axes, initial=0)
        return ChannelStatistics(1, below, above, squares)

    def merged(self, other: ChannelStatistics) -> ChannelStatistics:
        """The statistics of the samples of both."""
        below, above = np.maximum(self.below, other.below), np.maximum(self.above, other.above)
        samples = self.samples + other.samples
        return ChannelStatistics(samples, below, above, self.sums + other.sums)


@dataclass
class Group:
    """Tensors whose channels share one factor each, and the convolutions that read them.

    `fixed`: an operator that cannot compensate factors reads or computes one of them.
    """

    tensors: list[str] = field(default_factory=list)
    readers: list[Op] = field(default_factory=list)
    fixed: bool = False


def groups(program: Program) -> list[Group]:
    """The groups that can be scaled: only convolutions compute and read them."""
    by_tensor: dict[str, Group] = {}
    computed = {name for op in program.ops for name in op.outputs}

    def group(name: str) -> Group:
        if name not in by_tensor:
            fixed = name not in computed or program.is_output(name)
            by_tensor[name] = Group([name], fixed=fixed)
        return by_tensor[name]

    for op in program.ops:
        operands = [name for name in op.inputs if name and program.vars[name].data is None]
        (first, *others), results = operands or [""], op.outputs
        shapes = [program.vars[name].shape for name in (*operands, *results)]
        if _is_scalable(program, op):
            group(first).readers.append(op)
            group(results[0])
        elif op.schema.homogeneous and _has_no_constants(program, op) and _are_images(shapes):
            for name in (*others, *results):
                _merge(by_tensor, group(first), group(name))
        else:
            for name in (*operands, *results):
                group(name).fixed = True
    distinct = {id(one): one for one in by_tensor.values()}
    return [one for one in distinct.values() if one.readers and not one.fixed]


def factors(
    program: Program, statistics: Mapping[str, ChannelStatistics]
) -> dict[str, tuple[float, ...]]:
    """The factor of each channel, by tensor; without tensors that do not benefit."""
    by_tensor: dict[str, tuple[float, ...]] = {}
    for group in groups(program):
        if not all(name in statistics for name in group.tensors):
            continue
        quantized = [name for name in group.tensors if not _is_inside(program, name)]
        below = np.max([statistics[name].below for name in quantized], axis=0)
        above = np.max([statistics[name].above for name in quantized], axis=0)
        if not (np.isfinite(below + above).all() and (below + above).max() > 0):
            continue
        best = _best(program, group, statistics, below, above)
        if best.max() > 1:
            by_tensor |= dict.fromkeys(group.tensors, tuple(best.tolist()))
    return by_tensor


def misfit(program: Program, by_tensor: Mapping[str, tuple[float, ...]]) -> str:
    """The first tensor whose factors, read from a file, would change the program's results; ""."""
    scalable = {name: group for group in groups(program) for name in group.tensors}
    for name, factors in by_tensor.items():
        group = scalable.get(name)
        names = group.tensors if group else [name]
        fits = group is not None and len(factors) == program.vars[name].shape[1]
        if not fits or any(by_tensor.get(other) != factors for other in names):
            return name
    return ""


def equalized(program: Program, by_tensor: Mapping[str, tuple[float, ...]]) -> Program:
    """The equivalent program whose tensors have their channels multiplied by these factors."""
    twin = program.copy()
    for op in twin.ops:
        if op.type != "conv" or not {op.inputs[0], op.outputs[0]} & by_tensor.keys():
            continue
        weights = np.asarray(twin.vars[op.inputs[1]].data, np.float64)
        result = np.array(by_tensor.get(op.outputs[0], np.ones(len(weights))))
        if op.inputs[0] in by_tensor:
            operand = np.array(by_tensor[op.inputs[0]])
            weights = weights / _per_weight(op, weights.shape, operand)[:, :, None, None]
        scaled = weights * result[:, None, None, None]
        op.inputs[1] = _constant(twin, scaled, f"{op.inputs[1]}.equalized")
        if len(op.inputs) > 2 and op.inputs[2]:
            bias = np.asarray(twin.vars[op.inputs[2]].data, np.float64)
            op.inputs[2] = _constant(twin, bias * result, f"{op.inputs[2]}.equalized")
    return twin


def _best(
    program: Program,
    group: Group,
    statistics: Mapping[str, ChannelStatistics],
    below: Array,
    above: Array,
) -> Array:
    """The factors with the smallest mean square error of the readers' results.

    The scale of the operands follows from the range of all channels, independent of the factor s of
    one channel: rounding adds scale^2 w^2 / s^2 through its weights w. Weights rounded to scales of
    their own add scale^2 times the channel's mean square and s^2. The sum is smallest where both
    terms are equal. Extending the range at its shorter side increases the scale but makes room for
    channels with values there, as after leaky ReLU. The fewer samples, the larger the distance that
    channels keep from the ends.
    """
    activation_gain, weight_loss = np.zeros(len(below)), np.zeros(len(below))
    for op in group.readers:
        weights = np.asarray(program.vars[op.inputs[1]].data, np.float64)
        flat = weights.reshape(len(weights), weights.shape[1], -1)
        squares = statistics[op.inputs[0]].squares
        energy = (flat**2).sum(axis=2)
        total = max((energy * _per_weight(op, energy.shape, squares)).sum(), 1e-30)
        activation_gain += _per_channel(op, energy / total)
        if flat.shape[1] > 1:
            scales = np.abs(flat).max(axis=(1, 2)) * 2 / _WEIGHT_STEPS
            loss = np.broadcast_to(scales[:, None] ** 2 * flat.shape[2], energy.shape)
            weight_loss += _per_channel(op, _ROUNDING_GAIN * loss / total) * squares
    ends = below.max(), above.max()
    shorter, longer = min(ends), max(ends)
    samples = min(statistics[name].samples for name in group.tensors)
    confidence = samples / (samples + _UNSEEN_SAMPLES)
    sides = [0.0]
    if shorter:
        sides = list(np.geomspace(max(shorter, longer / _MAX_FACTOR), longer, _RANGE_CANDIDATES))
    candidates: list[tuple[float, Array]] = []
    for side in sides:
        low, high = (max(end, side) for end in ends)
        room = confidence * np.minimum(_ratio(low, below), _ratio(high, above))
        loss = ((low + high) / _INT8_STEPS) ** 2 * activation_gain
        best = (loss / np.maximum(weight_loss, 1e-30)) ** 0.25
        best = np.clip(best, 1.0, np.clip(room, 1.0, _MAX_FACTOR))
        candidates.append((float((loss / best**2 + weight_loss * best**2).sum()), best))
    return min(candidates, key=lambda one: one[0])[1]


def _ratio(end: float, extremes: Array) -> Array:
    """The end of a range divided by the extreme of each channel; infinite for 0."""
    infinite = np.full(len(extremes), np.inf)
    return np.asarray(np.divide(end, extremes, out=infinite, where=extremes > 0))


def _per_channel(op: Op, values: Array) -> Array:
    """Sums [c_out, c_in / group] to one value for each channel that the operator reads."""
    group = op.attributes["group"]
    return np.asarray(values.reshape(group, -1, values.shape[1]).sum(axis=1).reshape(-1))


def _per_weight(op: Op, shape: tuple[int, ...], channels: Array) -> Array:
    """Expands values of the operand's channels to [c_out, c_in / group], for weights of `shape`."""
    group = op.attributes["group"]
    rows = np.asarray(channels, np.float64).reshape(group, shape[1])
    return np.repeat(rows, shape[0] // group, axis=0)


def _is_scalable(program: Program, op: Op) -> bool:
    return op.type == "conv" and all(
        program.vars[name].data is not None for name in op.inputs[1:3] if name
    )


def _has_no_constants(program: Program, op: Op) -> bool:
    """True if no operand but a slope is constant."""
    constants = [name for name in op.inputs if name and program.vars[name].data is not None]
    return not constants or bool(op.schema.slope)


def _is_inside(program: Program, name: str) -> bool:
    """True if only a homogeneous clamp or a slope reads a tensor: then its reader's result is
    quantized instead.
    """
    reader = program.sole_reader(name)
    if reader is None:
        return False
    traits = reader.schema
    return bool(traits.slope) or (bool(traits.clamp) and traits.homogeneous)


def _are_images(shapes: list[tuple[int, ...]]) -> bool:
    return all(len(shape) == 4 and shape[1] == shapes[0][1] for shape in shapes)


def _merge(by_tensor: dict[str, Group], target: Group, source: Group) -> None:
    if target is source:
        return
    target.tensors += source.tensors
    target.readers += source.readers
    target.fixed = target.fixed or source.fixed
    for name in source.tensors:
        by_tensor[name] = target


def _constant(program: Program, data: Array, name: str) -> str:
    return program.block.add_constant(data.astype(np.float32), name)
