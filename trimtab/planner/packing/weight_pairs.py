"""An order of weights in which two products of bytes fit 16 bits (`PairedStep` of kernel_api.h).

x86 multiplies bytes without sign by bytes with one and adds two neighbors (vpmaddubsw): sums of up
to 2 x 255 x 128, which saturate at 2^15. Two weights are safe together if those that are positive
add up to at most 128, and those that are negative too. For each panel of columns, elements of the
depth are therefore paired so that both stand together in every column: a matching in the graph of
safe pairs, in which elements of least degree go first. One that finds no partner stands alone,
beside a weight of 0. Sums are exact with any weights; how many steps they take depends on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trimtab.planner.packing import Array

DEPTH = 16  # of a step, kernel_api.h kPairedDepth
HEADER_BYTES = 32  # kernel_api.h PairedStep
_DOTS = 4  # elements of a column that lie side by side
_MOST = 128  # 255 of these are less than 2^15
_MOST_DEPTH = 65535 * DEPTH // 2  # runtime/ops/qlinear_conv.toml; half of a step stands alone
_NONE = 99  # more than any degree


@dataclass(frozen=True)
class Order:
    """Of the depth of each panel, in steps: how many of them, `counts` [panel]; where they begin,
    `places` [panel, step]; and their elements, `index` [panel, step, 16], of which those that are
    not `used`, alike, have a weight of 0.
    """

    counts: Array
    places: Array
    index: Array
    used: Array

    @property
    def steps(self) -> int:
        """Of each panel, filled up with empty ones."""
        return int(self.places.shape[1])


class _ByIdentity:
    """A constant's data, for a cache: equal if it is the same array."""

    def __init__(self, data: Array) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.data is other.data

    def __hash__(self) -> int:
        return id(self.data)


def rows(w: Array) -> tuple[int, int]:
    """Taps, and elements of each, as the engine reads rows under w [c_out, c, kh, kw]: those with
    other elements than kernels multiply at once are gathered into one tap.
    """
    channels, taps = w.shape[1], math.prod(w.shape[2:])
    if channels % _DOTS == 0:
        return taps, channels
    return 1, -(-channels * taps // _DOTS) * _DOTS


def fits(w: Array) -> bool:
    """Whether rows have all elements of a step, and an order of them as many steps as it may."""
    taps, depth = rows(w)
    return depth >= DEPTH and taps * depth <= _MOST_DEPTH


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
        places = np.minimum(begin[open_], depth - DEPTH)
        window = lines[open_[:, None], places[:, None] + np.arange(DEPTH)]
        ends, partners = _pair(_safe(window), begin[open_] - places)
        index, used = _slots(partners)
        for line, place, step in zip(open_, places, zip(index, used, strict=True), strict=True):
            steps[line].append((int(place), *step))
        begin[open_] = places + ends
    by_panel = [
        [(tap * depth + place, *step) for tap in range(taps) for place, *step in steps[p + tap]]
        for p in range(0, len(lines), taps)
    ]
    counts = np.array([len(its) for its in by_panel])
    shape = count, int(counts.max())
    places, used = np.zeros(shape, np.uint32), np.zeros((*shape, DEPTH), np.bool_)
    index = np.zeros((*shape, DEPTH), np.uint8)
    for panel, its in enumerate(by_panel):
        for made, values in zip((places, index, used), zip(*its, strict=True), strict=True):
            made[panel, : len(its)] = values
            made[panel, len(its) :] = 0 if made is used else values[-1]
    return Order(counts, places, index, used)


def pack(w: Array, groups: int, nr: int) -> Array:
    """w: int8[c_out, c, kh, kw] -> [group][panel][step], each a PairedStep and [4][nr][4]."""
    how, panels = order(w, groups, nr), _panels(w, groups, nr)
    depth = panels.reshape(len(panels), -1, nr)
    every = np.arange(len(depth))[:, None, None]
    taken = depth[every, how.places[..., None] + how.index] * how.used[..., None]
    header = np.zeros((*how.places.shape, HEADER_BYTES), np.uint8)
    header[..., 0:4] = how.places[..., None].astype("<u4").view(np.uint8)
    header[..., 4:8] = how.counts[:, None, None].astype("<u4").view(np.uint8)
    header[..., -DEPTH:] = how.index
    dots = taken.reshape(*how.places.shape, DEPTH // _DOTS, _DOTS, nr).swapaxes(-1, -2)
    body = dots.reshape(*how.places.shape, DEPTH * nr).astype(np.int8)
    return np.concatenate([header.view(np.int8), body], axis=-1).reshape(-1)


def packed_steps(packed: Array, columns: int, groups: int, nr: int) -> int:
    """Of each panel, in what `pack` made of weights for so many columns."""
    panels = groups * -(-(columns // groups) // nr)
    return int(packed.size // (panels * (HEADER_BYTES + DEPTH * nr)))


def pack_bias(bias: Array, w: Array, groups: int, nr: int) -> Array:
    """bias: int32[c_out] -> [group][columns padded to nr], less 128 times their weights' sums."""
    sums = w.reshape(w.shape[0], -1).sum(axis=1, dtype=np.int64)
    less = (bias.astype(np.int64) - 128 * sums).astype(np.int32).reshape(groups, -1)
    return np.pad(less, ((0, 0), (0, -less.shape[1] % nr))).reshape(-1)


def _panels(w: Array, groups: int, nr: int) -> Array:
    """w: [c_out, c, kh, kw] -> [panel, tap, element, nr], filled up with zeros."""
    taps, depth = rows(w)
    flat = np.moveaxis(w, 1, -1).reshape(groups, w.shape[0] // groups, -1)
    columns, filled = -flat.shape[1] % nr, taps * depth - flat.shape[2]
    flat = np.pad(flat, ((0, 0), (0, columns), (0, filled)))
    return flat.reshape(-1, nr, taps, depth).transpose(0, 2, 3, 1)


def _safe(window: Array) -> Array:
    """window: int8[n, 16, nr] -> whether each two elements may stand together, [n, 16, 16]."""
    wide = window.astype(np.int16)
    safe = ~np.eye(DEPTH, dtype=np.bool_)
    for part in (np.maximum(wide, 0), np.maximum(-wide, 0)):
        bytes_ = part.astype(np.uint8)
        safe = safe & (bytes_[:, :, None] <= (_MOST - bytes_)[:, None]).all(axis=-1)
    return safe


def _pair(safe: Array, first: Array) -> tuple[Array, Array]:
    """safe: [n, 16, 16]; the elements of each from `first` [n] on, as many as a step holds with
    those that find no partner: ends [n], and partners [n, 16], of which an element that stands
    alone is its own, and one that is not of the step -1.
    """
    ends = np.full(len(safe), DEPTH)
    partners = np.full((len(safe), DEPTH), -1)
    left = np.arange(len(safe))
    while left.size:
        elements = np.arange(DEPTH)
        alive = (elements >= first[left, None]) & (elements < ends[left, None])
        found = _match(safe[left], alive)
        slots = 2 * alive.sum(axis=1) - (found != np.where(alive, elements, -1)).sum(axis=1)
        fits = slots <= DEPTH
        partners[left[fits]] = found[fits]
        left = left[~fits]
        ends[left] -= 1
    return ends, partners


def _match(safe: Array, alive: Array) -> Array:
    """Partners as of `_pair`: a maximal matching of the elements that are `alive` [n, 16]."""
    alive = alive.copy()
    partners = np.where(alive, np.arange(DEPTH), -1)
    every = np.arange(len(safe))
    for _ in range(DEPTH // 2):
        degrees = (safe & alive[:, None]).sum(axis=2)
        degrees = np.where(alive & (degrees > 0), degrees, _NONE)
        one = degrees.argmin(axis=1)
        others = np.where(safe[every, one] & alive, degrees, _NONE)
        other = others.argmin(axis=1)
        has = np.flatnonzero((degrees[every, one] < _NONE) & (others[every, other] < _NONE))
        one, other = one[has], other[has]
        partners[has, one], partners[has, other] = other, one
        alive[has, one] = alive[has, other] = False
    return partners


def _slots(partners: Array) -> tuple[Array, Array]:
    """partners: as of `_pair` -> the elements in their order, and whether their weights count."""
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
