"""Winograd convolution in float64, from the points of its matrices alone, with its error bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.packing import winograd

Array = NDArray[np.float64]

POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5)
UNIT = 2.0**-24


def matrices(tile: int) -> tuple[Array, Array, Array]:
    """A^T [tile, n], B^T [n, n], G [n, 3] of n = tile + 2, as kernels/kernel_api.h means them.

    Row p of B^T: coefficients of the product of (x - q) over the other points q, of all for
    infinity; column p of A^T: powers of p. G is what trimtab packs weights with.
    """
    points = POINTS[: tile + 1]
    rows = [np.poly([q for q in points if q != p])[::-1] for p in points]
    b = np.array([*(np.append(row, 0.0) for row in rows), np.poly(points)[::-1]])
    b[0] *= np.sign(b[0, 0])
    a = np.array([[p**i * (32 if abs(p) == 0.5 else 1) for p in points] for i in range(tile)])
    last = np.zeros((tile, 1))
    last[-1] = 1
    return np.hstack([a, last]), b, winograd.weight_transform(tile)


def error_bound(x: Array, w: Array, rest: Array, tile: int, pads: tuple[int, ...]) -> Array:
    """What float32 may add to a result, element by element.

    The three transforms and the sum over channels are sums of products; an element passes at most
    14 roundings in the transform of the inputs, 1 in that of the weights, c_in + 1 in the sum and
    16 in the transform of the outputs with bias and residual, `rest` being the sum of their
    absolute values. So the error is at most gamma(c_in + 32) times the same expression of absolute
    values of everything (Higham 2002, section 3.1). x: [n, c_in, h, w], w: [c_out, c_in, 3, 3].
    """
    a, b, g = (np.abs(m) for m in matrices(tile))
    n, c_in, h, width = x.shape
    top, left, bottom, right = pads
    out_h, out_w = h + top + bottom - 2, width + left + right - 2
    down, across = -(-out_h // tile), -(-out_w // tile)
    padded = np.zeros((n, c_in, down * tile + 2, across * tile + 2))
    image = np.abs(x)[:, :, : padded.shape[2] - top, : padded.shape[3] - left]
    padded[:, :, top : top + image.shape[2], left : left + image.shape[3]] = image
    u = np.einsum("ai,ocij,bj->aboc", g, np.abs(w), g)
    result = np.zeros((n, w.shape[0], down * tile, across * tile))
    for i in range(0, down * tile, tile):
        for j in range(0, across * tile, tile):
            d = padded[:, :, i : i + tile + 2, j : j + tile + 2]
            v = np.einsum("ai,ncij,bj->abnc", b, d, b)
            products = np.einsum("aboc,abnc->abno", u, v)
            result[:, :, i : i + tile, j : j + tile] = np.einsum("ia,abno,jb->noij", a, products, a)
    k = (c_in + 32) * UNIT
    return np.asarray(k / (1 - k) * (result[:, :, :out_h, :out_w] + rest))


def convolution(x: Array, w: Array, pads: tuple[int, ...]) -> Array:
    """The definition, in float64."""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    h, width = x.shape[2] - 2, x.shape[3] - 2
    taps = [(i, j) for i in range(3) for j in range(3)]
    return np.asarray(
        sum(
            np.einsum("nchw,oc->nohw", x[:, :, i : i + h, j : j + width], w[:, :, i, j])
            for i, j in taps
        )
    )
