"""Least squares with coefficients that are not negative: the fit of times to parts of work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from trimtab.cores import KernelFit
from trimtab.planner.fitted import Parts

Matrix = NDArray[np.float64]

_ROUNDS = 4  # of reweighting
_OUTLIER = 6.0
_TOLERANCE = 1e-9

NAMES = tuple(part.name for part in fields(Parts))


@dataclass(frozen=True)
class Sample:
    """Cycles of one operator, and the parts of its work."""

    parts: Parts
    cycles: float


def non_negative(a: Matrix, b: Matrix) -> Matrix:
    """The x >= 0 that minimizes |a x - b| (Lawson & Hanson 1974, chapter 23); a: [rows, columns],
    b: [rows].
    """
    scale = np.linalg.norm(a, axis=0)
    scale[scale == 0] = 1.0
    scaled = a / scale
    count = a.shape[1]
    x, passive = np.zeros(count), np.zeros(count, bool)
    for _ in range(3 * count):
        gradient = scaled.T @ (b - scaled @ x)
        free = ~passive & (gradient > _TOLERANCE * max(1.0, float(np.abs(b).max())))
        if not free.any():
            break
        passive[np.argmax(np.where(free, gradient, -np.inf))] = True
        x = _step_inside(scaled, b, x, passive)
    result: Matrix = x / scale
    return result


def _step_inside(a: Matrix, b: Matrix, x: Matrix, passive: NDArray[np.bool_]) -> Matrix:
    """The solution with these columns, after the columns that would be negative are left out."""
    while True:
        solution = np.zeros_like(x)
        solution[passive] = np.linalg.lstsq(a[:, passive], b, rcond=None)[0]
        negative = passive & (solution <= 0)
        if not negative.any():
            return solution
        ratios = x[negative] / np.maximum(x[negative] - solution[negative], 1e-300)
        x = x + float(ratios.min(initial=1.0)) * (solution - x)
        passive &= x > _TOLERANCE * float(np.abs(x).max(initial=1.0))
        x = np.where(passive, x, 0.0)
        if not passive.any():
            return x


def fit(samples: Sequence[Sample]) -> tuple[dict[str, float], float]:
    """Coefficients by the names of the parts, and the root mean square of the relative errors.

    The squares of relative errors are minimized; a sample that other work of the machine has
    disturbed weighs less (iteratively reweighted, Huber 1964).
    """
    a = np.array([[getattr(s.parts, name) for name in NAMES] for s in samples], np.float64)
    times = np.array([s.cycles for s in samples], np.float64)
    a, ones, weights = a / times[:, None], np.ones(len(samples)), np.ones(len(samples))
    x = np.zeros(len(NAMES))
    for _ in range(_ROUNDS):
        x = non_negative(a * weights[:, None], ones * weights)
        errors = np.abs(a @ x - 1)
        bound = _OUTLIER * max(float(np.median(errors)), 1e-6)
        weights = np.sqrt(np.minimum(1, bound / np.maximum(errors, 1e-12)))
    error = float(np.sqrt(np.mean((a @ x - 1) ** 2)))
    return dict(zip(NAMES, map(float, x), strict=True)), error


def rows(
    groups: Mapping[tuple[str, str, int], Iterable[Sample]],
) -> tuple[KernelFit, ...]:
    """A row for each (kernel, algorithm, threads) with enough samples for its coefficients."""
    fits = []
    for (kernel, algorithm, threads), samples in sorted(groups.items()):
        used = [*samples]
        if len(used) < MIN_SAMPLES:
            continue
        coefficients, error = fit(used)
        names = {name: float(f"{value:.5g}") for name, value in coefficients.items() if value}
        count = len(used)
        fits.append(KernelFit(kernel, algorithm, threads, count, float(f"{error:.3g}"), **names))
    return tuple(fits)


MIN_SAMPLES = 8
"""Fewer samples do not determine the coefficients of a row."""
