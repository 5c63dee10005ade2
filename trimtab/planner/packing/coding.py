"""Weights of float networks that are entropy coded.

A weight is a whole number of steps, which are a fraction of the root mean square of its output
channel. Equal steps with an entropy code need a quarter of a bit more than the least possible
(Gish and Pierce 1968). The code is rANS (Duda 2013, arXiv:1311.2540) with one table for all output
channels; each panel is coded on its own, so that the engine decodes it when it packs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.engine import engine

Array = NDArray[Any]

FORMS = {f"bits{bits}": bits for bits in (6, 5, 4, 3)}
"""The coded forms, and the bits that a weight of a normal distribution takes."""

_LARGEST = 127
_LEAST_EXACT = 0.75  # of the scale that the values would have otherwise
_EXACT = 8  # times the scale: smaller values are exact in f16
_SLOTS = 4096  # of the table
_PANEL = 16  # columns, for estimates


def to_steps(data: Array, axis: int, bits: int) -> tuple[Array, Array]:
    """Rounds `data` to int8, and the scale of each index of `axis`, float32 with the low half 0:
    values that samples rounded to multiples of other scales, about as large, have these.
    """
    rows = np.moveaxis(np.asarray(data, np.float32), axis, 0).reshape(data.shape[axis], -1)
    rms = np.sqrt(np.square(rows, dtype=np.float64).mean(axis=1))
    # log2(sqrt(2 pi e)) = 2.05: the bits of a normal distribution in steps of its deviation.
    scales = np.maximum(rms * 2.0 ** (2 - bits), np.abs(rows).max(axis=1) / _LARGEST)
    scales = scales.clip(np.finfo(np.float32).tiny).astype(np.float32)
    scales = _upper_halves(scales)
    exact = _exact_scales(rows, scales)
    if exact is not None and (exact >= _LEAST_EXACT * scales)[exact > 0].all():
        scales = np.where(exact > 0, exact, scales)
    dims = [-1 if i == axis else 1 for i in range(data.ndim)]
    steps = np.rint(data / scales.reshape(dims)).astype(np.int8)
    return steps, scales


def _upper_halves(scales: Array) -> Array:
    """The scales, rounded up to values with the low half 0."""
    return ((scales.view(np.uint32) + 0xFFFF) & 0xFFFF0000).view(np.float32)


def _exact_scales(rows: Array, usual: Array) -> Array | None:
    """The largest scale of each row, with the low half 0, of which all elements are products with
    int8, or what f16 rounds these to; 0 for a row of zeros. None if a row has none. `usual`: the
    scales otherwise.
    """
    sizes = np.abs(rows)
    least = sizes.min(axis=1, where=sizes > 0, initial=np.inf)
    # f16 does not round products of three and eight bits.
    bounds = np.maximum(_LEAST_EXACT * _EXACT * usual, 1.5 * least)
    small = np.where(sizes < bounds[:, None], rows, 0)
    exponents = np.frexp(np.abs(small).max(axis=1))[1] - 16
    units = np.ldexp(small, -exponents[:, None])
    for part in (slice(1), slice(None)):  # most networks fail at once
        if not (units[part] == np.rint(units[part])).all():
            return None
    divisors = np.gcd.reduce(units.astype(np.int32), axis=1)
    scales, pending = np.zeros(len(rows), np.float32), np.flatnonzero(divisors)
    for number in range(1, _EXACT):
        parts = np.maximum(divisors[pending] // number, 1).astype(np.float32)
        candidates = np.ldexp(parts, exponents[pending])
        steps = np.rint(rows[pending] / candidates[:, None])
        errors = np.abs(steps * candidates[:, None] - rows[pending])
        fits = (parts * number == divisors[pending]) & (_upper_halves(candidates) == candidates)
        fits &= ((errors <= sizes[pending] / 2048) & (np.abs(steps) <= _LARGEST)).all(axis=1)
        scales[pending[fits]] = candidates[fits]
        pending = pending[~fits]
    return None if pending.size else scales


def estimated_bytes(steps: Array, columns: int) -> int:
    """The bytes that `coded` makes of steps in that number of output channels, about."""
    counts = np.bincount(steps.reshape(-1).astype(np.int32) + 128)
    shares = counts[counts > 0] / steps.size
    table = _table(counts)
    panels = -(-columns // _PANEL)
    bits = -float((shares * np.log2(shares)).sum()) * steps.size
    return 8 * panels + 2 * columns + len(table) + int(bits / 8)


def coded(steps: Array, scales: Array, sizes: Sequence[int]) -> Array:
    """The bytes of flat steps in panels of these sizes: the place of each panel, u32; the high
    halves of the scales; the table; for each panel the state of the code, and what refills it.
    """
    lowest = int(steps.min())
    symbols = (steps.astype(np.int16) - lowest).astype(np.uint8)
    counts = np.bincount(steps.astype(np.int32) + 128)
    code, starts = engine().coded_panels(symbols, list(sizes), _slots(counts)[lowest + 128 :])
    table = _table(counts)
    before = np.concatenate(
        [(scales.view(np.uint32) >> 16).astype("<u2").view(np.uint8), np.frombuffer(table, "u1")]
    )
    starts = starts + np.uint32(4 * len(starts) + before.size)
    return np.concatenate([starts.astype("<u4").view(np.uint8), before, code.view(np.uint8)])


def _slots(counts: Array) -> list[int]:
    """Slots in proportion to counts, at least one for each value that occurs. A value has fewer
    than all: a single one leaves a slot to the next.
    """
    ideal = counts * (_SLOTS / counts.sum())
    slots = np.where(counts > 0, np.maximum(np.floor(ideal), 1), 0).astype(np.int64)
    while missing := _SLOTS - int(slots.sum()):
        # One more or less where it changes the fewest bits for the better or the worse.
        step = 1 if missing > 0 else -1
        changed = slots + step
        bits = counts * np.log2(np.maximum(changed, 1) / np.maximum(slots, 1))
        possible = (counts > 0) & (changed > 0)
        slots[np.where(possible, bits, -np.inf).argmax()] += step
    result: list[int] = slots.tolist()
    if result[-1] == _SLOTS:
        result[-1:] = [_SLOTS - 1, 1]
    return result


def _table(counts: Array) -> bytes:
    """The lowest value, i8; the number of further ones, u8; the slots of each value, in one byte
    below 128, else in two, of which the first is the high one and has bit 7.
    """
    lowest = int(np.flatnonzero(counts)[0])
    slots = _slots(counts)[lowest:]
    parts = [bytes([n]) if n < 128 else bytes([128 | n >> 8, n & 255]) for n in slots]
    return bytes([(lowest - 128) & 255, len(slots) - 1]) + b"".join(parts)
