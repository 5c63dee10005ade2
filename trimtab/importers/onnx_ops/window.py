"""What convolutions and pools share: the window, its padding, a height of 1 for signals."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.importers.onnx_ops.node import Node, Value

Pair = tuple[int, int]


def image(node: Node, x: Value) -> Value:
    """x: [n, c, h, w] as it is, [n, c, w] with a height of 1."""
    if len(x.shape) == 3:
        n, c, w = x.shape
        return node.add("reshape", x, shape=(n, c, 1, w))
    if len(x.shape) != 4:
        raise node.unsupported(f"its input has {len(x.shape)} dimensions, not 3 or 4")
    return x


def restore(node: Node, y: Value) -> Value:
    """Undoes `image` when the node's input had 3 dimensions."""
    if len(node.x(0).shape) == 4:
        return y
    n, c, _, w = y.shape
    return node.add("reshape", y, shape=(n, c, w))


def plane(x: Value) -> Pair:
    """Height and width."""
    return x.shape[2], x.shape[3]


@dataclass(frozen=True)
class Window:
    """Kernel, strides and dilations, vertical first."""

    kernel: Pair
    strides: Pair
    dilations: Pair

    @staticmethod
    def of(node: Node, kernel: tuple[int, ...]) -> Window:
        """The window that the node's attributes describe; `kernel` may be that of a signal."""
        return Window(
            _pair(kernel, 1),
            _pair(node.integers("strides"), 1),
            _pair(node.integers("dilations"), 1),
        )

    def pads(self, node: Node, size: Pair) -> tuple[int, ...]:
        """Top, left, bottom, right, with auto_pad resolved for an input of `size`."""
        mode = node.text("auto_pad", "NOTSET")
        if mode == "NOTSET":
            return _four(node.integers("pads"))
        if mode == "VALID":
            return (0, 0, 0, 0)
        totals = [
            max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
            for n, k, s, d in zip(size, self.kernel, self.strides, self.dilations, strict=True)
        ]
        return distribute(node, totals, mode)

    def transposed_pads(self, node: Node, size: Pair) -> tuple[tuple[int, ...], Pair]:
        """Pads, and output padding, of a transposed convolution of an input of `size`."""
        mode = node.text("auto_pad", "NOTSET")
        extra = _pair(node.integers("output_padding"), 0)
        full = [
            (n - 1) * s + (k - 1) * d + 1
            for n, k, s, d in zip(size, self.kernel, self.strides, self.dilations, strict=True)
        ]
        if wanted := node.integers("output_shape"):
            wanted = _pair(wanted[-2:] if len(wanted) > 2 else wanted, 1)
        elif mode.startswith("SAME"):
            wanted = tuple(n * s for n, s in zip(size, self.strides, strict=True))
        elif mode == "VALID":
            return (0, 0, 0, 0), extra
        else:
            return _four(node.integers("pads")), extra
        surplus = [f + e - w for f, e, w in zip(full, extra, wanted, strict=True)]
        # An output that is larger than what the kernel reaches is filled up at the far end.
        missing = [max(0, -s) for s in surplus]
        pads = distribute(node, [max(0, s) for s in surplus], mode)
        return pads, (extra[0] + missing[0], extra[1] + missing[1])


def _pair(values: tuple[int, ...], default: int) -> Pair:
    """Vertical and horizontal value; a signal has the horizontal one only."""
    if not values:
        return default, default
    return (default, values[0]) if len(values) == 1 else (values[0], values[1])


def _four(pads: tuple[int, ...]) -> tuple[int, ...]:
    if not pads:
        return (0, 0, 0, 0)
    return pads if len(pads) == 4 else (0, pads[0], 0, pads[1])


def distribute(node: Node, totals: list[int], mode: str) -> tuple[int, ...]:
    """SAME_UPPER puts the odd pixel at the end, everything else at the beginning."""
    small = [total // 2 for total in totals]
    large = [total - part for total, part in zip(totals, small, strict=True)]
    return (*small, *large) if mode == "SAME_UPPER" else (*large, *small)
