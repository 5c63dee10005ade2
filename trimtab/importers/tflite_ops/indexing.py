"""Gathers and scatters, segments, boxes that are kept, and places in a tensor."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers.tflite_ops.forms import Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import movement, scatter
from trimtab.importers.vocabulary.elementwise import integer
from trimtab.program.block import NUMPY_DTYPES


def _refuse_quantized(node: TfliteNode, *indices: int) -> None:
    if any(node.quantization(i) for i in indices):
        raise node.unsupported("its operands are quantized")


@handles("GATHER")
def gather(node: TfliteNode) -> Results:
    """Gathers along an axis at indices of any shape, of each batch its own."""
    options = node.options("GatherOptions")
    x, indices = node.operand(0), node.operand(1)
    batch, axis = options.BatchDims(), node.axis(options.Axis())
    if not batch:
        return movement.gathered(node, x, indices, axis)
    # Batches become one axis, along which the rows of each batch follow each other.
    x, shape = node.value(x), tuple(indices.shape)
    batch %= len(shape) + 1
    if not 0 < batch <= axis or x.shape[:batch] != shape[:batch]:
        raise node.invalid(f"{batch} dimensions of its indices are not those of its input")
    groups, between = math.prod(shape[:batch]), x.shape[batch:axis]
    order = (*range(batch), axis, *(i for i in range(batch, len(x.shape)) if i != axis))
    rows = node.transpose(x, order)
    rest = (*between, *x.shape[axis + 1 :])
    rows = node.reshape(rows, (groups * x.shape[axis], *rest))
    node.check_elements((groups,), 8)
    start = (np.arange(groups) * x.shape[axis]).reshape(groups, 1)
    index = _offset(node, node.reshape(indices, (groups, -1)), start)
    y = node.value(movement.gathered(node, rows, index, 0))
    y = node.reshape(y, (*shape, *rest))
    places = (
        *range(batch),
        *range(len(shape), len(shape) + len(between)),
        *range(batch, len(shape)),
        *range(len(shape) + len(between), len(y.shape)),
    )
    return node.transpose(y, places)


def _offset(node: TfliteNode, indices: Operand, offset: Array) -> Operand:
    if isinstance(indices, np.ndarray):
        return np.asarray(indices + offset)
    number = node.value(offset.astype(NUMPY_DTYPES[indices.dtype]))
    return integer(node, "add", indices, number)


@handles("GATHER_ND")
def gather_nd(node: TfliteNode) -> Results:
    """Gathers elements or slices at indices [..., axes]."""
    return scatter.gathered_slices(node, node.operand(), node.operand(1))


@handles("EMBEDDING_LOOKUP")
def embedding_lookup(node: TfliteNode) -> Results:
    """Rows of a table."""
    return movement.gathered(node, node.x(1), node.operand(0), 0)


@handles("SCATTER_ND")
def scatter_nd(node: TfliteNode) -> Results:
    """Sums of updates at indices [..., axes], in a tensor of zeros."""
    _refuse_quantized(node, 1)
    shape, updates = node.ints(2, "shape"), node.x(1)
    node.check_elements(shape, 8)
    zeros = node.value(np.zeros(shape, NUMPY_DTYPES[updates.dtype]))
    return scatter.scattered_slices(node, zeros, node.x(0), updates, "add")


@handles("SPARSE_TO_DENSE")
def sparse_to_dense(node: TfliteNode) -> Results:
    """Values at indices, and a default elsewhere."""
    shape, values, default = node.ints(1, "shape"), node.x(2), node.numbers(3, "default")
    node.check_elements(shape, 8)
    rank, indices = len(node.shape(0)), node.x(0)
    indices = node.reshape(indices, (-1, len(shape) if rank == 2 else 1))
    count = indices.shape[0]
    updates = node.add("expand", values, shape=(count,)) if not values.shape else values
    full = node.value(np.full(shape, default.reshape(()), default.dtype))
    return scatter.scattered_slices(node, full, indices, updates)


_SEGMENTS = {
    "SEGMENT_SUM": ("add", 0.0),
    "UNSORTED_SEGMENT_SUM": ("add", 0.0),
    "UNSORTED_SEGMENT_PROD": ("mul", 1.0),
    "UNSORTED_SEGMENT_MAX": ("max", -math.inf),
    "UNSORTED_SEGMENT_MIN": ("min", math.inf),
}


@handles(*_SEGMENTS)
def segments(node: TfliteNode) -> Results:
    """Sums, products or extremes of the rows with the same number; none has a negative one."""
    _refuse_quantized(node, 0)
    reduction, start = _SEGMENTS[node.type]
    x, numbers = node.x(0), node.operand(1)
    if node.type == "SEGMENT_SUM":
        count = int(node.known(1, "segments").max(initial=-1)) + 1
    else:
        (count,) = node.ints(2, "number of segments")
    shape = (count, *x.shape[len(numbers.shape) :])
    node.check_elements(shape, 8)
    dtype = np.dtype(NUMPY_DTYPES[x.dtype])
    if math.isinf(start):  # an empty segment has the lowest or the highest number
        ends = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        start = float(ends.min if start < 0 else ends.max)
    empty = node.value(np.full(shape, start, dtype))
    return scatter.scattered(node, empty, x, _dropped(node, numbers, count), reduction)


def _dropped(node: TfliteNode, numbers: Operand, count: int) -> Operand:
    """Numbers of segments, of which negative ones, which LiteRT drops, are `count`."""
    if isinstance(numbers, np.ndarray):
        return np.where(numbers < 0, count, numbers)
    zero, end = (node.value(np.array(n, NUMPY_DTYPES[numbers.dtype])) for n in (0, count))
    is_negative = node.add("compare", numbers, zero, relation="less")
    return node.add("where", is_negative, end, numbers)


@handles("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(node: TfliteNode) -> Results:
    """x with a part replaced, which begins at places that are moved into it."""
    x, update, begin = node.x(0), node.x(1), node.operand(2)
    room = np.array(x.shape) - update.shape
    if len(update.shape) != len(x.shape) or room.min(initial=0) < 0:
        raise node.invalid(f"a part {list(update.shape)} does not fit {list(x.shape)}")
    strides = np.array([math.prod(x.shape[i + 1 :]) for i in range(len(x.shape))])
    last = _last_whole(x.shape, update.shape)
    node.check_elements((2, last + 1, *update.shape[:last]), 8)
    grid = np.indices(update.shape[:last]).reshape(last, -1)
    offsets = (strides[:last] @ grid).astype(np.int64)
    if isinstance(begin, np.ndarray):
        start: Operand = np.asarray(np.clip(begin, 0, room) @ strides)
    else:
        start = _start(node, begin, room, strides)
    row = math.prod(update.shape[last:])
    if isinstance(start, np.ndarray):
        places: Operand = (start + offsets) // row
    else:
        dtype = NUMPY_DTYPES[start.dtype]
        number = node.value(offsets.astype(dtype))
        places = integer(node, "add", start, number)
        if row > 1:
            places = integer(node, "div", places, node.value(np.array(row, dtype)))
    return scatter.scattered(node, x, update, places)


def _last_whole(shape: tuple[int, ...], part: tuple[int, ...]) -> int:
    """The number of axes before those along which a part is as long as the whole."""
    last = len(shape)
    while last and shape[last - 1] == part[last - 1]:
        last -= 1
    return last


def _start(node: TfliteNode, begin: Value, room: Array, strides: Array) -> Value:
    """The place of the first element, whose indices are from 0 to `room`."""
    dtype = NUMPY_DTYPES[begin.dtype]
    low, high = node.value(np.zeros(room.shape, dtype)), node.value(room.astype(dtype))
    is_low = node.add("compare", begin, low, relation="less")
    begin = node.add("where", is_low, low, begin)
    is_high = node.add("compare", high, begin, relation="less")
    begin = node.add("where", is_high, high, begin)
    parts = integer(node, "mul", begin, node.value(strides.astype(dtype)))
    columns = movement.split(node, parts, 0, (1,) * len(room))
    total = columns[0]
    for column in columns[1:]:
        total = integer(node, "add", total, column)
    return total


@handles("REVERSE_SEQUENCE")
def reverse_sequence(node: TfliteNode) -> Results:
    """The first elements along an axis reversed, a constant number of each batch."""
    options, shape = node.options("ReverseSequenceOptions"), node.shape()
    time, batch = node.axis(options.SeqDim()), node.axis(options.BatchDim())
    lengths = np.array(node.ints(1, "lengths"))
    if time == batch or lengths.shape != (shape[batch],) or not _are_within(lengths, shape[time]):
        raise node.invalid(f"its lengths {lengths.tolist()} do not fit {list(shape)}")
    node.check_elements((4, shape[batch], shape[time]), 8)
    steps = np.arange(shape[time])
    last = lengths[:, np.newaxis] - 1
    rows = np.where(steps <= last, last - steps, steps)
    first, second = sorted((time, batch))
    order = (batch, time, *(i for i in range(len(shape)) if i not in (first, second)))
    x = node.transpose(node.x(), order)
    at = np.stack([np.indices(rows.shape)[0], rows], -1)
    y = node.value(movement.gathered_slices(node, x, at))
    return node.transpose(y, [order.index(i) for i in range(len(shape))])


def _are_within(values: Array, limit: int) -> bool:
    return bool(np.all((values >= 0) & (values <= limit)))


@handles("MATRIX_DIAG")
def matrix_diagonal(node: TfliteNode) -> Results:
    """Matrices with the last dimension on their diagonals, and 0 elsewhere."""
    _refuse_quantized(node, 0)
    x = node.x()
    size = x.shape[-1]
    node.check_elements((size, size), 1)
    dtype = NUMPY_DTYPES[x.dtype]
    column = node.reshape(x, (*x.shape, 1))
    zero = node.value(np.zeros((), dtype))
    return node.add("where", node.value(np.eye(size, dtype=bool)), column, zero)


@handles("MATRIX_SET_DIAG")
def set_diagonal(node: TfliteNode) -> Results:
    """Matrices with other elements on their diagonals."""
    _refuse_quantized(node, 0, 1)
    x, diagonal = node.x(0), node.x(1)
    rows, columns = x.shape[-2:]
    node.check_shape("diagonal", diagonal.shape, (*x.shape[:-2], min(rows, columns)))
    node.check_elements((rows, columns), 1)
    axis = len(x.shape) - 1 if rows <= columns else len(x.shape) - 2
    line = node.value(movement.unsqueezed(node, diagonal, axis))
    return node.add("where", node.value(np.eye(rows, columns, dtype=bool)), line, x)


@handles("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def non_max_suppression(node: TfliteNode) -> Results:
    """The indices of the boxes that are kept, followed by zeros, their scores, and their number."""
    _refuse_quantized(node, 0, 1)
    boxes, scores, (rows,) = node.x(0), node.x(1), node.ints(2, "number of boxes")
    is_new = node.type.endswith("V5")
    if is_new and node.has(5) and node.known(5, "sigma").reshape(-1)[0]:
        raise node.unsupported("it lowers scores softly: its sigma is not 0")
    limits = [float(node.known(i, "threshold").reshape(-1)[0]) for i in (3, 4)]
    count = scores.shape[0]
    selected, number = node.add_many(
        "non_max_suppression",
        node.reshape(boxes, (1, count, 4)),
        node.reshape(scores, (1, 1, count)),
        outputs=2,
        max_boxes=rows,
        iou_threshold=limits[0],
        score_threshold=limits[1],
    )
    column = node.reshape(movement.axis_slice(node, selected, 1, 2, 3), (-1,))
    column = node.add("cast", column, to="i32")
    zero = node.value(np.zeros((), np.int32))
    is_unused = node.add("compare", column, zero, relation="less")
    indices = node.add("where", is_unused, zero, column)
    missing = rows - column.shape[0]
    number = node.reshape(number, ())
    if is_new:
        chosen = node.add("gather", scores, indices, axis=0)
        chosen = node.add("where", is_unused, node.constant(0.0, "none"), chosen)
        return _filled(node, indices, missing), _filled(node, chosen, missing), number
    return _filled(node, indices, missing), number


def _filled(node: TfliteNode, x: Value, missing: int) -> Value:
    """x, followed by zeros."""
    if not missing:
        return x
    node.check_elements((missing,), 8)
    return node.add("concat", x, node.value(np.zeros(missing, NUMPY_DTYPES[x.dtype])), axis=0)


@handles("RANK")
def rank(node: TfliteNode) -> Results:
    """The number of dimensions, a constant."""
    return np.array(len(node.shape()), np.int32)


@handles("BROADCAST_ARGS")
def broadcast_shape(node: TfliteNode) -> Results:
    """The shape of the result of two constant shapes."""
    first, second = node.known(0, "shape"), node.known(1, "shape")
    try:
        shape = np.broadcast_shapes(tuple(first.tolist()), tuple(second.tolist()))
    except ValueError:
        raise node.invalid(f"{first.tolist()} and {second.tolist()} do not fit") from None
    return np.array(shape, first.dtype)
