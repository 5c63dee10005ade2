"""Results whose sizes depend on data: NonZero, Compress, and what reads their results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.ops.cases.case import Array, Case, Const, Graph, case, floats, ints, normal

HEADER = '<ir_version: 8, opset_import: ["" : 17]> '

# The best of the boxes above a threshold, as torchvision's detectors select them.
DETECTOR = """
net (float[1, 6, 4] boxes, float[6] scores) => (float[n, 4] kept, float[n] best) {
  limit = Constant <value = float {0.5}> ()
  axis0 = Constant <value = int64[1] {0}> ()
  axis1 = Constant <value = int64[1] {1}> ()
  flat = Squeeze (boxes, axis0)
  above = Greater (scores, limit)
  found = NonZero (above)
  places = Squeeze (found, axis0)
  chosen = Gather (flat, places)
  values = Gather (scores, places)
  shape = Shape (chosen)
  size = ReduceProd <keepdims = 0> (shape)
  zero = Constant <value = int64 {0}> ()
  is_empty = Equal (size, zero)
  keep = If <
    then_branch = t () => (int64[n] none) { none = Constant <value = int64[0] {}> () },
    else_branch = e () => (int64[n] rows) {
      largest = ReduceMax <keepdims = 0> (chosen)
      moved = Add (chosen, largest)
      batch = Unsqueeze (moved, axis0)
      both = Constant <value = int64[2] {0, 1}> ()
      marks = Unsqueeze (values, both)
      most = Constant <value = int64 {9223372036854775807}> ()
      overlap = Constant <value = float {0.4}> ()
      selected = NonMaxSuppression (batch, marks, most, overlap)
      two = Constant <value = int64[1] {2}> ()
      column = Gather <axis = 1> (selected, two)
      rows = Squeeze (column, axis1)
    }> (is_empty)
  kept = Gather (chosen, keep)
  best = Gather (values, keep)
}
"""

BRANCHES = """
net (float[3, 4] x, bool[1] c) => (float[n, 4] y, float[m] sums) {
  y = If <
    then_branch = t () => (float[n, 4] a) {
      flags = Constant <value = bool[3] {1, 0, 1}> ()
      a = Compress <axis = 0> (x, flags) },
    else_branch = e () => (float[n, 4] b) { b = Concat <axis = 0> (x, x) }> (c)
  axis = Constant <value = int64[1] {1}> ()
  sums = ReduceSum <keepdims = 0> (y, axis)
}
"""


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEADER + text)


def boxes() -> Array:
    """Six boxes [1, 6, 4]."""
    return np.sort(np.abs(normal(6, 2, 2)), 1).reshape(1, 6, 4)


def _some(*shape: int, dtype: type = np.float32) -> Array:
    """About half of the elements are 0, some of them -0."""
    x = normal(*shape)
    return np.where(x > 0, x * 9, -0.0 * x).astype(dtype)


def _coordinates() -> Iterator[Case]:
    for dtype in (np.float32, np.float16, np.uint8, np.int32, np.int64, np.bool_):
        yield case(np.dtype(dtype).name, "NonZero", _some(3, 5, 2, dtype=dtype))
    yield case("vector", "NonZero", _some(17))
    yield case("image", "NonZero", _some(2, 3, 4, 5))
    yield case("none", "NonZero", np.zeros((3, 4), np.float32))
    yield case("all", "NonZero", np.full((2, 3), np.nan, np.float32))


def _chosen() -> Iterator[Case]:
    x = normal(3, 5, 4)
    flags = np.array([1, 0, 1, 1, 0], np.bool_)
    for axis, count in ((0, 3), (1, 5), (-1, 4)):
        yield case(f"axis{axis}", "Compress", x, flags[:count], axis=axis)
    yield case("short", "Compress", x, flags[:3], axis=1)
    yield case("computed-flags", "Compress", x, flags)
    yield case("none", "Compress", x, np.zeros(5, np.bool_), axis=1)
    yield case("image", "Compress", normal(1, 5, 3, 4), flags, axis=1)


def _rows(g: Graph, x: Array) -> tuple[str, str]:
    """The places of the positive elements of a vector, and these elements."""
    name = g.value(x)
    coordinates = g.node("NonZero", g.node("Greater", name, floats(0)))
    places = g.node("Transpose", coordinates, perm=[1, 0])
    return places, g.node("GatherND", name, places)


def _chain() -> Iterator[Case]:
    """The best of those above a threshold, as a detector selects them."""
    for id, x, k in (
        ("some", normal(23), 4),
        ("few", normal(7), 300),
        ("none", -np.abs(normal(7)), 5),
    ):
        g = Graph()
        places, values = _rows(g, x)
        count = g.node("Gather", g.node("Shape", values), Const(np.array(0)), axis=0)
        both = g.node("Concat", ints(k), g.node("Unsqueeze", count, ints(0)), axis=0)
        k_now = g.node("Reshape", g.node("ReduceMin", both, keepdims=0), ints(1))
        best = g.node("TopK", values, k_now, outputs=2)
        label = helper.make_tensor("value", TensorProto.INT64, [1], [3])
        labels = g.node("ConstantOfShape", g.node("Shape", best), value=label)
        indices = g.node("Gather", places, f"{best}.1", axis=0)
        yield g.case(f"best-{id}", best, indices, labels)


def _sizes() -> Iterator[Case]:
    """Shapes that are computed from sizes that depend on data."""
    for id, x in (("some", normal(12)), ("none", -np.abs(normal(5)))):
        g = Graph()
        _, values = _rows(g, x)
        count = g.node("Shape", values)
        scalar = g.node("Squeeze", count, ints(0))
        numbers = g.node("Range", Const(np.array(0)), scalar, Const(np.array(1)))
        far = np.array(2**60 + 1)  # beyond the integers of float64
        limit = g.node("Sub", Const(far), scalar)
        numbers_back = g.node("Range", Const(far), limit, Const(np.array(-1)))
        column = g.node("Unsqueeze", values, ints(1))
        square = g.node("Expand", column, g.node("Concat", count, ints(3), axis=0))
        flat = g.node("Reshape", square, ints(-1))
        again = g.node("Reshape", flat, g.node("Concat", count, ints(3, 1), axis=0))
        row = g.node("Flatten", square, axis=0)
        first = g.node("Slice", values, ints(0), count, ints(0), ints(2))
        last = g.node("Slice", values, ints(-2), ints(2**40), ints(0))
        back = g.node("Slice", values, count, ints(-100), ints(0), ints(-1))
        outputs = numbers, numbers_back, square, again, row, first, last, back
        yield g.case(f"sizes-{id}", *outputs)


def _arithmetic() -> Iterator[Case]:
    g = Graph()
    _, values = _rows(g, normal(31))
    column = g.node("Unsqueeze", values, ints(1))
    wide = g.node("Mul", column, normal(1, 6))
    product = g.node("Gemm", wide, Const(normal(6, 5)), Const(normal(5)))
    shares = g.node("Softmax", product, axis=-1)
    both = g.node("Concat", wide, shares, axis=1)
    total = g.node("ReduceSum", both, ints(1), keepdims=0)
    chosen = g.node("Where", g.node("Less", values, total), values, total)
    yield g.case("arithmetic", both, chosen)


def _images() -> Iterator[Case]:
    """A convolution of as many images as are chosen."""
    g = Graph()
    x = g.node("Compress", normal(4, 3, 6, 5), np.array([1, 0, 1, 1], np.bool_), axis=0)
    weight = Const(normal(8, 3, 3, 3))
    y = g.node("Relu", g.node("Conv", x, weight, pads=[1, 1, 1, 1]))
    yield g.case("counted-images", g.node("Conv", y, Const(normal(2, 8, 1, 1))))


def _suppressed() -> Iterator[Case]:
    corners = np.sort(np.abs(normal(1, 30, 2, 2)), 2).reshape(1, 30, 4)
    limits = Const(np.array([20])), floats(0.4)
    for id, threshold in (("some", 0.2), ("none", 99.0)):
        g = Graph()
        boxes = g.value(corners)
        rows = g.node("NonMaxSuppression", boxes, normal(1, 2, 30), *limits, floats(threshold))
        index = g.node("Squeeze", g.node("Gather", rows, ints(2), axis=1), ints(1))
        flat = g.node("Squeeze", boxes, ints(0))
        yield g.case(f"suppressed-{id}", g.node("Gather", flat, index))


def _scattered() -> Iterator[Case]:
    x = normal(7, 3)
    g = Graph()
    places, values = _rows(g, normal(7))
    updates = g.node(
        "Mul", g.node("Unsqueeze", values, ints(1)), Const(np.ones((1, 3), np.float32))
    )
    rows = g.node("ScatterND", x, places, updates)
    full = g.node("Expand", places, g.node("Concat", g.node("Shape", values), ints(3), axis=0))
    yield g.case("scattered", rows, g.node("ScatterElements", x, full, updates, axis=0))


def _regions() -> Iterator[Case]:
    corners = np.array([[0, 10, 70, 90], [-30, -20, 40, 20], [50, 50, 51, 52], [60, 40, 130, 125]])
    images = np.array([0, 1, 1, 0])
    for mode in ("half_pixel", "output_half_pixel"):
        for samples in (0, 2):
            g = Graph()
            # Integers, because regions must be finite.
            regions = g.node("Mul", g.node("Cast", corners, to=1), floats(0.1))
            g.node(
                "RoiAlign",
                *(normal(2, 5, 9, 11), regions, images),
                coordinate_transformation_mode=mode,
                output_height=3,
                output_width=2,
                sampling_ratio=samples,
                spatial_scale=0.75,
            )
            yield g.case(f"RoiAlign-{mode}-{samples}")


def _branches() -> Iterator[Case]:
    scores = np.array([0.9, 0.1, 0.8, 0.7, 0.2, 0.6], np.float32)
    for id, one in (("some", scores), ("empty", -scores)):
        yield Case(f"If-{id}", model(DETECTOR), {"boxes": boxes(), "scores": one})
    for flag in (False, True):
        feeds = {"x": normal(3, 4), "c": np.array([flag])}
        yield Case(f"If-sizes-{flag}", model(BRANCHES), feeds)


def cases() -> Iterator[Case]:
    yield from _branches()
    yield from _coordinates()
    yield from _chosen()
    yield from _chain()
    yield from _sizes()
    yield from _arithmetic()
    yield from _images()
    yield from _suppressed()
    yield from _scattered()
    yield from _regions()
