"""band_bias against numpy: bands of one channel and of all, every rank, odd sizes."""

import numpy as np

from trimtab import OperatorCase

_RNG = np.random.default_rng(11)


def expected(x, widths, offsets):
    """numpy's repeat spreads the offsets over the channels."""
    bias = np.repeat(np.float32(offsets), widths)
    return x + bias.reshape(1, -1, *[1] * (x.ndim - 2))


def _case(shape, widths):
    x = _RNG.normal(size=shape).astype(np.float32)
    offsets = [float(v) for v in _RNG.normal(size=len(widths)).astype(np.float32)]
    return OperatorCase("band_bias", [x], expected, {"widths": widths, "offsets": offsets})


CASES = [
    _case((1, 6, 5, 7), [2, 1, 3]),
    _case((3, 4, 1, 9), [4]),
    _case((2, 5), [1, 1, 1, 1, 1]),
    _case((2, 17, 3), [16, 1]),
    _case((1, 1, 1, 1), [1]),
]
