"""The plan: which algorithm and micro-kernels every operator takes, and weights packed for them.

The rules are documented in docs/planner.md. The engine follows a plan and has no rules of its own,
so a plan is everything that depends on the target. What a `Plan` (choices.py) says goes before the
rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import kernels
from trimtab.errors import PlanError
from trimtab.kernels import Kernel
from trimtab.planner import kernel_choice, parts, spacing
from trimtab.planner.choices import ALGORITHMS, Choice, Plan, keys
from trimtab.planner.kernel_choice import DEPTHWISE, best, product_cost, tile_count
from trimtab.planner.packing import depthwise, gemm, strassen, winograd
from trimtab.program import Op, Program, Var, attributes
from trimtab.target import Target

Array = NDArray[np.float32]


def plan(program: Program, target: Target, given: Plan | None = None) -> Program:
    """The twin of `program` that is ready to run on `target`; `program` is unchanged. What `given`
    decides, the rules do not.

    PlanError when an operator has no kernel on the target, its weights are not constants, the
    program is planned already, or `given` does not fit the program or the target.
    """
    planned = decide(program, target, given or Plan())
    packer = _Packer(planned)
    for op in planned.ops:
        packer.pack(op)
    packer.remove_unused()
    parts.place(planned)
    spacing.place(planned)
    return planned


def decide(program: Program, target: Target, given: Plan) -> Program:
    """A plan without its packed weights: what `plan` decides, for those who want to know no more.

    PlanError as `plan`.
    """
    if program.planned:
        raise PlanError(
            f"the program is already planned for {program.target}",
            where=f"program {program.name}",
            hint="plan the program that it was made from: packed weights cannot be packed again",
        )
    planned = program.copy()
    planned.source = program.source or program
    planned.target = target.name
    choices = dict(given.operators)
    for key, op in zip(keys(planned), planned.ops, strict=True):
        choice = choices.pop(key, Choice())
        _lower(planned, op, target, choice.algorithm, given.algorithms)
        kernel_choice.choose(planned, op, target, choice.kernels)
    if choices:
        raise PlanError(
            f"the plan has operators that the program has not: {', '.join(map(repr, choices))}",
            where=f"program {program.name}",
            hint="./inv inspect MODEL --plan writes a plan with all names",
        )
    return planned


def _lower(program: Program, op: Op, target: Target, wanted: str, allowed: tuple[str, ...]) -> None:
    """Gives a convolution the operator of the algorithm `wanted`, or of the one of `allowed` that
    takes the least work.
    """
    costs = algorithm_costs(program, op, target) if op.type == "conv" else {}
    if wanted and wanted not in costs:
        raise PlanError(
            f"{wanted} cannot compute this operator",
            where=f"operator {op.name} ({op.type})",
            hint=f"leave algorithm out, or use {', '.join(costs)}"
            if costs
            else "only convolutions have a choice of algorithms",
        )
    if costs:
        usable = [name for name in costs if name in allowed] or ["direct"]
        type, own = ALGORITHMS[wanted or min(usable, key=lambda name: costs[name])]
        if type != op.type:
            op.type = type
            names = {a.name for a in op.schema.attributes}
            kept = {name: value for name, value in op.attributes.items() if name in names}
            op.attributes = attributes.complete(op.schema, kept | own)


# Winograd's transforms of a tile, in vector instructions per vector of channels: n -> those of
# n x n inputs; (m, n) -> those of m x m outputs.
_WINOGRAD_INPUTS = {4: 110, 5: 225, 6: 310, 8: 680}
_WINOGRAD_OUTPUTS = {
    (2, 4): 90,
    (3, 5): 150,
    (4, 5): 180,
    (4, 6): 250,
    (4, 8): 380,
    (5, 8): 460,
    (6, 8): 550,
}
# Gathering an element of a square of pixels, in operations of one lane.
_GATHER_COST = 8
# Beginning and ending the sum of an output takes as long as this many multiply-adds.
_SUM_COST = 4

# Strassen's sums of a row of each quadrant, in vector instructions per vector of channels: those of
# the input; those of the output, most of which add six products to others.
_STRASSEN_SUMS = (17, 30)
# A direct convolution is chosen unless this share of it is saved: weights grow by 7/4.
_STRASSEN_GAIN = 0.02


def algorithm_costs(program: Program, op: Op, target: Target) -> dict[str, int]:
    """The algorithms that can compute convolution `op`, and the work that each takes on `target`.

    docs/planner.md has the rule.
    """
    w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
    c_out, c_in, kh, kw = w.shape
    rows = y.count // c_out
    stride, other = op.attributes["strides"]
    dense = op.attributes["group"] == 1 and op.attributes["dilations"] == (1, 1)
    square = dense and kh == kw and stride == other
    halving = [k for k in best("gemm_f32", target) if strassen.half_columns(c_out, k.packing[1])]
    more: dict[str, int] = {}
    pointwise = square and kh == stride == 1 and not any(op.attributes["pads"])
    if pointwise and halving and c_in % 2 == 0:
        more["strassen"] = min(_strassen_work(k, rows, c_out, c_in) for k in halving)
    enough = stride > 1 or c_in >= winograd.MIN_CHANNELS
    if square and enough and c_out >= winograd.MIN_CHANNELS:
        for tile, size in _WINOGRAD_OUTPUTS:
            if size == tile + winograd.taps(kh, stride) - 1:
                work = _winograd_work(target, tile, size, tile_count(y, tile), c_out, c_in, stride)
                more[f"winograd_{tile}"] = work
    return {"direct": _work(target, rows, c_out, kh * kw * c_in) if more else 0, **more}


def _work(target: Target, rows: int, columns: int, depth: int) -> int:
    """What a product takes with the best tile of `target`."""
    return min(_product_work(k, rows, columns, depth) for k in best("gemm_f32", target))


def _product_work(kernel: Kernel, rows: int, columns: int, depth: int) -> int:
    """What a product takes, in multiply-adds of an element."""
    weight_cost = kernels.isas()[kernel.isa].weight_cost
    sums, weights = rows * columns * _SUM_COST, columns * depth * weight_cost
    return product_cost(kernel, rows, columns) * depth + sums + weights


def _winograd_work(
    target: Target, tile: int, size: int, tiles: int, columns: int, channels: int, stride: int
) -> int:
    depth = stride**2 * channels
    gathered = size**2 * depth if stride > 1 else 0
    inputs = winograd.input_channels(channels, stride) * _WINOGRAD_INPUTS[size]
    outputs = columns * _WINOGRAD_OUTPUTS[tile, size]
    transforms = tiles * (gathered * _GATHER_COST + inputs + outputs)
    return size**2 * _work(target, tiles, columns, depth) + transforms


def _strassen_work(kernel: Kernel, rows: int, columns: int, depth: int) -> int:
    half, half_columns = -(-rows // 2), strassen.half_columns(columns, kernel.packing[1])
    sum_inputs, sum_outputs = _STRASSEN_SUMS
    sum_cost = kernels.isas()[kernel.isa].sum_cost
    sums = sum_cost * half * (depth // 2 * sum_inputs + half_columns * sum_outputs)
    products = 7 * _product_work(kernel, half, half_columns, depth // 2)
    left = _product_work(kernel, rows, columns - 2 * half_columns, depth)
    return round((products + left + sums) / (1 - _STRASSEN_GAIN))


@dataclass(frozen=True)
class _Packing:
    """How a constant operand is packed; operators with equal keys share the packed constant."""

    key: tuple[Any, ...]
    run: Callable[[Array], Array]


def _packings(program: Program, op: Op) -> dict[int, _Packing]:
    """Input index -> packing, for an operator whose kernel reads packed weights."""
    if "kernel" not in op.attributes or len(op.inputs) < 2:
        return {}
    kernel = kernels.kernel(op.attributes["kernel"])
    nr = kernel.packing[1]
    if nr == 0:
        return {}
    if kernel.family == DEPTHWISE:
        return {1: _Packing(("depthwise", nr), lambda w: depthwise.pack(w, nr))}
    if op.type == "conv_winograd":
        tile, stride = op.attributes["tile"], op.attributes["strides"][0]
        key = ("winograd", tile, stride, nr)
        return {1: _Packing(key, lambda w: winograd.pack(w, tile, stride, nr))}
    groups = op.attributes.get("group", 1)
    if op.type == "conv_strassen":
        weights = _Packing(("strassen", nr), lambda w: strassen.pack(w, nr))
    elif op.type == "conv_transpose":
        shape = tuple(op.attributes[name] for name in ("strides", "dilations", "pads"))
        weights = _Packing(
            ("conv_transpose", groups, nr, shape),
            lambda w: gemm.pack_conv_transpose(w, groups, nr, *shape),
        )
    elif op.type == "conv":
        weights = _Packing(("conv", groups, nr), lambda w: gemm.pack_conv(w, groups, nr))
    else:
        weights = _Packing(("matrix", nr), lambda w: gemm.pack_matrix(w, nr))
    return {1: weights, 2: _Packing(("bias", groups, nr), lambda b: gemm.pack_bias(b, groups, nr))}


class _Packer:
    """Replaces constants by packed ones, each packing of a constant made once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.made: dict[tuple[str, tuple[Any, ...]], str] = {}

    def pack(self, op: Op) -> None:
        """Packs the weights of `op` for the kernel that it was given."""
        for index, packing in _packings(self.program, op).items():
            if index >= len(op.inputs) or not op.inputs[index]:
                continue
            var = self.program.vars[op.inputs[index]]
            if var.data is None:
                raise PlanError(
                    f"input {op.schema.inputs[index].name} must be a constant",
                    where=f"operator {op.name} ({op.type})",
                    hint="mat_mul multiplies by computed operands",
                )
            op.inputs[index] = self._packed(var, packing)

    def _packed(self, var: Var, packing: _Packing) -> str:
        key = (var.name, packing.key)
        if key not in self.made:
            assert var.data is not None
            name = self.program.block.new_name(f"{var.name}.packed")
            data = packing.run(np.asarray(var.data, np.float32))
            self.program.vars[name] = Var(name, var.shape, var.dtype, data=data, packed=True)
            self.made[key] = name
        return self.made[key]

    def remove_unused(self) -> None:
        """Forgets the constants that nothing reads any more."""
        used = {name for op in self.program.ops for name in op.inputs} | set(self.program.outputs)
        for var in list(self.program.constants()):
            if var.name not in used:
                del self.program.vars[var.name]
