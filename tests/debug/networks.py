"""A small network that uses kernels of every family, with odd sizes: loops have tails."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.small_programs import Net, normal
from trimtab.program import Program


@cache
def small(height: int = 13, width: int = 11) -> Program:
    """Convolutions of three kinds, a sum with a residual, pooling, a fully connected layer and a
    softmax, on a small image.
    """
    net = Net(x=(1, 3, height, width))
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


def write(folder: Path, *, threads: int = 1) -> Path:
    """The network as a file in that folder; for several threads with work for each."""
    path = folder / "small.ttm"
    (small() if threads == 1 else small(97, 95)).save(path)
    return path
