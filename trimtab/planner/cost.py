"""The cost model: estimates the cycles of an operator, to compare kernels and algorithms.

A cost has two parts: instructions, which the threads share, and memory traffic, which is limited by
the bandwidth of all cores together. docs/planner.md says which constants are facts, measurements or
estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab import kernels
from trimtab.cores import LIKELY_PART
from trimtab.kernels import Kernel
from trimtab.planner import fitted
from trimtab.planner.fitted import Parts
from trimtab.program import Op, Program
from trimtab.program.block import element_bytes
from trimtab.target import Target

# Measured cycles per cycle that the pipes, or llvm-mca, allow: branches, cache misses, loop ends.
# One constant for all cores; docs/model.md lists the boards that it was fitted to.
STALLS = 1.1
# Portable kernels are compiled without vector types.
_PORTABLE_PER_CYCLE = 1
# Requantization of one accumulator, in multiply-adds of one float32: five instructions per vector
# of four (convert, scale, round, narrow, clamp): kernels/arm/requantize.h.
REQUANTIZATION = 5
# Bytes per cycle of one core between its second- and third-level caches: an estimate. Intel and AMD
# state 32 to 64, of which programs see less than half.
_BEYOND_L2_BYTES_PER_CYCLE = 16
# Per core, if there is a third level; a larger one is not believed.
_LARGEST_L2 = 2 * 1024 * 1024
# One element of an operator without a GEMM, in the same unit.
_ELEMENT = 4


@dataclass(frozen=True)
class Work:
    """The work of an operator. `operations`: multiply-adds of one vector lane, and equivalents;
    `weight_bytes`: size of its packed weights, which are read `passes` times; `spilled_bytes`:
    memory traffic beyond one read of the inputs and one write of the outputs; `buffered_bytes`:
    intermediate values, each written and read once, that caches hold; `requantizations`: int32
    accumulators that become int8 values.

    The others are parts that only a fitted core prices: `packed_bytes` of the weights with their
    padding (0: as `weight_bytes`), `padded` multiply-adds of whole tiles, `macs` without padding,
    the `transforms` among the `operations`, the kernel's `tiles`, and the `pointers` to taps.
    """

    operations: float
    weight_bytes: int
    passes: int = 1
    spilled_bytes: int = 0
    buffered_bytes: int = 0
    requantizations: int = 0
    packed_bytes: int = 0
    padded: int = 0
    macs: int = 0
    transforms: float = 0
    tiles: int = 0
    pointers: int = 0


@dataclass(frozen=True)
class Cost:
    """Modeled cost: `cycles` of the core, and the `bytes` of memory traffic that they include."""

    cycles: float
    bytes: int


NO_COST = Cost(0, 0)


def cost(
    program: Program,
    op: Op,
    work: Work,
    kernel: Kernel,
    target: Target,
    constant_bytes: int,
    algorithm: str,
) -> Cost:
    """The cost of `work` with `kernel`, spread evenly over the target's threads: the time of the
    instructions plus the time of the memory traffic, or as the core is fitted. `constant_bytes`:
    those of all operators.
    """
    pipes = fmas_per_cycle(kernel, target)
    slots = work.operations / rate(kernel) + work.requantizations * REQUANTIZATION
    instructions = STALLS * slots / pipes / target.threads
    traffic = _traffic_bytes(program, op, work, target, constant_bytes)
    beyond_l2 = _beyond_l2_cycles(program, op, target)
    modeled = instructions + traffic / bytes_per_cycle(target) + beyond_l2
    modeled += _buffer_cycles(work, target)
    if target.core.fit is None:
        return Cost(modeled, traffic)
    parts = parts_of(program, op, work, kernel, target, constant_bytes)
    cycles = fitted.cycles(target.core.fit, kernel.name, algorithm, target.threads, parts)
    if cycles is None:
        return Cost(target.core.fit.scale * modeled, traffic)
    return Cost(cycles + beyond_l2, traffic)


def element_wise_cycles(program: Program, op: Op, kernel: Kernel | None, target: Target) -> float:
    """Estimated cycles of an operator with a single algorithm: it loads, computes, converts and
    stores each element, in vectors.
    """
    if op.schema.view or op.schema.prepares:
        return 0.0
    names = [name for name in (*op.inputs, *op.outputs) if name]
    activations = [program.vars[name] for name in names if program.vars[name].data is None]
    lanes = fmas_per_cycle(kernel, target) if kernel else target.core.pipes.f32_fmas_per_cycle
    elements = max((var.count for var in activations), default=0)
    traffic = sum(var.bytes for var in activations if var.bytes * 4 > 3 * last_level(target))
    cycles = STALLS * elements * _ELEMENT / lanes / target.threads
    scale = target.core.fit.scale if target.core.fit else 1.0
    return scale * (cycles + traffic / bytes_per_cycle(target))


def fmas_per_cycle(kernel: Kernel, target: Target) -> int:
    """Float32 multiply-adds of the core with the kernel's vectors."""
    if kernel.portable:
        return _PORTABLE_PER_CYCLE
    most, own = target.core.pipes.f32_fmas_per_cycle, kernels.isas()[kernel.isa].f32_fmas_per_cycle
    return min(most, own) if own else most


def rate(kernel: Kernel) -> float:
    """Multiply-adds of the kernel's dtype in the time of one float32 multiply-add."""
    if kernel.portable:
        return 1.0
    by_width = 4 / element_bytes(kernel.dtype)
    rates = kernels.isas()[kernel.isa].i8_rate if kernel.dtype == "i8" else {}
    return rates.get(kernel.family, by_width)


def parts_of(
    program: Program, op: Op, work: Work, kernel: Kernel, target: Target, constant_bytes: int
) -> Parts:
    """The parts of `work` that a fitted core prices."""
    packed = replace(work, weight_bytes=work.packed_bytes or work.weight_bytes)
    traffic = _traffic_bytes(program, op, packed, target, constant_bytes)
    l2 = target.core.l2
    near = l2.bytes // min(target.threads, l2.shared_by)
    is_far = _is_resident(program, op, packed, target, constant_bytes) and (
        packed.weight_bytes > near
    )
    products, macs, transforms = (
        part / rate(kernel) for part in (work.padded, work.macs, work.transforms)
    )
    return Parts(
        products=products,
        macs=macs,
        tiles=work.tiles,
        transforms=transforms,
        pointers=work.pointers,
        roundings=work.requantizations,
        bytes=traffic,
        far=packed.weight_bytes if is_far else 0,
    )


def _traffic_bytes(
    program: Program, op: Op, work: Work, target: Target, constant_bytes: int
) -> int:
    """Traffic between the last-level cache and memory: the weights, unless the cache keeps those of
    the whole program from one inference to the next, and inputs and outputs that are larger than
    three quarters of it.
    """
    tensors = [program.vars[name] for name in (*op.inputs, *op.outputs) if name]
    activations = [var for var in tensors if var.data is None and not var.packed]
    resident = _is_resident(program, op, work, target, constant_bytes)
    weights = 0 if resident else work.weight_bytes * work.passes
    limit = last_level(target) * 3 // 4
    streamed = sum(var.bytes for var in activations if var.bytes > limit)
    return weights + streamed + work.spilled_bytes


def _beyond_l2_cycles(program: Program, op: Op, target: Target) -> float:
    """Cycles for inputs and outputs that a third-level cache holds, and three quarters of the
    second-level caches of all threads do not.
    """
    l2, l3 = target.core.l2, target.core.l3
    if l3 is None:
        return 0.0
    size = min(l2.bytes, _LARGEST_L2 * l2.shared_by)
    limit = size * -(-target.threads // l2.shared_by) * 3 // 4
    tensors = [program.vars[name] for name in (*op.inputs, *op.outputs) if name]
    activations = [var.bytes for var in tensors if var.data is None and not var.packed]
    far = sum(bytes for bytes in activations if limit < bytes <= last_level(target) * 3 // 4)
    return far / _BEYOND_L2_BYTES_PER_CYCLE / target.threads


def _buffer_cycles(work: Work, target: Target) -> float:
    """Cycles for intermediate values between the first and second levels; none where the core's
    file does not have that rate.
    """
    rate = target.core.pipes.l2_bytes_per_cycle
    return 2 * work.buffered_bytes / rate / target.threads if rate else 0.0


def _is_resident(program: Program, op: Op, work: Work, target: Target, constant_bytes: int) -> bool:
    """Whether a cache keeps the weights of the whole program from one inference to the next."""
    operands = [program.vars[name] for name in op.inputs if name]
    own = sum(var.bytes for var in operands if var.data is not None)
    return work.passes == 1 and constant_bytes - own + work.weight_bytes <= _resident_bytes(target)


def passes(target: Target, weight_bytes: int, blocks: int, block_bytes: int) -> int:
    """How often memory is read for weights that each of `blocks` needs in turn, beside
    `block_bytes` of its own data.
    """
    return blocks if weight_bytes + block_bytes > last_level(target) else 1


def bytes_per_cycle(target: Target) -> float:
    """Memory bandwidth of all threads together, in bytes per cycle of the core.

    A core without a measured bandwidth is assumed to have the ratio of bandwidth to arithmetic of
    the generic core of its architecture.
    """
    core = target.bandwidth_core
    assert core.memory, f"cores/{core.name}.toml has [memory]"
    per_core = core.memory.core_gb_per_s or core.memory.gb_per_s
    drawn = min(target.threads * per_core, core.memory.gb_per_s)
    scale = target.core.pipes.f32_fmas_per_cycle / core.pipes.f32_fmas_per_cycle
    return scale * drawn / core.memory.clock_ghz


def last_level(target: Target) -> int:
    """Bytes of the last-level cache."""
    return (target.core.l3 or target.core.l2).bytes


def _resident_bytes(target: Target) -> int:
    """Bytes that stay in cache from one inference to the next: only one core's likely part of a
    third level, because other programs use it as well, or what a fit has measured.
    """
    l2, l3, fit = target.core.l2, target.core.l3, target.core.fit
    if fit and fit.cache_bytes:
        return max(l2.bytes, fit.cache_bytes)
    return max(l2.bytes, min(l3.bytes // l3.shared_by, LIKELY_PART)) if l3 else l2.bytes
