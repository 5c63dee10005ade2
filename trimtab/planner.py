"""The plan: which micro-kernel every operator calls, and weights packed for it.

The rules are documented in docs/planner.md. The engine follows a plan and has no rules of its own,
so a plan is everything that depends on the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import kernels, schema
from trimtab.errors import PlanError
from trimtab.kernels import Kernel
from trimtab.packing import depthwise, gemm, winograd
from trimtab.program import Op, Program, Var, attributes
from trimtab.target import Target

Array = NDArray[np.float32]


def plan(program: Program, target: Target) -> Program:
    """The twin of `program` that is ready to run on `target`; `program` is unchanged.

    PlanError when an operator has no kernel on the target, its weights are not constants, or the
    program is planned already.
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
    packer = _Packer(planned)
    for op in planned.ops:
        if tile := winograd_tile(planned, op, target):
            _lower_to_winograd(op, tile)
        for attribute in op.schema.attributes:
            if attribute.type == "kernel":
                op.attributes[attribute.name] = _choose(planned, op, attribute, target)
        packer.pack(op)
    packer.remove_unused()
    return planned


def _choose(program: Program, op: Op, attribute: schema.Attribute, target: Target) -> str:
    """The name of the kernel for one plan attribute; "" for an optional one that needs none."""
    families = _families(op, attribute)
    if not families:
        return ""
    for family in families:
        best = (
            [] if family == _DEPTHWISE and not _is_depthwise(program, op) else _best(family, target)
        )
        if family.startswith("winograd"):
            best = [k for k in best if k.portable or k.nr == op.attributes["tile"]]
        if best:
            return min(best, key=lambda k: (_cost(program, op, k), k.name)).name
    raise PlanError(
        f"no kernel of {' or '.join(families)} runs on {target.name}",
        where=f"operator {op.name} ({op.type})",
        hint="add one to kernels/, at least a portable one",
    )


def _best(family: str, target: Target) -> list[Kernel]:
    """The members of a family for the highest instruction set of `target` that has any."""
    members = [
        k for k in kernels.inventory().values() if k.family == family and k.isa in target.isas
    ]
    rank = max((kernels.isas()[k.isa].rank for k in members), default=0)
    return [k for k in members if kernels.isas()[k.isa].rank == rank]


_DEPTHWISE = "depthwise_f32"


def _families(op: Op, attribute: schema.Attribute) -> tuple[str, ...]:
    """The families to look in, best first: depthwise before the general product."""
    if "@activation" in attribute.families:
        activation = op.attributes["activation"]
        return schema.operator(activation).families if activation else ()
    return tuple(sorted(attribute.families, key=lambda f: f != _DEPTHWISE))


def _is_depthwise(program: Program, op: Op) -> bool:
    """True when every input channel makes one output channel of its own."""
    c_in, c_out = program.vars[op.inputs[0]].shape[1], program.vars[op.inputs[1]].shape[0]
    return bool(op.attributes["group"] == c_in == c_out)


def _cost(program: Program, op: Op, kernel: Kernel) -> int:
    """What `op` takes with a kernel of one instruction set, to compare tiles, per element of
    depth.
    """
    mr, nr = kernel.packing
    if nr == 0 or kernel.family.startswith("winograd"):
        return 0
    y = program.vars[op.outputs[0]]
    channels = y.shape[-1] if op.type == "gemm" else y.shape[1]
    if mr == 0:
        return -(-channels // nr) * nr
    if op.type == "conv_winograd":
        tile = int(op.attributes["tile"])
        return (tile + 2) ** 2 * _product_cost(kernel, _tiles(y, tile), channels)
    groups = op.attributes.get("group", 1)
    return int(groups * _product_cost(kernel, y.count // channels, channels // groups))


def _product_cost(kernel: Kernel, rows: int, columns: int) -> int:
    """Element products, padding included, and loads of weights and inputs, per element of
    depth.
    """
    mr, nr = kernel.packing
    return -(-columns // nr) * (rows * nr + -(-rows // mr) * nr + rows)


# Winograd's transforms of a tile, in vector instructions per vector of channels: (input, output).
_TRANSFORMS = {2: (150, 120), 4: (410, 330), 6: (860, 640)}
# Beginning and ending the sum of an output takes as long as this many multiply-adds.
_SUM_COST = 4
# Reading a weight from memory takes as long as this many.
_WEIGHT_COST = 4
_MIN_WINOGRAD_CHANNELS = 16  # kernel_api.h kMinWinogradChannels


def winograd_tile(program: Program, op: Op, target: Target) -> int:
    """The tile of F(m x m, 3 x 3) with which convolution `op` takes the least work on `target`; 0
    when the direct way does. docs/planner.md has the rule.
    """
    if op.type != "conv" or op.attributes["group"] != 1:
        return 0
    w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
    unit = op.attributes["strides"] == op.attributes["dilations"] == (1, 1)
    c_out, c_in = w.shape[:2]
    if w.shape[2:] != (3, 3) or not unit or min(c_in, c_out) < _MIN_WINOGRAD_CHANNELS:
        return 0

    def work(products: int, rows: int, depth: int) -> int:
        best = min(_product_cost(k, rows, c_out) for k in _best("gemm_f32", target))
        sums, weights = rows * c_out * _SUM_COST, c_out * depth * _WEIGHT_COST
        return products * (best * depth + sums + weights)

    costs = {0: work(1, y.count // c_out, 9 * c_in)}
    for tile, (input_cost, output_cost) in _TRANSFORMS.items():
        tiles = _tiles(y, tile)
        transforms = tiles * (c_in * input_cost + c_out * output_cost)
        costs[tile] = work((tile + 2) ** 2, tiles, c_in) + transforms
    return min(costs, key=lambda tile: costs[tile])


def _tiles(y: Var, tile: int) -> int:
    """Tiles of tile x tile pixels that cover the images of y."""
    n, _, h, w = y.shape
    return n * -(-h // tile) * -(-w // tile)


def _lower_to_winograd(op: Op, tile: int) -> None:
    """Makes a conv_winograd of a conv: the same operands, another algorithm."""
    op.type = "conv_winograd"
    names = {a.name for a in op.schema.attributes}
    given = {name: value for name, value in op.attributes.items() if name in names}
    op.attributes = attributes.complete(op.schema, given | {"tile": tile})


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
    if kernel.family == _DEPTHWISE:
        weights = _Packing(("depthwise", nr), lambda w: depthwise.pack(w, nr))
        return {
            1: weights,
            2: _Packing(("depthwise bias", nr), lambda b: depthwise.pack_bias(b, nr)),
        }
    if op.type == "conv_winograd":
        tile = op.attributes["tile"]
        return {1: _Packing(("winograd", tile, nr), lambda w: winograd.pack(w, tile, nr))}
    groups = op.attributes.get("group", 1)
    if op.type == "conv_transpose":
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
