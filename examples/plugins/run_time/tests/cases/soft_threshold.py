"""The operator against numpy: Donoho and Johnstone 1994, equation (3)."""

import numpy as np

from trimtab import OperatorCase

_RNG = np.random.default_rng(7)


def soft_threshold(x, scale=None, *, threshold):
    """Moves every value towards 0 by the threshold of its channel."""
    least = np.float32(threshold)
    if scale is not None:
        least = least * scale.reshape(-1, *[1] * (x.ndim - 2))
    return np.sign(x) * np.maximum(np.abs(x) - least, 0)


def case(shape, threshold, has_scale):
    x = _RNG.normal(size=shape).astype(np.float32)
    scale = (_RNG.uniform(0, 2, shape[1]).astype(np.float32),) if has_scale else ()
    return OperatorCase(
        "soft_threshold", [x], soft_threshold, {"threshold": threshold}, constants=scale
    )


CASES = [
    case((1, 3, 5, 7), 0.5, False),
    case((2, 3, 5, 7), 0.5, True),
    case((1, 1, 1, 1), 0.0, False),
    case((3, 4, 9), 1.5, True),
    case((2, 5), 100.0, False),
]
