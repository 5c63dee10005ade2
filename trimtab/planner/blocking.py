"""Block sizes: how much of an operator's data goes together, so that a core's caches hold it.

docs/planner.md has the rules. Which numbers an operator wants are the plan attributes of its
schema; algorithms ask here for those of their operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from trimtab.cores import Cache
from trimtab.kernels import Kernel
from trimtab.program import Op, Program
from trimtab.program.program import element_bytes
from trimtab.target import Target

_POINTER = 8  # bytes, on the machines that have the most

# Calls of few instructions are not worth one each; more tiles than these gain nothing.
_MOST_CALL_TILES = 8
# Depthwise and pooling kernels take so many neighboring pixels at once, at most so many per call.
_PIXEL_BLOCK, _MOST_PIXELS = 4, 64


def held(cache: Cache, step: int) -> int:
    """Of how many places, `step` bytes apart, a cache holds a line at once: they compete for the
    ways of the sets that they fall into.
    """
    way = cache.bytes // cache.ways
    return cache.ways * (way // math.gcd(step, way))


def gap(target: Target, kernel: Kernel) -> int:
    """Elements between rows that would fall into the same sets: a cache line."""
    return target.core.l1d.line_bytes // element_bytes(kernel.dtype)


def collide(target: Target, kernel: Kernel, step: int) -> bool:
    """Whether the rows of a tile, `step` elements apart, evict each other from the first-level
    cache, so that a copy with gaps is the faster source.
    """
    return held(target.core.l1d, step * element_bytes(kernel.dtype)) < kernel.packing[0]


def panels(target: Target, kernel: Kernel, columns: int, depth: int) -> int:
    """Panels of weights that stay in half of the second-level cache while rows stream past them.

    All threads read the same ones.
    """
    nr = kernel.packing[1]
    resident = target.core.l2.bytes // 2 // (depth * nr * element_bytes(kernel.dtype))
    return min(max(resident, 1), -(-columns // nr))


def call_tiles(target: Target, kernel: Kernel, depth: int) -> int:
    """Tiles of rows whose inputs stay in half of the first-level cache between panels."""
    inputs = target.core.l1d.bytes // 2 // element_bytes(kernel.dtype)
    return min(max(inputs // (depth * kernel.packing[0] + 1), 1), _MOST_CALL_TILES)


def block_rows(
    target: Target, kernel: Kernel, row: int, inputs: int, outputs: int, sharers: int, unit: int
) -> int:
    """Rows of a thread that go through several products together, in whole units.

    `row`: elements of a row that are read and written in between. A larger block reads the weights,
    of `inputs` x `outputs` per product, more rarely; a smaller one stays in three quarters of the
    second-level cache. Once the weights are more than a block's own data they are what counts:
    `sharers` threads read them once for all their blocks.
    """
    cache = target.core.l2
    own = cache.bytes // min(target.threads, cache.shared_by)
    fitting = own * 3 // 4 // element_bytes(kernel.dtype) // row
    balanced = inputs * outputs // (2 * (inputs + outputs) * sharers)
    return -(-max(fitting, balanced) // unit) * unit


def pixels(target: Target, op: Op, window: Sequence[int], width: int, rows: int = 1) -> int:
    """Neighboring outputs in a call of a kernel whose `window` slides over lines of `width`
    outputs: pointers to their taps take a quarter of the first-level cache; pieces of a line are
    alike.
    """
    (stride_h, stride), (_, dilation) = op.attributes["strides"], op.attributes["dilations"]
    step = stride if dilation == 1 and stride <= window[1] else window[1]
    # The last rows of an image come together, up to one less than twice as many.
    column = (2 * rows - 2) * stride_h + window[0]
    most = target.core.l1d.bytes // 4 // _POINTER
    count = _MOST_PIXELS
    while count > 1 and ((count - 1) * step + window[1]) * column > most:
        count -= _PIXEL_BLOCK if count > _PIXEL_BLOCK else 1
    pieces = -(-width // count)
    return min(count, -(-width // pieces // _PIXEL_BLOCK) * _PIXEL_BLOCK)


def _pool_pixels(program: Program, op: Op, target: Target) -> int:
    width = program.vars[op.outputs[0]].shape[3]
    return pixels(target, op, op.attributes["kernel_shape"], width)


def _elements(program: Program, op: Op, target: Target) -> int:
    """An eighth of the second-level cache holds what was just written."""
    return target.core.l2.bytes // 8 // element_bytes(program.dtype(op))


RULES: dict[str, Callable[[Program, Op, Target], int]] = {
    "pixels": _pool_pixels,
    "elements": _elements,
}
"""By plan attribute, for operators that no algorithm computes."""
