"""Normalization by the mean and the variance of some dimensions of the input itself."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.gradients._builder import OpBuilder


def normalized(
    builder: OpBuilder, x: str, axes: Sequence[int], epsilon: float
) -> tuple[str, str, str]:
    """The normalized input, its mean and its variance; both keep the dimensions `axes` as 1."""
    mean = builder.add("reduce_mean", x, axes=axes)
    centered = builder.add("sub", x, mean)
    variance = builder.add("reduce_mean", builder.add("mul", centered, centered), axes=axes)
    deviation = builder.add("sqrt", builder.plus(variance, epsilon))
    return builder.add("div", centered, deviation), mean, variance
