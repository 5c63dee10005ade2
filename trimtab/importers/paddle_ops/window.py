"""What convolutions and pools share: padding rules, channels that come last."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.importers._layers import Value
from trimtab.importers.paddle_ops.node import TO_CHANNELS_FIRST, TO_CHANNELS_LAST, Node

Pair = tuple[int, int]
Pads = tuple[int, int, int, int]


def has_channels_last(node: Node, attribute: str = "data_format") -> bool:
    """Whether operands are [n, h, w, c]; AnyLayout, of old programs, means that they are not."""
    return node.text(attribute, "NCHW") == "NHWC"


def channels_first(node: Node, slot: str, attribute: str = "data_format") -> Value:
    """The image in an input slot as [n, c, h, w]."""
    x = node.image(slot)
    return node.transpose(x, TO_CHANNELS_FIRST) if has_channels_last(node, attribute) else x


def restored(node: Node, y: Value, attribute: str = "data_format") -> Value:
    """A result [n, c, h, w] in the order that the node's operands have."""
    return node.transpose(y, TO_CHANNELS_LAST) if has_channels_last(node, attribute) else y


def pair(node: Node, name: str, default: int | None = None) -> Pair:
    """A vertical and a horizontal value."""
    values = node.integers(name, () if default is None else (default, default))
    if len(values) not in (1, 2):
        raise node.invalid(f"attribute '{name}' must have two values, it is {list(values)}")
    return values[0], values[-1]


def padding(node: Node, size: Sequence[int], kernel: Pair, strides: Pair) -> Pads:
    """Top, left, bottom, right for an input of `size`; SAME does not know dilations."""
    algorithm = node.text("padding_algorithm", "EXPLICIT")
    if min(*kernel, *strides) < 1:
        raise node.invalid(f"its window is {kernel}, its stride {strides}")
    if algorithm == "VALID":
        return (0, 0, 0, 0)
    if algorithm == "SAME":
        totals = [
            max(0, (-(-n // s) - 1) * s + k - n)
            for n, k, s in zip(size, kernel, strides, strict=True)
        ]
        top, left = (total // 2 for total in totals)
        return top, left, totals[0] - top, totals[1] - left
    pads = node.integers("paddings", (0, 0))
    if len(pads) == 4:
        return pads[0], pads[2], pads[1], pads[3]
    if len(pads) not in (1, 2):
        raise node.invalid(f"attribute 'paddings' is {list(pads)}")
    return pads[0], pads[-1], pads[0], pads[-1]


def is_same(node: Node) -> bool:
    """Whether the padding keeps the size, but for the stride."""
    return node.text("padding_algorithm", "EXPLICIT") == "SAME"
