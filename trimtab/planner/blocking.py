"""Block sizes: how much of an operator's data is processed together, so that the caches hold it.

docs/planner.md has the rules. The plan attributes of a schema say which sizes an operator has;
algorithms compute those of their operators with the functions of this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from trimtab.cores import Cache
from trimtab.kernels import Kernel
from trimtab.program import Op, Program
from trimtab.program.block import element_bytes
from trimtab.target import Target

_POINTER = 8  # bytes, on 64-bit machines

# Larger blocks are slower even where a second-level cache of 2 MB holds them: measured on an
# Emerald Rapids, where half of its three quarters takes 0.75 to 1.0 times as long.
MAX_BLOCK_BYTES = 768 * 1024
# More tiles in a call of the kernel do not reduce its overhead further.
_MAX_CALL_TILES = 8
# Neighboring pixels that depthwise and pooling kernels process at once, and the maximum per call.
_PIXEL_BLOCK, _MAX_PIXELS = 4, 64


def resident_lines(cache: Cache, step: int) -> int:
    """How many addresses, `step` bytes apart, a cache can hold a line of at once: they compete for
    the ways of the sets that they map to.
    """
    way = cache.bytes // cache.ways
    return cache.ways * (way // math.gcd(step, way))


def row_padding(target: Target, kernel: Kernel) -> int:
    """Padding of the leading dimension of rows that would conflict: the elements of a cache
    line.
    """
    return target.core.l1d.line_bytes // element_bytes(kernel.dtype)


def conflicts(target: Target, kernel: Kernel, step: int) -> bool:
    """Whether the rows of a tile, `step` elements apart, evict each other from the first-level
    cache, so that reading from a padded copy is faster.
    """
    lines = resident_lines(target.core.l1d, step * element_bytes(kernel.dtype))
    return lines < kernel.packing[0]


def panels(target: Target, kernel: Kernel, columns: int, depth: int) -> int:
    """Weight panels that stay in half of the second-level cache while rows stream past them.

    All threads read the same panels.
    """
    nr = kernel.packing[1]
    resident = target.core.l2.bytes // 2 // (depth * nr * element_bytes(kernel.dtype))
    return min(max(resident, 1), -(-columns // nr))


def call_tiles(target: Target, kernel: Kernel, depth: int) -> int:
    """Row tiles per kernel call whose inputs stay in half of the first-level cache from one panel
    to the next.
    """
    inputs = target.core.l1d.bytes // 2 // element_bytes(kernel.dtype)
    return min(max(inputs // (depth * kernel.packing[0] + 1), 1), _MAX_CALL_TILES)


def block_rows(
    target: Target, kernel: Kernel, row: int, inputs: int, outputs: int, sharers: int, unit: int
) -> int:
    """Rows that one thread processes through several GEMMs together, a multiple of `unit`.

    `row`: intermediate elements per row. A larger block reads the weights (`inputs` x `outputs` per
    GEMM) less often, a smaller one stays in three quarters of the second-level cache, at most
    MAX_BLOCK_BYTES. The weights decide once they are larger than the block's own data: `sharers`
    threads read them once for all their blocks.
    """
    cache = target.core.l2
    own = cache.bytes // min(target.threads, cache.shared_by)
    fitting = min(own * 3 // 4, MAX_BLOCK_BYTES) // element_bytes(kernel.dtype) // row
    balanced = inputs * outputs // (2 * (inputs + outputs) * sharers)
    return -(-max(fitting, balanced) // unit) * unit


def pixels(target: Target, op: Op, window: Sequence[int], width: int, rows: int = 1) -> int:
    """Neighboring outputs per call of a kernel whose `window` slides over lines of `width` outputs.

    The pointers to their taps take at most a quarter of the first-level cache, unless the outputs
    are fewer than the window has columns: each call would write nearly all pointers again. A line
    is divided into equal pieces.
    """
    (stride_h, stride), (_, dilation) = op.attributes["strides"], op.attributes["dilations"]
    step = stride if dilation == 1 and stride <= window[1] else window[1]
    # The last rows of an image are processed together: up to twice as many, minus one.
    column = (2 * rows - 2) * stride_h + window[0]
    limit = target.core.l1d.bytes // 4 // _POINTER
    count = _MAX_PIXELS
    while count > window[1] and ((count - 1) * step + window[1]) * column > limit:
        count -= _PIXEL_BLOCK if count > _PIXEL_BLOCK else 1
    pieces = -(-width // count)
    return min(count, -(-width // pieces // _PIXEL_BLOCK) * _PIXEL_BLOCK)


def _pool_pixels(program: Program, op: Op, target: Target) -> int:
    width = program.vars[op.outputs[0]].shape[3]
    return pixels(target, op, op.attributes["kernel_shape"], width)


def _elements(program: Program, op: Op, target: Target) -> int:
    """Elements that fill an eighth of the second-level cache, for the operator that reads them."""
    return target.core.l2.bytes // 8 // element_bytes(program.dtype(op))


RULES: dict[str, Callable[[Program, Op, Target], int]] = {
    "pixels": _pool_pixels,
    "elements": _elements,
}
"""Rules by plan attribute, for operators without a choice of algorithms."""
