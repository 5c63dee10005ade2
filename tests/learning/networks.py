"""Networks to train."""

from __future__ import annotations

from tests.learning.torch_record import EPSILON, block_weights
from tests.small_programs import Net, normal
from trimtab.program import Program


def small() -> Program:
    """Two convolutions and a fully connected layer with softmax."""
    net = Net(data=(2, 3, 6, 6))
    x = net("relu", net.conv("data", 4, 3, strides=(2, 2)))
    x = net("relu", net.conv(x, 5, 3))
    x = net("reshape", x, shape=(2, 45))
    return net.finish(net("softmax", net("gemm", x, normal(4, 45), normal(4)), axis=1))


def depthwise() -> Program:
    """A depthwise convolution, whose weights are computed while it learns."""
    net = Net(data=(2, 4, 6, 5))
    x = net("conv", "data", normal(4, 1, 3, 3), group=4, pads=[1] * 4, strides=(2, 1))
    x = net("reshape", net("global_average_pool", x), shape=(2, 4))
    return net.finish(net("softmax", x, axis=1))


def residual_block() -> Program:
    """The block of the recorded losses: every parameter is named as in its weights."""
    net = Net(data=(6, 3, 9, 11))
    block, values = net.program.block, block_weights()
    used = {name for name in values if not name.startswith("classes.") or name.endswith(".bias")}
    for name in used:
        block.add_constant(values[name], name)

    def conv_bn(x: str, layer: str, **attributes: object) -> str:
        x = net("conv", x, layer, **attributes)
        names = (f"{layer}.{kind}" for kind in ("scale", "bias", "mean", "variance"))
        return net("batch_normalization", x, *names, epsilon=EPSILON)

    first = net("relu", conv_bn("data", "first", strides=(2, 2), pads=[1] * 4))
    x = net("clip", conv_bn(first, "expand"), alpha=0, beta=6)
    x = net("clip", conv_bn(x, "depthwise", group=12, pads=[1] * 4), alpha=0, beta=6)
    x = net("add", conv_bn(x, "project"), first)
    x = net("reshape", net("global_average_pool", x), shape=(6, 8))
    return net.finish(net("gemm", x, "classes", "classes.bias"))
