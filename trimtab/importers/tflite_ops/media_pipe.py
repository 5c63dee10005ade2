"""Custom operators of MediaPipe: https://github.com/google-ai-edge/mediapipe describes them in
mediapipe/util/tflite/operations.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.tflite_ops.forms import NchwImage, Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import movement, pooling
from trimtab.importers.vocabulary.elementwise import integer
from trimtab.importers.vocabulary.scatter import scattered
from trimtab.importers.vocabulary.window import Window

# TfLitePoolParams: padding (1: SAME, 2: VALID), strides and window, each width before height.
_POOL = struct.Struct("<iiiii")
_SAME = 1

_ROUND_UP = 0.1  # indices are floats, which readers truncate


def _pool_options(node: TfliteNode) -> tuple[int, Window]:
    data = node.custom_options()
    if len(data) < _POOL.size:
        raise node.invalid("its options are shorter than padding, strides and window")
    padding, stride_w, stride_h, width, height = _POOL.unpack_from(data)
    window = Window((height, width), (stride_h, stride_w))
    window.check(node)
    return padding, window


@handles("custom MaxPoolingWithArgmax2D")
def max_pool_with_indices(node: TfliteNode) -> Results:
    """Max pooling, and the place of each maximum in its window (MediaPipe)."""
    x = node.image()
    padding, window = _pool_options(node)
    window = window.same(x.shape[2:]) if padding == _SAME else window
    y = pooling.pool(node, "max", x, window)
    taps = node.add("cast", pooling.maximum_taps(node, x, window, y.shape[2:]), to="f32")
    return NchwImage(y), NchwImage(node.reshape(node.shifted(taps, _ROUND_UP), y.shape))


@handles("custom MaxUnpooling2D")
def max_unpool(node: TfliteNode) -> Results:
    """Values at places in windows that do not overlap, and 0 elsewhere (MediaPipe)."""
    x, taps = node.image(0), node.add("cast", node.image(1), to="i32")
    _, window = _pool_options(node)
    if window.strides != window.kernel:
        raise node.unsupported(f"its strides {window.strides} are not its window {window.kernel}")
    node.check_shape("places", taps.shape, x.shape)
    (n, c, h, w), (rows, columns) = x.shape, window.kernel
    node.check_elements((n, c, h * rows, w * columns))
    width, area = w * columns, h * rows * w * columns

    def number(value: Array | int) -> Value:
        return node.value(np.asarray(value, np.int32))

    # Row and column of a tap, and from them its place behind the first pixel of its window.
    row = integer(node, "div", taps, number(columns))
    place = integer(node, "add", taps, integer(node, "mul", row, number(width - columns)))
    image = np.arange(n * c).reshape(n, c, 1, 1) * area
    corner = (np.arange(h) * rows * width)[:, np.newaxis] + np.arange(w) * columns
    place = integer(node, "add", place, number(image + corner))
    zeros = node.constant(np.zeros((n, c, h * rows, w * columns), np.float32), "zeros")
    return NchwImage(scattered(node, zeros, x, place))


def _matrix(node: TfliteNode, place: int) -> tuple[Value, Value]:
    """The 2 x 2 matrix and the shift [1, 2] of a transformation [..., 4, 4] of x and y."""
    rows = node.reshape(node.x(place), (4, 4))
    upper = node.value(movement.sliced(node, rows, [(0, 0, 2, 1)]))
    linear = node.value(movement.sliced(node, upper, [(1, 0, 2, 1)]))
    shift = node.value(movement.sliced(node, upper, [(1, 3, 4, 1)]))
    return linear, node.reshape(shift, (1, 2))


def _transformed(node: TfliteNode, points: Value, linear: Value, shift: Value) -> Value:
    """Points [k, 2], each multiplied by the matrix, and shifted."""
    y = node.add("mat_mul", points, node.transpose(linear, (1, 0)))
    return node.add("add", y, shift)


@handles("custom TransformLandmarks")
def transform_landmarks(node: TfliteNode) -> Results:
    """Moves x and y of landmarks by a matrix [4, 4]; z stays (MediaPipe, versions 1 and 2)."""
    x, options = node.x(0), node.parameters()
    size = int(options.get("dimensions", x.shape[-1] if len(x.shape) == 3 else 3))
    if size not in (2, 3) or x.shape[-1] % size:
        raise node.invalid(f"its landmarks have {size} numbers, its input {list(x.shape)}")
    points = node.reshape(x, (math.prod(x.shape) // size, size))
    linear, shift = _matrix(node, 1)
    shift = node.scaled(shift, float(options.get("scale", 1.0)))
    flat = node.value(movement.sliced(node, points, [(1, 0, 2, 1)]))
    y = _transformed(node, flat, linear, shift)
    if size == 3:
        y = node.add("concat", y, movement.axis_slice(node, points, 1, 2, 3), axis=1)
    return node.reshape(y, x.shape)


@handles("custom TransformTensor", "custom TransformTensorBilinear")
def transform_image(node: TfliteNode) -> Results:
    """Linear samples of an image at the pixels of the result, moved by a matrix [4, 4], and 0
    outside of it (MediaPipe, versions 1 and 2).
    """
    x, options = node.image(0), node.parameters()
    if str(options.get("mode", "bilinear")) != "bilinear" or x.shape[0] != 1:
        raise node.unsupported(f"its mode is {options.get('mode')}, its batch {x.shape[0]}")
    is_centered = "output_height" in options
    height, width = (
        (int(options["output_height"]), int(options["output_width"]))
        if is_centered
        else map(int, options["output_size"])
    )
    node.check_elements((height, width, x.shape[1]))
    middle = 0.5 if is_centered else 0.0
    rows, columns = np.indices((height, width)).reshape(2, -1) + middle
    pixels = node.constant(np.stack([columns, rows], 1).astype(np.float32), "pixels")
    places = node.shifted(_transformed(node, pixels, *_matrix(node, 1)), -middle)
    last = node.constant(np.array([x.shape[3] - 1, x.shape[2] - 1], np.float32), "last")
    inside = _all_of_two(
        node,
        node.add("compare", node.constant(0.0, "zero"), places, relation="less_or_equal"),
        node.add("compare", places, last, relation="less_or_equal"),
    )
    sizes = np.array([x.shape[3], x.shape[2]], np.float32)
    grid = node.add("mul", places, node.constant(2 / sizes, "scale"))
    grid = node.add("add", grid, node.constant(1 / sizes - 1, "shift"))
    grid = node.reshape(grid, (1, height, width, 2))
    y = node.add("grid_sample", x, grid, padding="border")
    mask = node.reshape(inside, (1, 1, height, width))
    return NchwImage(node.add("where", mask, y, node.constant(0.0, "zero")))


def _all_of_two(node: TfliteNode, low: Value, high: Value) -> Value:
    """Whether both numbers of each row are within both bounds."""
    both = node.add("where", low, high, low)
    first, second = movement.split(node, both, 1, (1, 1))
    return node.add("where", first, second, first)


@handles("custom Landmarks2TransformMatrix")
def transform_of_landmarks(node: TfliteNode) -> Results:
    """The matrix [1, 4, 4] from a crop around some landmarks, turned upright, to the image
    (MediaPipe, versions 1 and 2).
    """
    options = node.parameters()
    is_first = "subset" in options
    points = node.reshape(node.x(0), (-1, 3))
    points = node.value(movement.sliced(node, points, [(1, 0, 2, 1)]))
    subset = [int(i) for i in options["subset" if is_first else "subset_idxs"]]
    ends = [int(options[f"{side}_rotation_idx"]) for side in ("left", "right")]
    if not subset or not all(0 <= i < points.shape[0] for i in subset + ends):
        raise node.invalid(f"its landmarks {subset + ends} are not among {points.shape[0]}")
    left, right = (node.add("gather", points, _indices(node, [end]), axis=0) for end in ends)
    turn = _upright(node, options, node.add("sub", right, left), is_first)
    back = node.transpose(turn, (1, 0))
    chosen = node.add("gather", points, _indices(node, subset), axis=0)
    turned = node.add("mat_mul", chosen, back)
    high, low = (node.add(f"reduce_{kind}", turned, axes=(0,)) for kind in ("max", "min"))
    size = node.add("sub", high, low)
    middle = node.add("mat_mul", node.scaled(node.add("add", high, low), 0.5), turn)
    form = _first_version if is_first else _second_version
    return _homogeneous(node, *form(node, options, back, size, middle))


def _indices(node: TfliteNode, indices: list[int]) -> Value:
    return node.value(np.array(indices, np.int64))


def _upright(node: TfliteNode, options: Mapping[str, Any], line: Value, is_first: bool) -> Value:
    """The rotation [2, 2] that makes a line [1, 2] horizontal, or turns it to an angle."""
    square = node.add("reduce_sum", node.add("mul", line, line), axes=(1,))
    length = node.add("sqrt", square)
    zero = node.constant(0.0, "zero")
    is_none = node.add("compare", length, zero, relation="equal")
    length = node.add("where", is_none, node.constant(1.0, "one"), length)
    x, y = movement.split(node, node.add("div", line, length), 1, (1, 1))
    x = node.add("where", is_none, node.constant(1.0, "one"), x)
    if is_first:  # an angle of less than a quarter turn
        is_left = node.add("compare", x, zero, relation="less")
        y = node.add("where", is_left, node.add("neg", y), y)
        x = node.add("abs", x)
        angle = 0.0
    else:
        angle = float(options.get("target_rotation_radians") or 0.0)
    cosine = node.add("add", node.scaled(x, math.cos(angle)), node.scaled(y, math.sin(angle)))
    sine = node.add("sub", node.scaled(x, math.sin(angle)), node.scaled(y, math.cos(angle)))
    upper = node.add("concat", cosine, node.add("neg", sine), axis=1)
    return node.add("concat", upper, node.add("concat", sine, cosine, axis=1), axis=0)


def _vector(node: TfliteNode, x: float, y: float) -> Value:
    return node.constant(np.array([[x, y]], np.float32), "vector")


def _first_version(
    node: TfliteNode, options: Mapping[str, Any], back: Value, size: Value, middle: Value
) -> tuple[Value, Value]:
    (in_h, in_w), (out_h, out_w) = options["input_hw"], options["output_hw"]
    extent = float(options["landmarks_range"])
    scale = node.scaled(size, float(options["bbox_size_multiplier"]) / extent)
    half = _vector(node, (in_w - 1) / 2, (in_h - 1) / 2)
    # Of coordinates from -1 to 1.
    linear = node.add("mul", back, node.add("mul", scale, _vector(node, *_steps(out_w, out_h))))
    begin = node.add("mat_mul", node.add("neg", scale), node.transpose(back, (1, 0)))
    shift = node.add("add", begin, node.scaled(middle, 2 / extent))
    linear = node.add("mul", linear, node.reshape(half, (2, 1)))
    return linear, node.add("mul", shift, half)


def _steps(width: float, height: float) -> tuple[float, float]:
    return 2 / (width - 1), 2 / (height - 1)


def _second_version(
    node: TfliteNode, options: Mapping[str, Any], back: Value, size: Value, middle: Value
) -> tuple[Value, Value]:
    width, height = float(options["output_width"]), float(options["output_height"])
    factors = float(options["scale_x"]) / width, float(options["scale_y"]) / height
    scale = node.add("mul", size, _vector(node, *factors))
    corner = node.add("mul", scale, _vector(node, -width / 2, -height / 2))
    begin = node.add("mat_mul", corner, node.transpose(back, (1, 0)))
    return node.add("mul", back, scale), node.add("add", begin, middle)


def _homogeneous(node: TfliteNode, linear: Value, shift: Value) -> Value:
    """[1, 4, 4] of a matrix [2, 2] and a shift [1, 2] of x and y."""
    zeros = node.constant(np.zeros((2, 1), np.float32), "zeros")
    upper = node.add("concat", linear, zeros, node.reshape(shift, (2, 1)), axis=1)
    lower = node.constant(np.eye(4, dtype=np.float32)[2:], "lower")
    return node.reshape(node.add("concat", upper, lower, axis=0), (1, 4, 4))
