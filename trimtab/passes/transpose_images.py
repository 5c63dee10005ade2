"""Sequences of pixels and images are exchanged by transposes of images.

Vision transformers compute with tokens [n, h * w, c], and turn them into images [n, c, h, w] for a
convolution and back: they transpose the matrix of an image, and split or join its pixels. Split
before, or joined after, the transpose is one between the two layouts of an image, which moves
nothing where the convolution is in NHWC. Of several heads [n, heads, h * w, c], rows of c elements
move to the pixels.

A group normalization of one group joins all of an image to [n, 1, c * h * w], whose order does not
matter: it takes that of NHWC.
"""

from __future__ import annotations

from trimtab.passes._graph import Graph, is_one_of
from trimtab.passes.assign_layouts import TO_CHANNELS_FIRST, TO_CHANNELS_LAST
from trimtab.program import Op, Program

ORDER = 690

_MATRIX, _MATRICES = (0, 2, 1), (0, 1, 3, 2)
_HEADS_BEHIND_PIXELS = (0, 2, 1, 3)


def run(program: Program) -> None:
    """Reshapes of fixed sizes only."""
    graph = Graph(program)
    for op in graph.ops("reshape"):
        _split_before(graph, op)
    for op in graph.ops("transpose"):
        _join_after(graph, op)
    for op in graph.ops("instance_normalization"):
        _normalize_last(graph, op)


def _split_before(graph: Graph, reshape: Op) -> None:
    """[n, p, c] -> [n, c, p] -> [n, c, h, w] becomes [n, p, c] -> [n, h, w, c] -> [n, c, h, w]; and
    [n, heads, p, c] -> [n, heads, c, p] -> [n, heads * c, h, w] the same behind [n, p, heads, c].
    """
    transpose = graph.producer(reshape.inputs[0], "transpose")
    if transpose is None or transpose.attributes["permutation"] not in (_MATRIX, _MATRICES):
        return
    (tokens,) = transpose.inputs
    *batch, pixels, _ = graph.shape(tokens)
    y = graph.shape(reshape.outputs[0])
    if len(y) != 4 or y[0] != batch[0] or y[2] * y[3] != pixels:
        return
    if len(batch) == 2:
        if not _becomes_nhwc(graph, reshape.outputs[0]):
            return
        heads = {"permutation": _HEADS_BEHIND_PIXELS}
        moved = graph.block.make_op("transpose", [tokens], heads, 1, transpose.name)
        graph.insert_before(reshape, moved)
        (tokens,) = moved.outputs
    shape = {"shape": tuple(y[axis] for axis in TO_CHANNELS_LAST)}
    split = graph.block.make_op("reshape", [tokens], shape, 1, reshape.name)
    graph.insert_before(reshape, split)
    permutation = {"permutation": TO_CHANNELS_FIRST}
    graph.substitute(reshape, "transpose", split.outputs, permutation)


def _becomes_nhwc(graph: Graph, image: str) -> bool:
    """Whether an operator computes with the image in NHWC, alone or after element-wise ones."""
    variables, images = {image}, [image]
    while images:
        for reader in graph.readers(images.pop()):
            if reader.schema.layout == "nhwc":
                return True
            if reader.schema.layout == "any":
                images += {*reader.outputs} - variables
                variables.update(reader.outputs)
    return False


def _join_after(graph: Graph, transpose: Op) -> None:
    """[n, c, h, w] -> [n, c, p] -> [n, p, c] becomes [n, c, h, w] -> [n, h, w, c] -> [n, p, c]."""
    reshape = graph.producer(transpose.inputs[0], "reshape")
    if reshape is None or transpose.attributes["permutation"] != _MATRIX:
        return
    x, y = graph.shape(reshape.inputs[0]), graph.shape(transpose.outputs[0])
    if len(x) != 4 or x[:2] != (y[0], y[2]):
        return
    permutation = {"permutation": TO_CHANNELS_LAST}
    image = graph.block.make_op("transpose", reshape.inputs, permutation, 1, transpose.name)
    graph.insert_before(transpose, image)
    graph.substitute(transpose, "reshape", image.outputs, {"shape": y})


def _normalize_last(graph: Graph, op: Op) -> None:
    """[n, c, h, w] -> [n, 1, c * h * w] -> [n, c, h, w] becomes one of [n, h, w, c]."""
    before = graph.producer(op.inputs[0], "reshape")
    after = graph.sole_reader(op.outputs[0])
    if before is None or after is None or not is_one_of(after, "reshape"):
        return
    image, joined = graph.shape(before.inputs[0]), graph.shape(op.inputs[0])
    if len(image) != 4 or graph.shape(after.outputs[0]) != image or joined[:2] != (image[0], 1):
        return
    block, last = graph.block, tuple(image[axis] for axis in TO_CHANNELS_LAST)
    permutation = {"permutation": TO_CHANNELS_LAST}
    moved = block.make_op("transpose", before.inputs, permutation, 1, before.name)
    flat = block.make_op("reshape", moved.outputs, {"shape": joined}, 1, before.name)
    graph.insert_before(op, moved, flat)
    graph.set_inputs(op, [*flat.outputs, *op.inputs[1:]])
    split = block.make_op("reshape", op.outputs, {"shape": last}, 1, after.name)
    graph.insert_before(after, split)
    graph.substitute(after, "transpose", split.outputs, {"permutation": TO_CHANNELS_FIRST})
