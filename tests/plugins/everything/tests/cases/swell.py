"""swell and the plug-in's neg against numpy, on odd sizes and tails of vectors."""

import numpy as np

from trimtab import OperatorCase

_RNG = np.random.default_rng(5)
_SHAPES = [(1,), (3, 5), (1, 17, 3, 7), (2, 3, 1, 33)]


def _x(shape: tuple[int, ...]) -> np.ndarray:
    return _RNG.normal(0, 2, shape).astype(np.float32)


def swollen(x: np.ndarray, gain: float) -> np.ndarray:
    """In double precision."""
    wide = x.astype(np.float64)
    return np.asarray(wide * (1 + gain * np.abs(wide)), np.float32)


CASES = [OperatorCase("swell", [_x(shape)], swollen, {"gain": 0.25}) for shape in _SHAPES]
CASES += [OperatorCase("neg", [_x(shape)], lambda x: np.maximum(-x, -1)) for shape in _SHAPES]
