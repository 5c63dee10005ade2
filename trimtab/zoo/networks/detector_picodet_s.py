"""A detector like PicoDet-S (Yu et al. 2021): 0.99 M parameters, 0.35 GMAC.

A ShuffleNet with squeeze and excite (ESNet), levels that are joined by partial stages with 5x5
depthwise convolutions, and one light head per level. The head `nanodet` reads the outputs.
"""

from __future__ import annotations

from trimtab.zoo.blocks import channel_shuffle, divisible, squeeze_excite
from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 320, 320)
_ACT = "hard_swish"
_CHANNELS, _KERNEL = 96, 5  # of the joined levels and of the heads
_OUTPUTS = 80 + 4 * 8  # classes, and bins of the sides

# Output channels of a stage, and the inner channels of each of its blocks relative to them.
STAGES = (
    (96, (0.875, 0.5, 0.5)),
    (192, (0.5, 0.625, 0.5, 0.625, 0.5, 0.5, 0.5)),
    (384, (0.5, 0.5, 0.5)),
)


def _depthwise(net: Net, x: str, kernel: int, stride: int = 1, act: str = _ACT) -> str:
    return net.conv_bn(x, net.channels(x), kernel, stride, act, groups=net.channels(x))


def _gated(net: Net, x: str, out: int) -> str:
    x = squeeze_excite(net, x, net.channels(x) // 4, "relu", "hard_sigmoid")
    return net.conv_bn(x, out, act=_ACT)


def _first_block(net: Net, x: str, out: int, hidden: int) -> str:
    """Halves height and width in two branches."""
    left = net.conv_bn(_depthwise(net, x, 3, 2, "linear"), out // 2, act=_ACT)
    right = _depthwise(net, net.conv_bn(x, hidden // 2, act=_ACT), 3, 2, "linear")
    joined = net.concat(left, _gated(net, right, out // 2))
    return net.conv_bn(_depthwise(net, joined, 3), out, act=_ACT)


def _block(net: Net, x: str, hidden: int) -> str:
    left, right = net.halves(x)
    right = net.conv_bn(right, hidden // 2, act=_ACT)
    right = net.concat(right, _depthwise(net, right, 3, act="linear"))
    return channel_shuffle(net, net.concat(left, _gated(net, right, net.channels(left))))


def _backbone(net: Net, x: str) -> list[str]:
    """The maps of the three stages, at strides 8, 16 and 32."""
    x = net.max_pool(net.conv_bn(x, 24, 3, 2, _ACT), 3, 2, 1)
    maps = []
    for out, ratios in STAGES:
        first, *others = (divisible(out * ratio) for ratio in ratios)
        x = _first_block(net, x, out, first)
        for hidden in others:
            x = _block(net, x, hidden)
        maps.append(x)
    return maps


def _separable(net: Net, x: str, stride: int = 1) -> str:
    return net.conv_bn(_depthwise(net, x, _KERNEL, stride), net.channels(x), act=_ACT)


def _stage(net: Net, *parts: str) -> str:
    """A partial stage: half of the channels passes through a separable convolution."""
    x, hidden = net.concat(*parts), _CHANNELS // 2
    short = net.conv_bn(x, hidden, act=_ACT)
    y = net.conv_bn(net.conv_bn(x, hidden, act=_ACT), hidden, act=_ACT)
    return net.conv_bn(net.concat(_separable(net, y), short), _CHANNELS, act=_ACT)


def _head(net: Net, x: str) -> str:
    for _ in "12":
        x = _separable(net, x)
    return net.conv(x, _OUTPUTS)


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 320, 320] -> out40, out20, out10, out5: float32[1, 112, s, s] with s 40,
    20, 10, 5: 80 classes and 8 bins for each side of a box.
    """
    fine, middle, top = (net.conv_bn(x, _CHANNELS, act=_ACT) for x in _backbone(net, x))
    middle = _stage(net, net.upsample(top, 2), middle)
    fine = _stage(net, net.upsample(middle, 2), fine)
    middle = _stage(net, _separable(net, fine, 2), middle)
    coarse = _stage(net, _separable(net, middle, 2), top)
    coarsest = net.add(_separable(net, top, 2), _separable(net, coarse, 2))
    for level, size in ((fine, 40), (middle, 20), (coarse, 10), (coarsest, 5)):
        net.output(_head(net, level), f"out{size}")
