"""Blocks of YOLO11 and YOLO26: partial stages (C3k2) with SiLU, and attention (C2PSA).

Written from the public descriptions of the networks: names of blocks are theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.zoo.builder import RESIDUAL_GAMMA, Net

CLASSES = 80
_HEAD = 64  # channels of an attention head's values; keys and queries have half of them


def conv(net: Net, x: str, out: int, kernel: int = 1, stride: int = 1, *, groups: int = 1) -> str:
    """Convolution, batch normalization, SiLU."""
    return net.conv_bn(x, out, kernel, stride, "silu", groups=groups)


def _residual(net: Net, x: str, hidden: int) -> str:
    """Two 3x3 convolutions beside a shortcut."""
    y = conv(net, x, hidden, 3)
    y = net.conv_bn(y, net.channels(x), 3, act="silu", gamma=RESIDUAL_GAMMA)
    return net.add(x, y)


def _c3k(net: Net, x: str) -> str:
    """A partial stage of two residual blocks, at half of the channels."""
    out, hidden = net.channels(x), net.channels(x) // 2
    y = conv(net, x, hidden)
    for _ in range(2):
        y = _residual(net, y, hidden)
    return conv(net, net.concat(y, conv(net, x, hidden)), out)


def levels(net: Net, x: str, joined: str, last: str, *, shortcut: bool) -> tuple[str, str, str]:
    """Backbone and joined levels of strides 8, 16 and 32, at the width of the smallest networks.

    `joined`, `last`: the inner blocks of the stages behind the backbone, and of the last one.
    `shortcut`: whether the pyramid has one.
    """
    x = conv(net, conv(net, x, 16, 3, 2), 32, 3, 2)
    x = conv(net, c3k2(net, x, 64, expansion=0.25), 64, 3, 2)
    fine = c3k2(net, x, 128, expansion=0.25)
    middle = c3k2(net, conv(net, fine, 128, 3, 2), 128, "c3k")
    x = c3k2(net, conv(net, middle, 256, 3, 2), 256, "c3k")
    coarse = c2psa(net, spatial_pyramid(net, x, shortcut=shortcut))
    middle = c3k2(net, net.concat(net.upsample(coarse, 2), middle), 128, joined)
    fine = c3k2(net, net.concat(net.upsample(middle, 2), fine), 64, joined)
    middle = c3k2(net, net.concat(conv(net, fine, 64, 3, 2), middle), 128, joined)
    x = net.concat(conv(net, middle, 128, 3, 2), coarse)
    return fine, middle, c3k2(net, x, 256, last)


def c3k2(net: Net, x: str, out: int, inner: str = "residual", expansion: float = 0.5) -> str:
    """A partial stage: one half of the channels passes through `inner` ("residual", "c3k" or
    "attention"), and all parts are joined.
    """
    hidden = int(out * expansion)
    first, second = net.halves(conv(net, x, 2 * hidden))
    match inner:
        case "residual":
            y = _residual(net, second, hidden // 2)
        case "c3k":
            y = _c3k(net, second)
        case _:
            y = attention_block(net, _residual(net, second, hidden // 2))
    return conv(net, net.concat(first, second, y), out)


def spatial_pyramid(net: Net, x: str, *, shortcut: bool = False) -> str:
    """Three 5x5 max poolings in a row, joined (SPPF)."""
    out = net.channels(x)
    parts = [conv(net, x, out // 2)]
    for _ in range(3):
        parts.append(net.max_pool(parts[-1], 5, 1, 2))
    y = conv(net, net.concat(*parts), out)
    return net.add(x, y) if shortcut else y


def attention_block(net: Net, x: str) -> str:
    """Self-attention over the places of a map, then two 1x1 convolutions, each with a shortcut."""
    x = net.add(x, _attention(net, x))
    y = conv(net, x, 2 * net.channels(x))
    return net.add(x, net.conv_bn(y, net.channels(x), act="linear", gamma=RESIDUAL_GAMMA))


def c2psa(net: Net, x: str) -> str:
    """A partial stage whose one half passes through an attention block."""
    out = net.channels(x)
    first, second = net.halves(conv(net, x, out))
    return conv(net, net.concat(first, attention_block(net, second)), out)


def _attention(net: Net, x: str) -> str:
    """Attention with heads of 64 channels and a depthwise positional convolution of the values."""
    channels, heads = net.channels(x), max(net.channels(x) // _HEAD, 1)
    values = channels // heads
    keys = values // 2
    size = net.size(x)
    places = size * size
    qkv = net.conv_bn(x, channels + 2 * keys * heads, act="linear")
    parts = net.reshape(qkv, (1, heads, 2 * keys + values, places))
    query, key, value = net.split(parts, (keys, keys, values), axis=2)
    turned = net.op("Transpose", [query], perm=[0, 1, 3, 2])
    weights = net.scaled(net.op("MatMul", [turned, key]), keys**-0.5)
    weights = net.op("Softmax", [weights], axis=-1)
    weights = net.op("Transpose", [weights], perm=[0, 1, 3, 2])
    mixed = net.op("MatMul", [value, weights])
    maps = [net.reshape(y, (1, channels, size, size), channels) for y in (mixed, value)]
    position = net.conv_bn(maps[1], channels, 3, act="linear", groups=channels)
    joined = net.add(maps[0], position)
    return net.conv_bn(joined, channels, act="linear", gamma=RESIDUAL_GAMMA)


def head(net: Net, levels: Sequence[str], box_channels: int, sides: int) -> None:
    """Per level an output of the boxes (`sides` channels) and of the classes.

    `box_channels`: those of the convolutions of boxes; classes have depthwise convolutions.
    """
    classes = max(net.channels(levels[0]), CLASSES)
    for number, level in enumerate(levels, 3):
        boxes = conv(net, conv(net, level, box_channels, 3), box_channels, 3)
        net.output(net.conv(boxes, sides), f"boxes{number}")
        y = level
        for _ in range(2):
            y = conv(net, y, net.channels(y), 3, groups=net.channels(y))
            y = conv(net, y, classes)
        net.output(net.conv(y, CLASSES), f"classes{number}")
