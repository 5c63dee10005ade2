"""band_bias against numpy: bands of one channel and of all, every rank, odd sizes."""

import numpy as np

from trimtab import OperatorCase

_RNG = np.random.default_rng(11)


def expected(x, biases):
    """Repeats the offsets over the channels with numpy."""
    offsets = [np.float32(bias["offset"]) for bias in biases for _ in bias["widths"]]
    bias = np.repeat(offsets, [width for bias in biases for width in bias["widths"]])
    return x + bias.reshape(1, -1, *[1] * (x.ndim - 2))


def _case(shape, widths):
    x = _RNG.normal(size=shape).astype(np.float32)
    biases = [{"offset": float(np.float32(_RNG.normal())), "widths": own} for own in widths]
    return OperatorCase("band_bias", [x], expected, {"biases": biases})


CASES = [
    _case((1, 6, 5, 7), [[2, 1], [3]]),
    _case((3, 4, 1, 9), [[4]]),
    _case((2, 5), [[1, 1], [1], [], [1, 1]]),
    _case((2, 17, 3), [[16], [1]]),
    _case((1, 1, 1, 1), [[1]]),
]
