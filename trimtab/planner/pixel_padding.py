"""Padding between pixels, against conflicts in the sets of a cache.

Kernels read the same channels of many pixels at once. If these pixels fall into the same few sets
of the first-level cache, they evict each other before the next channels are read.
"""

from __future__ import annotations

from trimtab.cores import Cache
from trimtab.planner.blocking import resident_lines
from trimtab.planner.concat_elision import can_be_sub_tensor, is_image
from trimtab.program import Program, Var

# Pixels that are read at once: depthwise kernels read two rows of windows with four pixels each.
_PIXELS_AT_ONCE = 32


def pad(program: Program, cache: Cache) -> None:
    """Pads the pixels of images that would conflict by one cache line of channels.

    An image becomes a sub-tensor of a variable with more channels. All operators that read or write
    it must support strided pixels.
    """
    for name in [name for op in program.ops for name in op.outputs]:
        var = program.vars[name]
        if is_image(var) and _conflicts(var, cache) and can_be_sub_tensor(program, name, None):
            n, c, h, w = var.shape
            padded = program.block.new_name(f"{name}.spaced")
            channels = c + cache.line_bytes * var.count // var.bytes
            program.vars[padded] = Var(padded, (n, channels, h, w), var.dtype, layout=var.layout)
            var.parent = padded


def conflicts(cache: Cache, pixel_bytes: int) -> bool:
    """Whether pixels at this distance evict each other from the first-level cache."""
    return resident_lines(cache, pixel_bytes) < _PIXELS_AT_ONCE


def _conflicts(var: Var, cache: Cache) -> bool:
    pixels = var.count // max(var.shape[1], 1)
    return pixels > 1 and conflicts(cache, var.bytes // pixels)
