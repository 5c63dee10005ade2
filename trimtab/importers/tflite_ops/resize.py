"""Interpolation, and pixels that become channels."""

from __future__ import annotations

from typing import Any

from trimtab.importers.tflite_ops.node import Image, Node, Results, handles


@handles("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(node: Node) -> Results:
    """To a constant height and width."""
    linear = node.type == "RESIZE_BILINEAR"
    options = node.options("ResizeBilinearOptions" if linear else "ResizeNearestNeighborOptions")
    attributes: dict[str, Any] = {"mode": "linear" if linear else "nearest"}
    if options.AlignCorners():
        # floor(x + 0.5)
        attributes |= {"coordinate_mode": "align_corners", "nearest_mode": "round_prefer_ceil"}
    elif options.HalfPixelCenters():
        coordinates = "half_pixel" if linear else "tf_half_pixel_for_nn"
        attributes |= {"coordinate_mode": coordinates, "nearest_mode": "floor"}
    else:
        attributes |= {"coordinate_mode": "asymmetric", "nearest_mode": "floor"}
    return Image(node.add("resize", node.image(), sizes=node.ints(1, "size"), **attributes))


@handles("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def blocks(node: Node) -> Results:
    """Channels of a block are behind those of the one before."""
    if node.type == "SPACE_TO_DEPTH":
        size = node.options("SpaceToDepthOptions").BlockSize()
        return Image(node.add("space_to_depth", node.image(), block_size=size))
    size = node.options("DepthToSpaceOptions").BlockSize()
    return Image(node.add("depth_to_space", node.image(), block_size=size, mode="dcr"))


@handles("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
def batches(node: Node) -> Results:
    """Pixels of a block become images, and back: how old models dilate convolutions."""
    block, amounts = node.ints(1, "block"), node.known(2, "amounts")
    x = node.x()
    if len(x.shape) != 4 or len(block) != 2 or amounts.shape != (2, 2) or min(block) < 1:
        raise node.unsupported("it is not made of images")
    (top, bottom), (left, right) = amounts.tolist()
    if node.type == "SPACE_TO_BATCH_ND":
        x = node.add("pad", x, pads=(0, top, left, 0, 0, bottom, right, 0))
        n, h, w, c = x.shape
        if h % block[0] or w % block[1]:
            raise node.invalid(f"blocks of {block} do not divide {h} x {w}")
        h, w = h // block[0], w // block[1]
        x = node.reshape(x, (n, h, block[0], w, block[1], c))
        x = node.transpose(x, (2, 4, 0, 1, 3, 5))
        return node.reshape(x, (block[0] * block[1] * n, h, w, c))
    n, h, w, c = x.shape
    if n % (block[0] * block[1]):
        raise node.invalid(f"blocks of {block} do not divide {n} images")
    n //= block[0] * block[1]
    x = node.reshape(x, (block[0], block[1], n, h, w, c))
    x = node.transpose(x, (2, 3, 0, 4, 1, 5))
    x = node.reshape(x, (n, h * block[0], w * block[1], c))
    return node.add("pad", x, pads=(0, -top, -left, 0, 0, -bottom, -right, 0))
