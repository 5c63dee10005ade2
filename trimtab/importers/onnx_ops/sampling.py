"""DeformConv, Col2Im, MaxRoiPool and RoiAlign."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import movement, sampling
from trimtab.importers.vocabulary.deformation import deformed
from trimtab.importers.vocabulary.elementwise import integer


@handles("DeformConv")
def deform_conv(node: OnnxNode) -> Results:
    """x: [n, c, h, w], constant w: [m, c / group, kh, kw]; computed offsets, optional mask."""
    x, weight = node.image(0), node.known(1, "weights")
    if weight.ndim != 4:
        raise node.unsupported(f"it is {weight.ndim - 2}-dimensional")
    return deformed(
        node,
        x,
        weight,
        node.known(3, "bias") if node.has(3) else None,
        node.x(2),
        node.x(4) if node.has(4) else None,
        windows.window_of(node, weight.shape[2:], x.shape[2:]),
        node.integer("group", 1),
        node.integer("offset_group", 1),
    )


@handles("MaxRoiPool")
def max_roi_pool(node: OnnxNode) -> Results:
    """Maxima in the bins of regions [regions, 5]: image, then corners."""
    shape = node.integers("pooled_shape")
    if len(shape) != 2:
        raise node.invalid(f"its pooled_shape is {list(shape)}")
    return node.add(
        "roi_pooling",
        node.image(0),
        node.x(1),
        pooled_shape=shape,
        spatial_scale=node.real("spatial_scale", 1.0),
    )


@handles("RoiAlign")
def roi_align(node: OnnxNode) -> Results:
    """Means of linear samples in the cells of regions [regions, 4], or maxima of weighted pixels
    around the samples, as in onnxruntime.
    """
    if (kind := node.text("mode", "avg")) == "max":
        return _regional_maxima(node)
    if kind != "avg":
        raise node.invalid(f"its mode is {kind}")
    half = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    return node.add(
        "roi_align",
        node.image(0),
        node.x(1),
        node.x(2),
        rows=node.integer("output_height", 1),
        columns=node.integer("output_width", 1),
        samples=node.integer("sampling_ratio", 0),
        scale=node.real("spatial_scale", 1.0),
        half_pixel=node.text("coordinate_transformation_mode", half) == "half_pixel",
    )


def _regional_maxima(node: OnnxNode) -> Value:
    """Maxima of the weighted pixels around a constant number of samples in the cells of regions."""
    x, regions, samples = node.image(0), node.x(1), node.integer("sampling_ratio", 0)
    if samples < 1:
        raise node.unsupported(f"its mode is max, its sampling_ratio {samples}")
    half = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    aligned = node.text("coordinate_transformation_mode", half) == "half_pixel"
    (n, c, h, w), count = x.shape, regions.shape[0]
    cells = node.integer("output_height", 1), node.integer("output_width", 1)
    scaled = node.scaled(regions, node.real("spatial_scale", 1.0))
    x0, y0, x1, y1 = movement.split(node, scaled, 1, (1,) * 4)
    forms = (count, -1, 1), (count, 1, -1)
    taps = []
    for i, (begin, end, pixels) in enumerate(((y0, y1, h), (x0, x1, w))):
        extent = node.add("sub", end, begin)
        if not aligned:
            extent = node.add("max", extent, node.constant(1.0, "one"))
        corner = node.shifted(begin, -0.5 if aligned else 0.0)
        node.check_elements((4, cells[i] * samples), 8)
        steps = (np.arange(cells[i] * samples) + 0.5) / (cells[i] * samples)
        at = node.add("add", node.add("mul", extent, node.constant(steps[None], "steps")), corner)
        taps.append(
            [
                sampling.Tap(node.reshape(tap.index, forms[i]), node.reshape(tap.weight, forms[i]))
                for tap in _region_taps(node, at, pixels)
            ]
        )
    flat = node.reshape(node.transpose(x, (1, 0, 2, 3)), (c, n * h * w))
    image = node.reshape(node.x(2), (count, 1, 1))
    image = image if image.dtype == "i64" else node.add("cast", image, to="i64")
    base = integer(node, "mul", image, node.value(np.array(h * w, np.int64)))
    y = node.combined("max", sampling.corners(node, flat, (h, w), taps, base))
    y = node.add("max_pool", y, kernel_shape=(samples, samples), strides=(samples, samples))
    return node.transpose(y, (1, 0, 2, 3))


def _region_taps(node: OnnxNode, at: Value, pixels: int) -> list[sampling.Tap]:
    """The pixels around places [regions, samples]; none counts for places outside of the image."""
    inside = sampling.within(node, at, -1.0, float(pixels))
    clamped = node.add("clip", at, alpha=0.0, beta=float(pixels - 1))
    zero = node.constant(0.0, "zero")
    return [
        sampling.Tap(tap.index, node.add("where", inside, tap.weight, zero))
        for tap in sampling.linear_taps(node, clamped, pixels)
    ]


@handles("Col2Im")
def col2im(node: OnnxNode) -> Results:
    """Sums of overlapping blocks [n, c * block, blocks] to images of constant sizes."""
    x = node.x(0)
    image, block = node.ints(1, "image shape"), node.ints(2, "block shape")
    rank = len(image)
    strides = node.integers("strides") or (1,) * rank
    dilations = node.integers("dilations") or (1,) * rank
    pads = node.integers("pads") or (0,) * (2 * rank)
    if len(x.shape) != 3 or len(block) != rank or x.shape[1] % math.prod(block):
        raise node.invalid(f"blocks of {list(block)} do not divide {list(x.shape)}")
    counts = [
        (image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        for i in range(rank)
    ]
    if min(counts) < 1 or math.prod(counts) != x.shape[2]:
        raise node.invalid(f"its input has {x.shape[2]} blocks, the image {counts}")
    channels = x.shape[1] // math.prod(block)
    if rank == 2 and x.dtype == "f32" and 0 not in x.shape:
        # One channel per image: its result has the same bytes in both layouts.
        y = node.add(
            "col2im",
            node.reshape(x, (x.shape[0] * channels, math.prod(block), x.shape[2])),
            image_shape=image,
            kernel_shape=block,
            strides=strides,
            pads=pads,
            dilations=dilations,
            planes=True,
        )
        return node.reshape(y, (x.shape[0], channels, *image))
    node.check_elements((4, *block, *counts), 8)  # with those of the contributions
    targets = np.zeros((*block, *counts), np.int64)
    valid = np.ones(targets.shape, np.bool_)
    for i in range(rank):
        shape = [1] * (2 * rank)
        shape[i] = block[i]
        at = np.arange(block[i]).reshape(shape) * dilations[i]
        shape[i], shape[rank + i] = 1, counts[i]
        at = at + np.arange(counts[i]).reshape(shape) * strides[i] - pads[i]
        valid &= (at >= 0) & (at < image[i])
        targets = targets * image[i] + at
    (sources,) = np.nonzero(valid.reshape(-1))
    table = _contributions(
        node, targets.reshape(-1)[sources], sources, math.prod(image), valid.size
    )
    y = node.reshape(x, (x.shape[0], channels, valid.size))
    y = movement.padded(node, y, {2: (0, 1)})
    y = node.add("gather", y, node.value(table), axis=2)
    y = node.add("reduce_sum", y, axes=(2,), keep_dims=False)
    return node.reshape(y, (x.shape[0], channels, *image))


def _contributions(
    node: OnnxNode, targets: Array, sources: Array, pixels: int, absent: int
) -> Array:
    """int64[most, pixels]: the sources of each pixel, filled with `absent`."""
    order = np.argsort(targets, kind="stable")
    pixel, starts, counts = np.unique(targets[order], return_index=True, return_counts=True)
    node.check_elements((counts.max(initial=1), pixels), 8)
    table = np.full((counts.max(initial=1), pixels), absent, np.int64)
    turns = np.arange(targets.size) - np.repeat(starts, counts)
    table[turns, np.repeat(pixel, counts)] = sources[order]
    return table
