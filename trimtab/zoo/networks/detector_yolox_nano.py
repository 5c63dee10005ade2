"""A detector like YOLOX-nano (Ge et al. 2021): 0.91 M parameters, 0.54 GMAC.

Depthwise convolutions, SiLU, a stem that folds 2x2 pixels into channels. The head `yolox` reads the
outputs.
"""

from __future__ import annotations

import numpy as np

from trimtab.zoo.builder import RESIDUAL_GAMMA, Net
from trimtab.zoo.detector_blocks import CLASSES, conv

INPUT_SHAPE = (1, 3, 416, 416)
_HEAD = 64


def _separable(net: Net, x: str, out: int, stride: int = 1) -> str:
    x = conv(net, x, net.channels(x), 3, stride, groups=net.channels(x))
    return conv(net, x, out)


def _stage(net: Net, x: str, out: int, repeats: int, *, shortcut: bool = True) -> str:
    """A partial stage: half of the channels passes through bottlenecks."""
    hidden = out // 2
    y = conv(net, x, hidden)
    for _ in range(repeats):
        z = conv(net, conv(net, y, hidden), hidden, 3, groups=hidden)
        if shortcut:
            y = net.add(y, net.conv_bn(z, hidden, act="silu", gamma=RESIDUAL_GAMMA))
        else:
            y = conv(net, z, hidden)
    return conv(net, net.concat(y, conv(net, x, hidden)), out)


def _folded(net: Net, x: str) -> str:
    """The four pixels of each square of two, as channels: left ones first."""
    axes = net.constant("fold.axes", np.array([2, 3], np.int64))
    steps = net.constant("fold.steps", np.array([2, 2], np.int64))
    ends = net.constant("fold.ends", np.array(INPUT_SHAPE[2:], np.int64))
    parts = []
    for number, corner in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
        starts = net.constant(f"fold.{number}", np.array(corner, np.int64))
        parts.append(net.op("Slice", [x, starts, ends, axes, steps]))
    return net.concat(*parts)


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 416, 416] -> per level s of 52, 26, 13: boxes, float32[1, 4, s, s],
    objects, float32[1, 1, s, s], and classes, float32[1, 80, s, s].
    """
    x = conv(net, _folded(net, x), 16, 3)
    x = _stage(net, _separable(net, x, 32, 2), 32, 1)
    fine = _stage(net, _separable(net, x, 64, 2), 64, 3)
    middle = _stage(net, _separable(net, fine, 128, 2), 128, 3)
    x = conv(net, _separable(net, middle, 256, 2), 128)
    x = conv(net, net.concat(x, *(net.max_pool(x, size, 1, size // 2) for size in (5, 9, 13))), 256)
    coarse = conv(net, _stage(net, x, 256, 1, shortcut=False), 128)
    joined = net.concat(net.upsample(coarse, 2), middle)
    middle = conv(net, _stage(net, joined, 128, 1, shortcut=False), 64)
    fine = _stage(net, net.concat(net.upsample(middle, 2), fine), 64, 1, shortcut=False)
    joined = net.concat(_separable(net, fine, 64, 2), middle)
    middle = _stage(net, joined, 128, 1, shortcut=False)
    joined = net.concat(_separable(net, middle, 128, 2), coarse)
    coarse = _stage(net, joined, 256, 1, shortcut=False)
    for number, level in enumerate((fine, middle, coarse), 3):
        stem = conv(net, level, _HEAD)
        branches = []
        for _ in "12":
            y = stem
            for _ in "12":
                y = _separable(net, y, _HEAD)
            branches.append(y)
        net.output(net.conv(branches[0], 4), f"boxes{number}")
        net.output(net.conv(branches[0], 1), f"objects{number}")
        net.output(net.conv(branches[1], CLASSES), f"classes{number}")
