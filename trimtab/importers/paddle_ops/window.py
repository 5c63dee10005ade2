"""The windows of convolutions and pools, and operands with the channels last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trimtab.importers._graph import Value
from trimtab.importers.paddle_ops.node import PaddleNode
from trimtab.importers.vocabulary.movement import TO_CHANNELS_FIRST, TO_CHANNELS_LAST
from trimtab.importers.vocabulary.window import Pair, Window


def has_channels_last(node: PaddleNode, attribute: str = "data_format") -> bool:
    """Whether operands are [n, h, w, c]; AnyLayout of old programs means [n, c, h, w]."""
    return node.text(attribute, "NCHW") == "NHWC"


def channels_first(node: PaddleNode, slot: str, attribute: str = "data_format") -> Value:
    """The image in an input slot as [n, c, h, w]."""
    x = node.image(slot)
    return node.transpose(x, TO_CHANNELS_FIRST) if has_channels_last(node, attribute) else x


def restored(node: PaddleNode, y: Value, attribute: str = "data_format") -> Value:
    """A result [n, c, h, w] in the layout of the node's operands."""
    return node.transpose(y, TO_CHANNELS_LAST) if has_channels_last(node, attribute) else y


def pair(node: PaddleNode, name: str, default: int | None = None) -> Pair:
    """A vertical and a horizontal value."""
    values = node.integers(name, () if default is None else (default, default))
    if len(values) not in (1, 2):
        raise node.invalid(f"attribute '{name}' must have two values, it is {list(values)}")
    return values[0], values[-1]


def window(node: PaddleNode, size: Sequence[int], kernel: Pair, dilations: Pair = (1, 1)) -> Window:
    """The window of an operator with an input of `size`; SAME padding ignores dilations."""
    algorithm = node.text("padding_algorithm", "EXPLICIT")
    unpadded = Window(kernel, pair(node, "strides", 1), dilations=dilations)
    unpadded.check(node)
    if algorithm == "VALID":
        return unpadded
    if algorithm == "SAME":
        return replace(unpadded, dilations=(1, 1)).same(size)
    pads = node.integers("paddings", (0, 0))
    if len(pads) == 4:
        return unpadded.padded((pads[0], pads[2], pads[1], pads[3]))
    if len(pads) not in (1, 2):
        raise node.invalid(f"attribute 'paddings' is {list(pads)}, it must have 1, 2 or 4 values")
    return unpadded.padded((pads[0], pads[-1]) * 2)
