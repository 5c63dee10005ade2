"""Winograd convolution in float64, derived from its interpolation points, with its error bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.planner.algorithms import winograd

Array = NDArray[np.float64]

POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5)
UNIT = 2.0**-24


def is_strided(tile: int, stride: int) -> bool:
    """True if a tile computes the strides directly, without space-to-depth."""
    return (tile, stride) == (2, 2)


def matrices(tile: int, taps: int, stride: int = 1) -> tuple[Array, Array, Array]:
    """A^T [tile, n], B^T [n, n] and G [n, taps] for n = stride * (tile - 1) + taps, as defined in
    kernels/kernel_api.h.

    Row p of B^T: coefficients of the product of (x - q) over all other points q (over all points
    for infinity); column p of A^T: powers of p. G is the matrix that trimtab packs weights with.
    """
    if stride > 1:
        a = np.array([[1.0, 1, 0, 1, 0], [0, 1, 1, 0, 1]])
        b = np.array(
            [
                [1.0, 0, -1, 0, 0],
                [0, 0, 1, 0, 0],
                [0, 0, -1, 0, 1],
                [0, 1, 0, 0, 0],
                [0, 0, 0, 1, 0],
            ]
        )
        return a, b, winograd.transform_of(tile, taps, stride)
    size = tile + taps - 1
    points = tuple(p * (0.625 if size == 6 else 1) for p in POINTS[: size - 1])
    rows = [np.poly([q for q in points if q != p])[::-1] for p in points]
    b = np.array([*(np.append(row, 0.0) for row in rows), np.poly(points)[::-1]])
    b[0] *= np.sign(b[0, 0])
    a = np.array(
        [[p**i * (32 if n >= 5 else 1) for n, p in enumerate(points)] for i in range(tile)]
    )
    last = np.zeros((tile, 1))
    last[-1] = 1
    return np.hstack([a, last]), b, winograd.weight_transform(size, taps)


def phases(x: Array, stride: int) -> Array:
    """Space-to-depth with blocks of stride x stride: [n, c, h, w] ->
    [n, stride^2 * c, ceil(h / stride), ceil(w / stride)], padded with zeros.
    """
    h, w = x.shape[2:]
    x = np.pad(x, ((0, 0), (0, 0), (0, -h % stride), (0, -w % stride)))
    steps = [(i, j) for i in range(stride) for j in range(stride)]
    return np.concatenate([x[:, :, i::stride, j::stride] for i, j in steps], axis=1)


def error_bound(
    x: Array,
    w: Array,
    rest: Array,
    tile: int,
    pads: tuple[int, ...],
    stride: int,
    transformed_in: int,
) -> Array:
    """The bound of the float32 error of each element.

    The three transforms and the sum over channels are sums of products. An element passes at most
    14 roundings in the input transform, `transformed_in` in the weight transform (1 in float64, 12
    in float32), depth + 1 in the sum and 16 in the output transform with bias and residual, whose
    absolute values sum to `rest`. So the error is at most gamma(depth + 31 + transformed_in) times
    the same expression of absolute values (Higham 2002, section 3.1). Strided windows are unstrided
    ones after space-to-depth, unless the tile is strided. x: [n, c_in, h, w],
    w: [c_out, c_in, k, k], rest: the shape of the result.
    """
    top, left, bottom, right = pads
    x = np.pad(np.abs(x), ((0, 0), (0, 0), (top, bottom), (left, right)))
    w = np.abs(w)
    if not is_strided(tile, stride):
        x, w, stride = phases(x, stride), phases(w, stride), 1
    n, depth = x.shape[:2]
    c_out, taps = w.shape[0], w.shape[2]
    a, b, g = (np.abs(m) for m in matrices(tile, taps, stride))
    size = b.shape[0]
    out_h, out_w = rest.shape[2:]
    down, across = -(-out_h // tile), -(-out_w // tile)
    padded = np.zeros((n, depth, down * tile * stride + size, across * tile * stride + size))
    padded[:, :, : x.shape[2], : x.shape[3]] = x[:, :, : padded.shape[2], : padded.shape[3]]
    u = np.einsum("ai,ocij,bj->aboc", g, w, g, optimize=True)
    result = np.zeros((n, c_out, down * tile, across * tile))
    for i in range(0, down * tile, tile):
        for j in range(0, across * tile, tile):
            top, left = i * stride, j * stride
            d = padded[:, :, top : top + size, left : left + size]
            v = np.einsum("ai,ncij,bj->abnc", b, d, b, optimize=True)
            products = np.einsum("aboc,abnc->abno", u, v, optimize=True)
            outputs = np.einsum("ia,abno,jb->noij", a, products, a, optimize=True)
            result[:, :, i : i + tile, j : j + tile] = outputs
    k = (depth + 31 + transformed_in) * UNIT
    return np.asarray(k / (1 - k) * (result[:, :, :out_h, :out_w] + rest))


def convolution(x: Array, w: Array, pads: tuple[int, ...], stride: int = 1) -> Array:
    """The convolution by its definition, in float64."""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    k = w.shape[2]
    h, width = x.shape[2] - k + 1, x.shape[3] - k + 1
    taps = [(i, j) for i in range(k) for j in range(k)]
    return np.asarray(
        sum(
            np.einsum(
                "nchw,oc->nohw", x[:, :, i : i + h : stride, j : j + width : stride], w[:, :, i, j]
            )
            for i, j in taps
        )
    )
