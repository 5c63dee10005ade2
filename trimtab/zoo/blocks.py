"""Building blocks that several networks share."""

from __future__ import annotations

from trimtab.zoo.builder import RESIDUAL_GAMMA, Net


def divisible(value: float, by: int = 8) -> int:
    """`value` rounded to a multiple of `by`, at most 10 % down (MobileNet's rule)."""
    rounded = max(by, int(value + by / 2) // by * by)
    return rounded + by if rounded < 0.9 * value else rounded


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
