"""Images as matrices: a row for each pixel, or for the window of each output pixel."""

from __future__ import annotations

from typing import Any

from trimtab.gradients._differentiated import DifferentiatedOp

CHANNELS_LAST, CHANNELS_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def exact(
    op: DifferentiatedOp, kernel_shape: tuple[int, ...], image: str, windows: str
) -> dict[str, Any]:
    """The attributes of im2col and col2im for the operator's window over `image`, whose number of
    windows is the size of `windows`: padding at the bottom and right ends with the last window.
    """
    strides, dilations, pads = (op.attributes[name] for name in ("strides", "dilations", "pads"))
    ends = []
    for axis in (0, 1):
        size, count = op.shape(image)[2 + axis], op.shape(windows)[2 + axis]
        last = (count - 1) * strides[axis] + (kernel_shape[axis] - 1) * dilations[axis] + 1
        ends.append(max(0, last - size - pads[axis]))
    return {
        "kernel_shape": kernel_shape,
        "strides": strides,
        "dilations": dilations,
        "pads": (*pads[:2], *ends),
    }


def rows(op: DifferentiatedOp, image: str, group: int = 1) -> str:
    """[n, c, h, w] as [group, n h w, c / group]."""
    n, c, h, w = op.shape(image)
    pixels = op.add("transpose", image, permutation=CHANNELS_LAST)
    if group == 1:
        return op.reshape(pixels, 1, n * h * w, c)
    pixels = op.reshape(pixels, n * h * w, group, c // group)
    return op.add("transpose", pixels, permutation=(1, 0, 2))


def image(op: DifferentiatedOp, rows: str, n: int, h: int, w: int) -> str:
    """[group, n h w, c / group] as [n, c, h, w]."""
    group, _, channels = op.shape(rows)
    if group != 1:
        rows = op.add("transpose", rows, permutation=(1, 0, 2))
    pixels = op.reshape(rows, n, h, w, group * channels)
    return op.add("transpose", pixels, permutation=CHANNELS_FIRST)


def weights(op: DifferentiatedOp, w: str, group: int) -> str:
    """Weights [a, b, kh, kw] as [group, a / group, kh kw b]."""
    a, b, kernel_h, kernel_w = op.shape(w)
    by_tap = op.add("transpose", w, permutation=CHANNELS_LAST)
    return op.reshape(by_tap, group, a // group, kernel_h * kernel_w * b)
