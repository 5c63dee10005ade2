"""Building blocks that several networks share."""

from __future__ import annotations

from trimtab.zoo.builder import RESIDUAL_GAMMA, Net


def divisible(value: float, by: int = 8) -> int:
    """`value` rounded to a multiple of `by`, at most 10 % down (MobileNet's rule)."""
    rounded = max(by, int(value + by / 2) // by * by)
    return rounded + by if rounded < 0.9 * value else rounded


def channel_shuffle(net: Net, x: str) -> str:
    """Interleaves the two halves of the channels of a square map (Zhang et al. 2017)."""
    channels, size = net.channels(x), net.size(x)
    x = net.reshape(x, (1, 2, channels // 2, size, size))
    x = net.op("Transpose", [x], perm=[0, 2, 1, 3, 4])
    return net.reshape(x, (1, channels, size, size), channels)


def squeeze_excite(net: Net, x: str, squeezed: int, act: str, gate: str) -> str:
    """Scales each channel by a gate computed from the channel means (Hu et al. 2018)."""
    y = net.op("GlobalAveragePool", [x])
    y = net.act(net.conv(y, squeezed), act)
    y = net.act(net.conv(y, net.channels(x)), gate)
    return net.op("Mul", [x, y])


def inverted_residual(
    net: Net,
    x: str,
    out: int,
    hidden: int,
    *,
    kernel: int = 3,
    stride: int = 1,
    act: str = "relu6",
    squeezed: int = 0,
    gate: str = "sigmoid",
    se_act: str = "relu",
) -> str:
    """Expand, depthwise, (squeeze and excite,) project (Sandler et al. 2018)."""
    y = net.conv_bn(x, hidden, act=act) if hidden != net.channels(x) else x
    y = net.conv_bn(y, hidden, kernel, stride, act, groups=hidden)
    if squeezed:
        y = squeeze_excite(net, y, squeezed, se_act, gate)
    # The gates, near one half, have damped the branch already.
    y = net.conv_bn(y, out, act="linear", gamma=1.2 if squeezed else RESIDUAL_GAMMA)
    return net.add(x, y) if stride == 1 and out == net.channels(x) else y


def transformer(net: Net, x: str, shape: tuple[int, int], heads: int, hidden: int, act: str) -> str:
    """Self-attention and two layers, each behind a norm and beside a shortcut (Vaswani et al. 2017;
    Dosovitskiy et al. 2021). `shape`: of the tokens of x: [n, tokens, width].
    """
    x = net.add(x, _attention(net, net.layer_norm(x), shape, heads))
    y = net.act(net.tokens_linear(net.layer_norm(x), hidden), act)
    return net.add(x, net.tokens_linear(y, net.channels(x)))


def _attention(net: Net, x: str, shape: tuple[int, int], heads: int) -> str:
    width = net.channels(x)
    parts = net.split(net.tokens_linear(x, 3 * width), (width,) * 3, axis=2)
    query, key, value = (_of_heads(net, part, shape, heads) for part in parts)
    turned = net.op("Transpose", [key], perm=[0, 1, 3, 2])
    scores = net.op("MatMul", [net.scaled(query, (width // heads) ** -0.5), turned])
    mixed = net.op("MatMul", [net.op("Softmax", [scores], axis=-1), value])
    joined = net.op("Transpose", [mixed], perm=[0, 2, 1, 3])
    return net.tokens_linear(net.reshape(joined, (*shape, width), width), width)


def _of_heads(net: Net, x: str, shape: tuple[int, int], heads: int) -> str:
    """[n, tokens, width] -> [n, heads, tokens, width / heads]."""
    split = net.reshape(x, (*shape, heads, net.channels(x) // heads))
    return net.op("Transpose", [split], perm=[0, 2, 1, 3])
