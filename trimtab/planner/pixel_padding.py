"""Gaps between pixels that would fall into the same few sets of a cache.

Kernels read the same channels of many pixels at once. Where the first-level cache cannot hold those
of so many, they evict each other before the next channels are read.
"""

from __future__ import annotations

from trimtab.cores import Cache
from trimtab.planner.blocking import held
from trimtab.planner.concat_elision import can_be_part, is_image
from trimtab.program import Program, Var

# Pixels that are read at once: depthwise kernels take two rows of windows, four pixels of each.
_AT_ONCE = 32


def place(program: Program, cache: Cache) -> None:
    """Makes images whose pixels would collide parts of variables with a few channels more, where
    the operators at them can step over these.
    """
    for name in [name for op in program.ops for name in op.outputs]:
        var = program.vars[name]
        if is_image(var) and _collides(var, cache) and can_be_part(program, name, None):
            n, c, h, w = var.shape
            spaced = program.block.new_name(f"{name}.spaced")
            channels = c + cache.line_bytes * var.count // var.bytes
            program.vars[spaced] = Var(spaced, (n, channels, h, w), var.dtype, layout=var.layout)
            var.parent = spaced


def collide(cache: Cache, pixel_bytes: int) -> bool:
    """Whether pixels so far apart evict each other from the first-level cache."""
    return held(cache, pixel_bytes) < _AT_ONCE


def _collides(var: Var, cache: Cache) -> bool:
    pixels = var.count // max(var.shape[1], 1)
    return pixels > 1 and collide(cache, var.bytes // pixels)
