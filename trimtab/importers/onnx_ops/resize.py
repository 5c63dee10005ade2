"""Resize, Upsample, GridSample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import volume
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary import resize as images
from trimtab.importers.vocabulary.quantization import through_float32

_VOLUME = 5  # dimensions


@dataclass(frozen=True)
class ResizeTarget:
    """Sizes and scales of all axes; `scales` and `roi` are empty if the node has none."""

    sizes: tuple[int, ...]
    scales: tuple[float, ...]
    roi: tuple[float, ...]


def _scaled(size: float, scale: float) -> float:
    """The product in float32, so that 5 * 1.4 is 7."""
    return float(np.float32(size) * np.float32(scale))


@handles("Upsample")
def upsample(node: OnnxNode) -> Results:
    """Opset 7 and 9: Resize with asymmetric coordinates, rounded down."""
    x = node.x(0)
    scales = node.reals("scales") or node.floats(1, "scales")
    sizes = tuple(math.floor(_scaled(n, s)) for n, s in zip(x.shape, scales, strict=True))
    target = ResizeTarget(sizes, scales, ())
    mode = node.text("mode", "nearest")
    return _resize(node, x, target, mode, coordinate_mode="asymmetric", nearest_mode="floor")


@handles("Resize")
def resize(node: OnnxNode) -> Results:
    """Opset 10 has scales only; later opsets have sizes, regions and several modes."""
    x, mode = node.x(0), node.text("mode", "nearest")
    if node.opset < 11:
        return _first_version(node, x, mode)
    coordinates = node.text("coordinate_transformation_mode", "half_pixel")
    target = _target(node, x.shape, cropped=coordinates == "tf_crop_and_resize")
    if coordinates == "align_corners" and any(
        _scaled(n, s) != size
        for n, s, size in zip(x.shape, target.scales, target.sizes, strict=False)
    ):
        # ONNX's reference puts the corner at n * s, onnxruntime and PyTorch at the last pixel.
        raise node.unsupported("it aligns corners, and its scales give no integer size")
    return _resize(
        node,
        x,
        target,
        mode,
        coordinate_mode=coordinates,
        nearest_mode=node.text("nearest_mode", "round_prefer_floor"),
        extrapolation_value=node.real("extrapolation_value", 0.0),
        antialias=node.boolean("antialias", False),
        exclude_outside=node.boolean("exclude_outside", False),
        **({"cubic_a": node.real("cubic_coeff_a", -0.75)} if mode == "cubic" else {}),
    )


def _first_version(node: OnnxNode, x: Value, mode: str) -> Value:
    """onnxruntime, which defined opset 10 of the operator, rounds up along axes that shrink."""
    scales = node.floats(1, "scales")
    for rounding in ("ceil", "floor"):
        own = tuple(s if (s < 1) == (rounding == "ceil") else 1.0 for s in scales)
        sizes = tuple(math.floor(_scaled(n, s)) for n, s in zip(x.shape, own, strict=True))
        target = ResizeTarget(sizes, own, ())
        x = _resize(node, x, target, mode, coordinate_mode="asymmetric", nearest_mode=rounding)
    return x


def _target(node: OnnxNode, shape: tuple[int, ...], *, cropped: bool) -> ResizeTarget:
    """The sizes of all axes; scales only if the model has them, otherwise they are the ratio."""
    rank = len(shape)
    axes = [node.axis(a, rank) for a in node.integers("axes") or range(rank)]
    roi = [0.0] * rank + [1.0] * rank
    if cropped:
        region = node.floats(1, "region")
        for i, axis in enumerate(axes):
            roi[axis], roi[rank + axis] = region[i], region[len(axes) + i]
    scales, sizes = [1.0] * rank, list(shape)
    input_scales = node.floats(2, "scales") if node.has(2) else ()
    input_sizes = node.optional_ints(3, "sizes")
    if len(input_scales or input_sizes) != len(axes):
        raise node.invalid("there must be one scale or size per axis")
    for axis, scale in zip(axes, input_scales, strict=False):
        scales[axis] = scale
        sizes[axis] = math.floor(_scaled(shape[axis], scale))
    if input_sizes:
        targets = dict(zip(axes, input_sizes, strict=True))
        policy = node.text("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            choose = min if policy == "not_larger" else max
            scale = choose(size / shape[axis] for axis, size in targets.items())
            targets = {axis: math.floor(scale * shape[axis] + 0.5) for axis in targets}
            for axis in targets:
                scales[axis] = scale
        for axis, size in targets.items():
            sizes[axis] = size
        if policy == "stretch":
            scales = []
    return ResizeTarget(tuple(sizes), tuple(scales), tuple(roi) if cropped else ())


def _resize(node: OnnxNode, x: Value, target: ResizeTarget, mode: str, **attributes: Any) -> Value:
    """Resizes the last two axes, or the middle two of four (an image with channels last), by one
    operator; by one per axis if the filter is cubic, or if there are other axes. int8 and uint8
    are rounded, as the standard says; onnxruntime truncates them.
    """
    if x.dtype in ("i8", "u8"):
        if target.roi and x.quantization:
            raise node.unsupported("it crops quantized values")
        return through_float32(node, x, lambda y: _resize(node, y, target, mode, **attributes))
    if any(size < 1 <= n for n, size in zip(x.shape, target.sizes, strict=True)):
        raise node.unsupported(f"its result {list(target.sizes)} has no elements")
    mode = {"bilinear": "linear"}.get(mode, mode)
    is_float = x.dtype in ("f32", "f16")
    if not is_float and mode != "nearest":
        raise node.unsupported(f"its mode is {mode}, and its operand is {x.dtype}")
    rank = len(x.shape)
    lift = max(0, 4 - rank)
    sizes, scales = (1,) * lift + target.sizes, (1.0,) * lift + target.scales
    roi = [(0.0, 1.0)] * lift + list(zip(target.roi[:rank], target.roi[rank:], strict=True))
    changed = {
        lift + i
        for i in range(rank)
        if target.sizes[i] != x.shape[i]
        or (target.scales and target.scales[i] != 1)
        or (target.roi and roi[lift + i] != (0.0, 1.0))
    }
    if not changed:
        return x
    middle = not lift and changed <= {1, 2}
    plane = (1, 2) if middle else (2, 3)
    if mode == "cubic" or rank > 4 or not changed <= set(plane) or not is_float:
        return _each_axis(
            node, x, target, [axis - lift for axis in sorted(changed)], mode, **attributes
        )
    if middle:
        x = node.transpose(x, movement.TO_CHANNELS_FIRST)
    y = images.resize(
        node,
        node.reshape(x, (1,) * lift + x.shape),
        [sizes[i] for i in plane],
        mode,
        scales=[scales[i] for i in plane] if target.scales else (),
        roi=[roi[i][end] for end in (0, 1) for i in plane] if target.roi else (),
        **attributes,
    )
    return node.transpose(y, movement.TO_CHANNELS_LAST) if middle else node.reshape(y, target.sizes)


def _each_axis(
    node: OnnxNode, x: Value, target: ResizeTarget, axes: list[int], mode: str, **attributes: Any
) -> Value:
    """Resizes axes one after the other, those first that shrink most."""
    for axis in sorted(axes, key=lambda axis: target.sizes[axis] / x.shape[axis]):
        before, after = x.shape[axis], target.sizes[axis]
        scale = target.scales[axis] if target.scales else after / before
        if target.roi:
            attributes["roi"] = target.roi[axis], target.roi[len(x.shape) + axis]
        resize = images.AxisResize(before, after, scale, mode, **attributes)
        x = resize.applied(node, x, axis)
    return x


@handles("GridSample", "com.microsoft.GridSample")
def grid_sample(node: OnnxNode) -> Results:
    """Samples images [n, c, h, w] at the places of a grid, or volumes, by nearest neighbor or
    linearly; opset 16 and later names of modes.
    """
    mode = node.text("mode", "linear")
    if len(node.shape()) == _VOLUME:
        return volume.grid_sample(node)
    x = node.image()
    return node.add(
        "grid_sample",
        x,
        node.x(1),
        mode={"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode),
        padding=node.text("padding_mode", "zeros"),
        align_corners=bool(node.integer("align_corners", 0)),
    )
