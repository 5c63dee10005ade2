"""Packs the tables of a file; docs/model-format.md, "Packed tables", describes the tokens.

The engine unpacks them (`Unpack` in runtime/core/loader.cpp).
"""

from __future__ import annotations

from collections import defaultdict

_MOST_LITERALS, _MOST_COPIED = 7, 64
_SLACK = bytes(10)  # behind the last token, so that the engine may read it whole
_FAR = 0xFFFF  # the largest distance
_KEY = 3  # bytes that find earlier positions
_POSITIONS = 16  # latest ones of a key that are compared


def pack(data: bytes) -> bytes:
    """Tokens that unpack to `data`."""
    packed = bytearray()
    positions: dict[bytes, list[int]] = defaultdict(list)
    start = indexed = at = distance = 0  # start: of the literals that no token has yet
    while at < len(data):
        for position in range(indexed, at):
            positions[data[position : position + _KEY]].append(position)
        indexed = at
        near = [distance] if 0 < distance <= at else []
        far = [at - position for position in positions[data[at : at + _KEY]][-_POSITIONS:]]
        copied = {d: _equal(data, at, d) for d in near + far if d <= _FAR}
        best = max(copied, key=lambda d: (_saved(copied[d], d == distance), -d), default=0)
        if best and _saved(copied[best], best == distance) > 0:
            packed += _token(data[start:at], copied[best], best if best != distance else 0)
            distance, at = best, at + copied[best]
            start = at
        else:
            at += 1
        if at - start == _MOST_LITERALS:
            packed += _token(data[start:at], 0, 0)
            start = at
    if start < len(data):
        packed += _token(data[start:], 0, 0)
    return bytes(packed + _SLACK)


def _saved(copied: int, is_near: bool) -> int:
    """Bytes that a token with a copy of so many bytes takes less than literals."""
    return copied - 1 - 2 * (not is_near)


def _equal(data: bytes, at: int, distance: int) -> int:
    """How many bytes equal those at a distance, rounded down to what one token can copy."""
    end = min(at + _MOST_COPIED, len(data))
    i = at
    while i < end and data[i : i + 16] == data[i - distance : i - distance + 16]:
        i += 16
    while i < end and data[i] == data[i - distance]:
        i += 1
    count = min(i, end) - at
    return count if count < 8 else count // 8 * 8


def _token(literals: bytes, copied: int, distance: int) -> bytes:
    """A token with its literals; `distance`: 0 for that of the token before."""
    length = copied if copied < 8 else 7 + copied // 8
    head = bytes([len(literals) << 5 | bool(distance) << 4 | length])
    return head + literals + (distance.to_bytes(2, "little") if distance else b"")
