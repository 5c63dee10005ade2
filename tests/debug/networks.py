"""A small network that uses kernels of every family, with odd sizes: loops have tails."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.small_programs import Net, normal
from trimtab.program import Program


@cache
def small() -> Program:
    """Convolutions of three kinds, a sum with a residual, pooling, a fully connected layer and a
    softmax, on an image of 13x11 pixels.
    """
    net = Net(x=(1, 3, 13, 11))
    first = net("relu", net.conv("x", 19, 3, strides=[2, 2]))
    depthwise = net("relu", net.conv(first, 19, 3, group=19))
    pointwise = net.conv(depthwise, 19)
    total = net("add", pointwise, first)
    both = net("concat", total, net("sigmoid", net.conv(total, 13)), axis=1)
    pooled = net("max_pool", both, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    deep = net.conv(pooled, 33)
    flat = net("reshape", net("global_average_pool", deep), shape=[1, 33])
    scores = net("mat_mul", flat, 0.02 * normal(33, 10))
    return net.finish(net("softmax", scores, axis=1))


def write(folder: Path) -> Path:
    """The network as a file in that folder."""
    path = folder / "small.ttm"
    small().save(path)
    return path
