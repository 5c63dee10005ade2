"""Gaps between pixels that would fall into the same few sets of a cache.

Kernels read the same channels of many pixels at once. Where pixels lie a multiple of half a cache
way apart, they compete for two sets, and evict each other before the next channels are read.
"""

from __future__ import annotations

from trimtab.planner.parts import can_be_part, is_image
from trimtab.program import Program, Var

# After these many bytes the sets of most first-level caches repeat.
_CACHE_WAY = 4096
_GAP = 64  # bytes: a cache line


def place(program: Program) -> None:
    """Makes images whose pixels would collide parts of variables with a few channels more, where
    the operators at them can step over these.
    """
    for name in [name for op in program.ops for name in op.outputs]:
        var = program.vars[name]
        if is_image(var) and _collides(var) and can_be_part(program, name, None):
            n, c, h, w = var.shape
            spaced = program.block.new_name(f"{name}.spaced")
            channels = c + _GAP * var.count // var.bytes
            program.vars[spaced] = Var(spaced, (n, channels, h, w), var.dtype, layout=var.layout)
            var.parent = spaced


def _collides(var: Var) -> bool:
    pixels = var.count // max(var.shape[1], 1)
    return pixels > 1 and var.bytes // pixels % (_CACHE_WAY // 2) == 0
