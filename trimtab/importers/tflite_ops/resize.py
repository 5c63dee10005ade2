"""Resizing, and the conversion of pixels into channels or images."""

from __future__ import annotations

from trimtab.importers.tflite_ops.forms import Blocks, NchwImage, Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import resize as images
from trimtab.importers.vocabulary.movement import padded


@handles("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(node: TfliteNode) -> Results:
    """Resizes to a constant height and width."""
    linear = node.type == "RESIZE_BILINEAR"
    options = node.options("ResizeBilinearOptions" if linear else "ResizeNearestNeighborOptions")
    coordinates, rounding = "asymmetric", "floor"
    if options.AlignCorners():
        coordinates, rounding = "align_corners", "round_prefer_ceil"  # floor(x + 0.5)
    elif options.HalfPixelCenters():
        coordinates = "half_pixel" if linear else "tf_half_pixel_for_nn"
    mode, sizes = "linear" if linear else "nearest", node.ints(1, "size")
    return NchwImage(images.resize(node, node.image(), sizes, mode, coordinates, rounding))


@handles("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def blocks(node: TfliteNode) -> Results:
    """Moves channels into pixels or back; the position in a block is the outer index."""
    if node.type == "SPACE_TO_DEPTH":
        size = node.options("SpaceToDepthOptions").BlockSize()
        return NchwImage(node.add("space_to_depth", node.image(), block_size=size))
    size = node.options("DepthToSpaceOptions").BlockSize()
    return NchwImage(node.add("depth_to_space", node.image(), block_size=size, mode="dcr"))


def _block(node: TfliteNode) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
    """The block size, and the amounts at the top, left, bottom and right."""
    block, amounts = node.ints(1, "block"), node.known(2, "amounts")
    if len(node.shape()) != 4 or len(block) != 2 or amounts.shape != (2, 2):
        raise node.unsupported("its operand is not an image")
    (top, bottom), (left, right) = amounts.tolist()
    if min(*block, top, bottom, left, right) < 0 or 0 in block:
        raise node.invalid(f"its block is {block}, its amounts are {amounts.tolist()}")
    return (block[0], block[1]), (top, left, bottom, right)


@handles("SPACE_TO_BATCH_ND")
def space_to_batch(node: TfliteNode) -> Results:
    """Moves the pixels of a block into images, as old models do for dilated convolutions."""
    block, pads = _block(node)
    x = node.image()
    h, w = x.shape[2] + pads[0] + pads[2], x.shape[3] + pads[1] + pads[3]
    if h % block[0] or w % block[1]:
        raise node.invalid(f"blocks of {block} do not divide {h} x {w}")
    return Blocks(x, block, pads)


@handles("BATCH_TO_SPACE_ND")
def batch_to_space(node: TfliteNode) -> Results:
    """Reverses SPACE_TO_BATCH_ND, then crops the image."""
    blocks = node.blocks()
    if blocks and (node.ints(1, "block") != blocks.block or any(blocks.pads)):
        blocks = None
    (rows, columns), (top, left, bottom, right) = _block(node)
    if blocks:
        return NchwImage(padded(node, blocks.value, {2: (-top, -bottom), 3: (-left, -right)}))
    x = node.x()
    n, h, w, c = x.shape
    if n % (rows * columns):
        raise node.invalid(f"blocks of {rows} x {columns} do not divide {n} images")
    n //= rows * columns
    x = node.reshape(x, (rows, columns, n, h, w, c))
    x = node.transpose(x, (2, 3, 0, 4, 1, 5))
    x = node.reshape(x, (n, h * rows, w * columns, c))
    return padded(node, x, {1: (-top, -bottom), 2: (-left, -right)})
