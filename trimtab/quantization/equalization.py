"""Brings the channels of a tensor to like ranges, in an equal program (Nagel et al. 2019, 4.1).

All channels of a tensor share one scale, so one of small numbers has few steps. Convolutions make a
channel larger, and those that read it take that back: relu(s x) = s relu(x), and so it is with
leaky ReLU, maxima, means and sums. A depthwise reader has a scale of its own for each channel and
loses nothing by that; another one shares a scale among the channels that it sums, and then what
activations gain is weighed against what weights lose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from trimtab.program import Op, Program
from trimtab.quantization.observer import Array

_MOST = 2.0**8  # that a channel becomes larger: what was never seen may come
# What weights lose that are rounded together (rounding.py), of what each by itself loses: 0.1 to
# 0.4 was seen in three detectors, and least noise with factors by 0.03 to 0.3.
_TOGETHER = 0.1
# The next sample may reach further than those that were seen: of few, channels that all reach the
# end of their range are cut off there.
_UNSEEN = 8
_TRIED = 8  # ends of the shorter side of a range
_STEPS, _WEIGHT_STEPS = 255, 254  # from the least to the largest integer


@dataclass(frozen=True)
class Channels:
    """What was seen of the channels of a tensor in so many samples: how far each reaches below 0
    and above, and the sum of the squares' means in a sample.
    """

    samples: int
    below: Array
    above: Array
    sums: Array

    @property
    def squares(self) -> Array:
        """The mean of the squares of each channel."""
        return self.sums / self.samples

    @staticmethod
    def of(values: Array) -> Channels:
        """Of one sample, [n, c, h, w]."""
        rest = (0, 2, 3)
        squares = np.square(values).mean(axis=rest, dtype=np.float64)
        below, above = (-values).max(axis=rest, initial=0), values.max(axis=rest, initial=0)
        return Channels(1, below, above, squares)

    def joined(self, other: Channels) -> Channels:
        """Of the samples of both."""
        below, above = np.maximum(self.below, other.below), np.maximum(self.above, other.above)
        return Channels(self.samples + other.samples, below, above, self.sums + other.sums)


@dataclass
class Group:
    """Tensors whose channels have to be multiplied alike, and the convolutions that read them."""

    tensors: list[str] = field(default_factory=list)
    readers: list[Op] = field(default_factory=list)
    fixed: bool = False


def groups(program: Program) -> list[Group]:
    """Those whose channels may be multiplied, as convolutions alone make and read them."""
    of: dict[str, Group] = {}
    made = {name for op in program.ops for name in op.outputs}

    def group(name: str) -> Group:
        if name not in of:
            of[name] = Group([name], fixed=name not in made or program.is_output(name))
        return of[name]

    for op in program.ops:
        operands = [name for name in op.inputs if name and program.vars[name].data is None]
        (first, *others), results = operands or [""], op.outputs
        whole = [program.vars[name].shape for name in (*operands, *results)]
        if _is_scalable(program, op):
            group(first).readers.append(op)
            group(results[0])
        elif op.schema.homogeneous and _is_alone(program, op) and _are_images(whole):
            for name in (*others, *results):
                _join(of, group(first), group(name))
        else:
            for name in (*operands, *results):
                group(name).fixed = True
    found = {id(one): one for one in of.values()}
    return [one for one in found.values() if one.readers and not one.fixed]


def factors(program: Program, seen: Mapping[str, Channels]) -> dict[str, tuple[float, ...]]:
    """What the channels of tensors are to be multiplied with, by tensor; without those that gain
    nothing.
    """
    found: dict[str, tuple[float, ...]] = {}
    for group in groups(program):
        if not all(name in seen for name in group.tensors):
            continue
        rounded = [name for name in group.tensors if not _is_inside(program, name)]
        below = np.max([seen[name].below for name in rounded], axis=0)
        above = np.max([seen[name].above for name in rounded], axis=0)
        if not (np.isfinite(below + above).all() and (below + above).max() > 0):
            continue
        best = _best(program, group, seen, below, above)
        if best.max() > 1:
            found |= dict.fromkeys(group.tensors, tuple(best.tolist()))
    return found


def misfit(program: Program, by: Mapping[str, tuple[float, ...]]) -> str:
    """The tensor whose factors, as a file has them, would change what is computed; "" is none."""
    free = {name: group for group in groups(program) for name in group.tensors}
    for name, factors in by.items():
        group = free.get(name)
        names = group.tensors if group else [name]
        fits = group is not None and len(factors) == program.vars[name].shape[1]
        if not fits or any(by.get(other) != factors for other in names):
            return name
    return ""


def equalized(program: Program, by: Mapping[str, tuple[float, ...]]) -> Program:
    """The equal program whose tensors have their channels multiplied by these factors."""
    twin = program.copy()
    for op in twin.ops:
        if op.type != "conv" or not {op.inputs[0], op.outputs[0]} & by.keys():
            continue
        weights = np.asarray(twin.vars[op.inputs[1]].data, np.float64)
        made = np.array(by.get(op.outputs[0], np.ones(len(weights))))
        if op.inputs[0] in by:
            weights = (
                weights / _read(op, weights.shape, np.array(by[op.inputs[0]]))[:, :, None, None]
            )
        scaled = weights * made[:, None, None, None]
        op.inputs[1] = _constant(twin, scaled, f"{op.inputs[1]}.equalized")
        if len(op.inputs) > 2 and op.inputs[2]:
            bias = np.asarray(twin.vars[op.inputs[2]].data, np.float64)
            op.inputs[2] = _constant(twin, bias * made, f"{op.inputs[2]}.equalized")
    return twin


def _best(
    program: Program, group: Group, seen: Mapping[str, Channels], below: Array, above: Array
) -> Array:
    """The factors by which rounding adds least to the squares of what readers make.

    The step of the operands is that of the range of all, whatever the factor s of one channel:
    rounding adds step^2 w^2 / s^2 by its weights w. Rounded to steps of their own, these add
    their step^2 times the channel's mean square and s^2. The sum is least where both are equal.
    A range that reaches further to its shorter side has larger steps, and room for channels that
    lie there, as behind leaky ReLU. The fewer samples tell ends, the further channels stay away.
    """
    gained, lost = np.zeros(len(below)), np.zeros(len(below))
    for op in group.readers:
        weights = np.asarray(program.vars[op.inputs[1]].data, np.float64)
        flat = weights.reshape(len(weights), weights.shape[1], -1)
        squares = seen[op.inputs[0]].squares
        given = (flat**2).sum(axis=2)
        whole = max((given * _read(op, given.shape, squares)).sum(), 1e-30)
        gained += _by_channel(op, given / whole)
        if flat.shape[1] > 1:
            steps = np.abs(flat).max(axis=(1, 2)) * 2 / _WEIGHT_STEPS
            each = np.broadcast_to(steps[:, None] ** 2 * flat.shape[2], given.shape)
            lost += _by_channel(op, _TOGETHER * each / whole) * squares
    ends = below.max(), above.max()
    shorter, longer = min(ends), max(ends)
    samples = min(seen[name].samples for name in group.tensors)
    known = samples / (samples + _UNSEEN)
    found: list[tuple[float, Array]] = []
    for side in np.geomspace(max(shorter, longer / _MOST), longer, _TRIED) if shorter else [0.0]:
        low, high = (max(end, side) for end in ends)
        room = known * np.minimum(_times(below, low), _times(above, high))
        added = ((low + high) / _STEPS) ** 2 * gained
        best = (added / np.maximum(lost, 1e-30)) ** 0.25
        best = np.clip(best, 1.0, np.clip(room, 1.0, _MOST))
        found.append((float((added / best**2 + lost * best**2).sum()), best))
    return min(found, key=lambda one: one[0])[1]


def _times(reach: Array, end: float) -> Array:
    """How often what channels reach goes into the end of a range."""
    return np.asarray(np.divide(end, reach, out=np.full(len(reach), np.inf), where=reach > 0))


def _by_channel(op: Op, given: Array) -> Array:
    """[c_out, c_in / group], summed for each channel that the operator reads."""
    group = op.attributes["group"]
    return np.asarray(given.reshape(group, -1, given.shape[1]).sum(axis=1).reshape(-1))


def _read(op: Op, shape: tuple[int, ...], channels: Array) -> Array:
    """What belongs to the channels that weights of that shape read: [c_out, c_in / group]."""
    group = op.attributes["group"]
    rows = np.asarray(channels, np.float64).reshape(group, shape[1])
    return np.repeat(rows, shape[0] // group, axis=0)


def _is_scalable(program: Program, op: Op) -> bool:
    return op.type == "conv" and all(
        program.vars[name].data is not None for name in op.inputs[1:3] if name
    )


def _is_alone(program: Program, op: Op) -> bool:
    """Whether it has no constant operand, but for slopes."""
    constants = [name for name in op.inputs if name and program.vars[name].data is not None]
    return not constants or bool(op.schema.slope)


def _is_inside(program: Program, name: str) -> bool:
    """Whether a bound or slopes alone read it: what these give is rounded in its place."""
    reader = program.sole_reader(name)
    return reader is not None and (
        bool(reader.schema.slope) or (bool(reader.schema.clamp) and reader.schema.homogeneous)
    )


def _are_images(shapes: list[tuple[int, ...]]) -> bool:
    return all(len(shape) == 4 and shape[1] == shapes[0][1] for shape in shapes)


def _join(of: dict[str, Group], kept: Group, lost: Group) -> None:
    if kept is lost:
        return
    kept.tensors += lost.tensors
    kept.readers += lost.readers
    kept.fixed = kept.fixed or lost.fixed
    for name in lost.tensors:
        of[name] = kept


def _constant(program: Program, data: Array, name: str) -> str:
    return program.block.add_constant(data.astype(np.float32), name)
