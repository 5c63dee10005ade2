"""Darknet's reorganisation of pixels into channels (YOLOv2), as an ordinary one between views."""

from __future__ import annotations


def reorg_shapes(
    shape: tuple[int, ...], stride: int, op: str
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """How the reorganisation sees an operand [n, c, h, w], and what comes out; None: it cannot.

    Darknet moves the pixels of an image of [c / stride^2, h * stride, w * stride] that lies in the
    memory of [c, h, w], and calls the result [c * stride^2, h / stride, w / stride]. `op` is
    space_to_depth, or depth_to_space for its reverse.
    """
    n, c, h, w = shape
    area = stride * stride
    if stride < 1 or c % area:
        return None
    if op == "depth_to_space":
        return shape, (n, c // area, h * stride, w * stride)
    if h % stride or w % stride:
        return None
    return (n, c // area, h * stride, w * stride), (n, c * area, h // stride, w // stride)
