"""An operator to differentiate: operands, attributes, and the forward computation in float64."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """An operator whose float operands are differentiated, except the last `fixed` ones."""

    id: str
    op: str
    operands: tuple[Array, ...]
    forward: Callable[..., Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    fixed: int = 0
    outputs: int = 1

    @property
    def trained(self) -> list[int]:
        """The operands that are differentiated."""
        free = self.operands[: len(self.operands) - self.fixed]
        return [i for i, x in enumerate(free) if x.dtype.kind == "f"]


def normal(*shape: int, seed: str = "") -> NDArray[np.float32]:
    """Normally distributed values that keep away from the kinks at 0, 3 and 6."""
    rng = np.random.default_rng(zlib.crc32(f"{shape}{seed}".encode()))
    values = rng.standard_normal(shape) * 1.5
    return (values + 0.05 * np.sign(values)).astype(np.float32)


def spread(*shape: int) -> NDArray[np.float32]:
    """Values in a random order that are all at least 0.01 apart, for maxima."""
    rng = np.random.default_rng(zlib.crc32(f"{shape}".encode()))
    count = int(np.prod(shape))
    return ((rng.permutation(count) - count / 2) * 0.01).reshape(shape).astype(np.float32)


def factors(case: Case) -> list[Array]:
    """Random factors of the elements of each result; the loss is the sum of the products."""
    results = case.forward(*(x.astype(np.float64) for x in case.operands))
    results = results if isinstance(results, list) else [results]
    rng = np.random.default_rng(3)
    return [rng.uniform(-1, 1, np.shape(y)).astype(np.float32) for y in results]
