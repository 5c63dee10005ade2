"""Which micro-kernel computes what: the rule of docs/planner.md, or what a plan says instead."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab import kernels, schema
from trimtab.errors import PlanError
from trimtab.kernels import Kernel
from trimtab.planner.packing import winograd
from trimtab.planner.packing.strassen import half_columns
from trimtab.program import Op, Program, Var
from trimtab.target import Target

DEPTHWISE = "depthwise_f32"


def choose(program: Program, op: Op, target: Target, wanted: Mapping[str, str]) -> None:
    """Sets the plan attributes of an operator: to what is `wanted`, or by the rule.

    PlanError when a wanted kernel does not fit, or there is none on the target.
    """
    attributes = {a.name: a for a in op.schema.attributes if a.type == "kernel"}
    if unknown := [name for name in wanted if name not in attributes]:
        raise PlanError(
            f"the operator has no kernel called {', '.join(unknown)}",
            where=f"operator {op.name} ({op.type})",
            hint=f"it has {', '.join(attributes) or 'none'}",
        )
    for name, attribute in attributes.items():
        candidates = _candidates(program, op, attribute, target)
        if name in wanted:
            _check_kernel(op, attribute, wanted[name], candidates, target)
            op.attributes[name] = wanted[name]
        else:
            op.attributes[name] = _choose(program, op, attribute, candidates, target)


def _candidates(
    program: Program, op: Op, attribute: schema.Attribute, target: Target
) -> list[Kernel]:
    """All kernels of `target` that can compute one plan attribute."""
    return [
        k
        for family in _families(program, op, attribute)
        for k in _members(family, target)
        if _fits(program, op, k)
    ]


def _fits(program: Program, op: Op, kernel: Kernel) -> bool:
    """True when the tile of a kernel is one that the operator can take."""
    if kernel.family.startswith("winograd"):
        tile, size = winograd.tile_of(program, op)
        return kernel.portable or (kernel.mr, kernel.nr) in ((0, size), (tile, size))
    if op.type == "conv_strassen" and kernel.family == "gemm_f32":
        return half_columns(program.vars[op.outputs[0]].shape[1], kernel.packing[1]) > 0
    return True


def _check_kernel(
    op: Op, attribute: schema.Attribute, wanted: str, candidates: list[Kernel], target: Target
) -> None:
    """PlanError unless `wanted` is one of the candidates; says why it is not."""
    if wanted in {k.name for k in candidates}:
        return
    known = kernels.inventory().get(wanted)
    if known is None:
        reason = "there is no such kernel"
    elif known.family not in {k.family for k in candidates}:
        reason = f"it is of the family {known.family}, which does not compute this"
    elif known.isa not in target.isas:
        reason = f"{target.name} cannot run {known.isa}"
    else:
        reason = "it is for tiles of another size"
    raise PlanError(
        f"{attribute.name} cannot be {wanted!r}: {reason}",
        where=f"operator {op.name} ({op.type})",
        hint=f"use {', '.join(k.name for k in candidates) or 'none'}",
    )


def _choose(
    program: Program, op: Op, attribute: schema.Attribute, candidates: list[Kernel], target: Target
) -> str:
    """The name of the kernel for one plan attribute; "" for an optional one that needs none."""
    families = _families(program, op, attribute)
    if not families:
        return ""
    if preferred := _highest([k for k in candidates if k.family == families[0]]):
        return min(preferred, key=lambda k: (_cost(program, op, k), k.name)).name
    raise PlanError(
        f"no kernel of {' or '.join(families)} runs on {target.name}",
        where=f"operator {op.name} ({op.type})",
        hint="add one to kernels/, at least a portable one",
    )


def best(family: str, target: Target) -> list[Kernel]:
    """The members of a family for the highest instruction set of `target` that has any."""
    return _highest(_members(family, target))


def _members(family: str, target: Target) -> list[Kernel]:
    return [k for k in kernels.inventory().values() if k.family == family and k.isa in target.isas]


def _highest(members: list[Kernel]) -> list[Kernel]:
    ranks = {k.name: kernels.isas()[k.isa].rank for k in members}
    return [k for k in members if ranks[k.name] == max(ranks.values())]


def _families(program: Program, op: Op, attribute: schema.Attribute) -> tuple[str, ...]:
    """The families that can compute a plan attribute, best first: depthwise before the general
    product.
    """
    if "@activation" in attribute.families:
        activation = op.attributes["activation"]
        return schema.operator(activation).families if activation else ()
    if DEPTHWISE in attribute.families and _is_depthwise(program, op):
        return (DEPTHWISE, *(f for f in attribute.families if f != DEPTHWISE))
    return tuple(f for f in attribute.families if f != DEPTHWISE)


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
        tile, size = winograd.tile_of(program, op)
        return size**2 * product_cost(kernel, tile_count(y, tile), channels)
    if op.type == "conv_strassen":
        rows, columns = y.count // channels, half_columns(channels, kernel.packing[1])
        left = product_cost(kernel, rows, channels - 2 * columns)
        return 7 * product_cost(kernel, -(-rows // 2), columns) + 2 * left  # half of the depth
    groups = op.attributes.get("group", 1)
    return int(groups * product_cost(kernel, y.count // channels, channels // groups))


def product_cost(kernel: Kernel, rows: int, columns: int) -> int:
    """Element products, padding included, and loads of weights and inputs, per element of
    depth.
    """
    mr, nr = kernel.packing
    return -(-columns // nr) * (rows * nr + -(-rows // mr) * nr + rows)


def tile_count(y: Var, tile: int) -> int:
    """Winograd tiles of tile x tile pixels that cover the images of y."""
    n, _, h, w = y.shape
    return n * -(-h // tile) * -(-w // tile)
