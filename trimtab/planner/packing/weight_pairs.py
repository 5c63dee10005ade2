"""Pairing of int8 weights whose products add up within 16 bits (`PairedStep` of kernel_api.h).

The x86 instruction vpmaddubsw multiplies uint8 by int8 values and adds two neighbors: sums of up to
2 x 255 x 128, which saturate at 2^15. Two weights are a safe pair if their positive parts add up to
at most 128, and their negative parts as well. Therefore, for each panel of columns, depth elements
are paired so that the pair is safe in every column: a greedy matching in the graph of safe pairs,
in which elements with the lowest degree are matched first. An element without a partner is paired
with a weight of 0. Accumulators are exact for all weights; only the number of steps depends on
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trimtab.planner.packing import Array

DEPTH = 16  # elements of a step, kernel_api.h kPairedDepth
HEADER_BYTES = 32  # kernel_api.h PairedStep
_DOTS = 4  # elements of a column that lie side by side
_MAX_SUM = 128  # 255 * 128 < 2^15
_MAX_DEPTH = 65535 * DEPTH // 2  # runtime/ops/qlinear_conv.toml; half of a step may be unpaired
_NO_DEGREE = 99  # more than any degree


@dataclass(frozen=True)
class Order:
    """The order of the depth of each panel, in steps: their number, `counts` [panel]; the element
    at which each starts, `starts` [panel, step]; and its elements relative to that, `index` [panel,
    step, 16]. Elements that are not `used`, of the same shape, have a weight of 0.
    """

    counts: Array
    starts: Array
    index: Array
    used: Array

    @property
    def steps(self) -> int:
        """Steps of each panel; shorter panels are padded with empty steps."""
        return int(self.starts.shape[1])


class _ByIdentity:
    """A cache key for a constant: equal if it is the same array."""

    def __init__(self, data: Array) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.data is other.data

    def __hash__(self) -> int:
        return id(self.data)


def rows(w: Array) -> tuple[int, int]:
    """Taps, and elements per tap, as the engine reads rows for w [c_out, c, kh, kw]: if the
    channels are not a multiple of four, im2col turns all taps into one.
    """
    channels, taps = w.shape[1], math.prod(w.shape[2:])
    if channels % _DOTS == 0:
        return taps, channels
    return 1, -(-channels * taps // _DOTS) * _DOTS


def fits(w: Array) -> bool:
    """Whether rows have at least the elements of a step, and at most the elements that the format
    allows.
    """
    taps, depth = rows(w)
    return depth >= DEPTH and taps * depth <= _MAX_DEPTH


def order(w: Array, groups: int, nr: int) -> Order:
    """The order for w: int8[c_out, c, kh, kw], in panels of nr columns."""
    return _order(_ByIdentity(w), groups, nr)


@lru_cache(maxsize=256)
def _order(weights: _ByIdentity, groups: int, nr: int) -> Order:
    panels = _panels(weights.data, groups, nr)
    count, taps, depth = panels.shape[:3]
    lines = panels.reshape(count * taps, depth, nr)
    steps: list[list[tuple[int, Array, Array]]] = [[] for _ in lines]
    begin = np.zeros(len(lines), np.intp)
    while (open_ := np.flatnonzero(begin < depth)).size:
        starts = np.minimum(begin[open_], depth - DEPTH)
        window = lines[open_[:, None], starts[:, None] + np.arange(DEPTH)]
        ends, partners = _pair(_safe(window), begin[open_] - starts)
        index, used = _slots(partners)
        for line, start, step in zip(open_, starts, zip(index, used, strict=True), strict=True):
            steps[line].append((int(start), *step))
        begin[open_] = starts + ends
    by_panel = [
        [(tap * depth + start, *step) for tap in range(taps) for start, *step in steps[p + tap]]
        for p in range(0, len(lines), taps)
    ]
    counts = np.array([len(its) for its in by_panel])
    shape = count, int(counts.max())
    starts, used = np.zeros(shape, np.uint32), np.zeros((*shape, DEPTH), np.bool_)
    index = np.zeros((*shape, DEPTH), np.uint8)
    for panel, its in enumerate(by_panel):
        for array, values in zip((starts, index, used), zip(*its, strict=True), strict=True):
            array[panel, : len(its)] = values
            array[panel, len(its) :] = 0 if array is used else values[-1]
    return Order(counts, starts, index, used)


def pack(w: Array, groups: int, nr: int) -> Array:
    """w: int8[c_out, c, kh, kw] -> [group][panel][step], each a PairedStep and [4][nr][4]."""
    order_, panels = order(w, groups, nr), _panels(w, groups, nr)
    depth = panels.reshape(len(panels), -1, nr)
    every = np.arange(len(depth))[:, None, None]
    weights = depth[every, order_.starts[..., None] + order_.index] * order_.used[..., None]
    header = np.zeros((*order_.starts.shape, HEADER_BYTES), np.uint8)
    header[..., 0:4] = order_.starts[..., None].astype("<u4").view(np.uint8)
    header[..., 4:8] = order_.counts[:, None, None].astype("<u4").view(np.uint8)
    header[..., -DEPTH:] = order_.index
    dots = weights.reshape(*order_.starts.shape, DEPTH // _DOTS, _DOTS, nr).swapaxes(-1, -2)
    body = dots.reshape(*order_.starts.shape, DEPTH * nr).astype(np.int8)
    return np.concatenate([header.view(np.int8), body], axis=-1).reshape(-1)


def packed_steps(packed: Array, columns: int, groups: int, nr: int) -> int:
    """Steps of each panel in the result of `pack` for that number of columns."""
    panels = groups * -(-(columns // groups) // nr)
    return int(packed.size // (panels * (HEADER_BYTES + DEPTH * nr)))


def pack_bias(bias: Array, w: Array, groups: int, nr: int) -> Array:
    """bias: int32[c_out] -> [group][columns padded to nr], minus 128 times the sum of each column's
    weights.
    """
    sums = w.reshape(w.shape[0], -1).sum(axis=1, dtype=np.int64)
    less = (bias.astype(np.int64) - 128 * sums).astype(np.int32).reshape(groups, -1)
    return np.pad(less, ((0, 0), (0, -less.shape[1] % nr))).reshape(-1)


def _panels(w: Array, groups: int, nr: int) -> Array:
    """w: [c_out, c, kh, kw] -> [panel, tap, element, nr], padded with zeros."""
    taps, depth = rows(w)
    flat = np.moveaxis(w, 1, -1).reshape(groups, w.shape[0] // groups, -1)
    columns, elements = -flat.shape[1] % nr, taps * depth - flat.shape[2]
    flat = np.pad(flat, ((0, 0), (0, columns), (0, elements)))
    return flat.reshape(-1, nr, taps, depth).transpose(0, 2, 3, 1)


def _safe(window: Array) -> Array:
    """window: int8[n, 16, nr] -> whether each pair of elements is safe, [n, 16, 16]."""
    wide = window.astype(np.int16)
    safe = ~np.eye(DEPTH, dtype=np.bool_)
    for part in (np.maximum(wide, 0), np.maximum(-wide, 0)):
        bytes_ = part.astype(np.uint8)
        safe = safe & (bytes_[:, :, None] <= (_MAX_SUM - bytes_)[:, None]).all(axis=-1)
    return safe


def _pair(safe: Array, first: Array) -> tuple[Array, Array]:
    """Pairs the elements of each window, safe: [n, 16, 16], from `first` [n] on, as many as fit in
    a step. Returns the ends [n] and the partners [n, 16]: an unpaired element is its own partner,
    an element outside of the step has -1.
    """
    ends = np.full(len(safe), DEPTH)
    partners = np.full((len(safe), DEPTH), -1)
    pending = np.arange(len(safe))
    while pending.size:
        elements = np.arange(DEPTH)
        alive = (elements >= first[pending, None]) & (elements < ends[pending, None])
        matching = _match(safe[pending], alive)
        slots = 2 * alive.sum(axis=1) - (matching != np.where(alive, elements, -1)).sum(axis=1)
        fits = slots <= DEPTH
        partners[pending[fits]] = matching[fits]
        pending = pending[~fits]
        ends[pending] -= 1
    return ends, partners


def _match(safe: Array, alive: Array) -> Array:
    """Partners as in `_pair`: a maximal matching of the elements that are `alive` [n, 16]."""
    alive = alive.copy()
    partners = np.where(alive, np.arange(DEPTH), -1)
    every = np.arange(len(safe))
    for _ in range(DEPTH // 2):
        degrees = (safe & alive[:, None]).sum(axis=2)
        degrees = np.where(alive & (degrees > 0), degrees, _NO_DEGREE)
        one = degrees.argmin(axis=1)
        others = np.where(safe[every, one] & alive, degrees, _NO_DEGREE)
        other = others.argmin(axis=1)
        has = np.flatnonzero(
            (degrees[every, one] < _NO_DEGREE) & (others[every, other] < _NO_DEGREE)
        )
        one, other = one[has], other[has]
        partners[has, one], partners[has, other] = other, one
        alive[has, one] = alive[has, other] = False
    return partners


def _slots(partners: Array) -> tuple[Array, Array]:
    """partners as in `_pair` -> the elements in step order, and whether their weights are used."""
    elements = np.arange(DEPTH)
    leads = partners >= elements
    rank = leads.cumsum(axis=1) - 1
    step, lead = np.nonzero(leads)
    slot = 2 * rank[step, lead]
    partner = partners[step, lead]
    index = np.zeros(partners.shape, np.uint8)
    used = np.zeros(partners.shape, np.bool_)
    index[step, slot], used[step, slot] = lead, True
    index[step, slot + 1], used[step, slot + 1] = partner, partner != lead
    return index, used
