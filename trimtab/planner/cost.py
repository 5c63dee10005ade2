"""What an operator takes of a core: the measure that kernels and algorithms are compared by.

Cycles of the target's core, of two parts: instructions, which threads share, and memory traffic,
which they do not get faster than the bus carries it. docs/planner.md says what of it is a fact,
what was measured and what is a guess.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab import cores, kernels
from trimtab.kernels import Kernel
from trimtab.program import Op, Program
from trimtab.program.program import element_bytes
from trimtab.target import Target

# Real cycles of one that the pipes, or llvm-mca, allow for: branches, caches, ends of loops. One
# constant for all cores; docs/model.md has the boards that it was fitted to.
STALLS = 1.1
# Portable kernels are compiled without vectors in mind.
_PORTABLE_PER_CYCLE = 1
# Of a sum to an integer, in multiply-adds of one float32: five instructions for a vector of four
# (convert, scale, round, narrow and bound): kernels/arm/requantize.h.
ROUNDING = 5
# Of an element of an operator without products, in the same.
_ELEMENT = 4


@dataclass(frozen=True)
class Work:
    """What an operator does. `operations`: multiply-adds of one lane of a kernel's vectors, and
    what takes as long; `weight_bytes`: of its packed weights, which are read `passes` times;
    `spilled_bytes`: of other memory traffic than reading inputs and writing outputs once;
    `roundings`: of sums to integers.
    """

    operations: float
    weight_bytes: int
    passes: int = 1
    spilled_bytes: int = 0
    roundings: int = 0


@dataclass(frozen=True)
class Cost:
    """`cycles` of the core, and the `bytes` of memory traffic that are among their reasons."""

    cycles: float
    bytes: int


NOTHING = Cost(0, 0)


def cost(program: Program, op: Op, work: Work, kernel: Kernel, target: Target) -> Cost:
    """What `work` takes when `kernel` does it, evenly on all threads of the target: the time of
    instructions and that of memory, one after the other.
    """
    pipes = _PORTABLE_PER_CYCLE if kernel.portable else target.core.pipes.f32_fmas_per_cycle
    slots = work.operations / rate(kernel) + work.roundings * ROUNDING
    instructions = STALLS * slots / pipes / target.threads
    traffic = _bytes(program, op, work, target)
    return Cost(instructions + traffic / bytes_per_cycle(target), traffic)


def of_elements(program: Program, op: Op, kernel: Kernel | None, target: Target) -> float:
    """Cycles, estimated, of an operator that there is one way to compute: it loads, computes,
    converts and stores each element, in vectors.
    """
    if op.schema.view or op.schema.prepares:
        return 0.0
    names = [name for name in (*op.inputs, *op.outputs) if name]
    moved = [program.vars[name] for name in names if program.vars[name].data is None]
    portable = kernel is not None and kernel.portable
    lanes = _PORTABLE_PER_CYCLE if portable else target.core.pipes.f32_fmas_per_cycle
    elements = max((var.count for var in moved), default=0)
    traffic = sum(var.bytes for var in moved if var.bytes * 4 > 3 * last_level(target))
    cycles = STALLS * elements * _ELEMENT / lanes / target.threads
    return cycles + traffic / bytes_per_cycle(target)


def rate(kernel: Kernel) -> float:
    """Multiply-adds of the kernel's elements in the time of one of float32."""
    if kernel.portable:
        return 1.0
    whole = 4 / element_bytes(kernel.dtype)
    known = kernels.isas()[kernel.isa].i8_rate if kernel.dtype == "i8" else {}
    return known.get(kernel.family, whole)


def _bytes(program: Program, op: Op, work: Work, target: Target) -> int:
    """What goes through the last-level cache: weights, unless it holds those of the whole program
    from one inference to the next, and inputs and outputs that three quarters of it do not hold.
    """
    tensors = [program.vars[name] for name in (*op.inputs, *op.outputs) if name]
    images = [var for var in tensors if var.data is None and not var.packed]
    own = sum(var.bytes for var in tensors if var.data is not None)
    others = sum(var.bytes for var in program.constants()) - own
    stay = work.passes == 1 and others + work.weight_bytes <= _kept(target)
    weights = 0 if stay else work.weight_bytes * work.passes
    held = last_level(target) * 3 // 4
    moved = sum(var.bytes for var in images if var.bytes > held)
    return weights + moved + work.spilled_bytes


def passes(target: Target, weight_bytes: int, blocks: int, block_bytes: int) -> int:
    """How often weights come from memory that each of `blocks` reads, one after the other, beside
    data of its own.
    """
    return blocks if weight_bytes + block_bytes > last_level(target) else 1


def bytes_per_cycle(target: Target) -> float:
    """Of memory, for all threads together. Where the core's row does not say it is as fast, in
    proportion to arithmetic, as that of the generic core of the architecture.
    """
    own = target.core.memory
    is_known = own is not None and not own.is_shared
    core = target.core if is_known else cores.find(cores.GENERIC, target.arch)
    assert core.memory, f"cores/{core.name}.toml has [memory]"
    alone = core.memory.core_gb_per_s or core.memory.gb_per_s
    drawn = min(target.threads * alone, core.memory.gb_per_s)
    scale = target.core.pipes.f32_fmas_per_cycle / core.pipes.f32_fmas_per_cycle
    return scale * drawn / core.memory.clock_ghz


def last_level(target: Target) -> int:
    """Bytes of the cache before memory."""
    return (target.core.l3 or target.core.l2).bytes


def _kept(target: Target) -> int:
    """Bytes of it that stay from one inference to the next: of a third level the part of one core,
    as what else runs uses it, too.
    """
    l2, l3 = target.core.l2, target.core.l3
    return max(l2.bytes, l3.bytes // l3.shared_by) if l3 else l2.bytes
