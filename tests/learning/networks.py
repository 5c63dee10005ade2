"""Networks to train."""

from __future__ import annotations

from tests.small_programs import Net, normal
from trimtab.program import Program


def small() -> Program:
    """Two convolutions and a fully connected layer with softmax."""
    net = Net(data=(2, 3, 6, 6))
    x = net("relu", net.conv("data", 4, 3, strides=(2, 2)))
    x = net("relu", net.conv(x, 5, 3))
    x = net("reshape", x, shape=(2, 45))
    return net.finish(net("softmax", net("gemm", x, normal(4, 45), normal(4)), axis=1))
