"""The quantization of a tensor: scales and zero points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import ProgramError

# Quantized dtypes, and the range of zero points of each.
STORED = {"i8": (-128, 127), "u8": (0, 255), "i32": (-(2**31), 2**31 - 1)}


@dataclass(frozen=True)
class Quantization:
    """value = scale * (q - zero_point), as in ONNX's DequantizeLinear and in TFLite.

    `scale` (float32 values) and `zero_point` have one element per tensor if `axis` is None, and
    otherwise one per index of the logical axis.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None

    @staticmethod
    def of(scale: ArrayLike, zero_point: ArrayLike = 0, axis: int | None = None) -> Quantization:
        """Creates it from numbers or arrays; a single zero point applies to all scales."""
        with np.errstate(over="ignore"):  # `check` rejects scales beyond float32
            scales = np.asarray(scale, np.float32).reshape(-1)
        points = np.asarray(zero_point, np.int64).reshape(-1)
        if points.size == 1:
            points = np.repeat(points, scales.size)
        return Quantization(tuple(scales.tolist()), tuple(points.tolist()), axis)

    @property
    def dead(self) -> tuple[bool, ...]:
        """Whether each scale is 0, as for a channel that is always 0. Programs have no such scales,
        files may have.
        """
        return tuple(scale == 0 for scale in self.scale)

    def with_live_scales(self) -> Quantization:
        """The quantization with the smallest other scale in place of each 0, 2^-16 without any."""
        if all(self.scale):
            return self
        least = min((scale for scale in self.scale if scale > 0), default=2.0**-16)
        return replace(self, scale=tuple(scale or least for scale in self.scale))

    def dequantize(self, stored: NDArray[Any]) -> NDArray[np.float32]:
        """Converts stored values to float32, as the operator `dequantize_linear` does."""
        shape = [1] * stored.ndim
        if self.axis is not None:
            shape[self.axis] = -1
        scale = np.array(self.scale, np.float32).reshape(shape)
        point = np.array(self.zero_point, np.int64).reshape(shape)
        result: NDArray[np.float32] = (stored.astype(np.int64) - point).astype(np.float32) * scale
        return result

    def check(self, name: str, shape: tuple[int, ...], dtype: str) -> None:
        """ProgramError if this is not valid for the tensor `name` with that shape and dtype."""
        fault = self._fault(shape, dtype)
        if fault:
            raise ProgramError(
                f"bad quantization: {fault}",
                where=f"variable {name} ({dtype} {list(shape)})",
                hint="scales are positive float32; zero points lie in the range of the stored type",
            )

    def _fault(self, shape: tuple[int, ...], dtype: str) -> str:
        if dtype not in STORED:
            return f"elements of type {dtype} cannot be quantized; use {', '.join(STORED)}"
        if self.axis is not None and not 0 <= self.axis < len(shape):
            return f"there is no axis {self.axis}"
        count = 1 if self.axis is None else shape[self.axis]
        if (len(self.scale), len(self.zero_point)) != (count, count):
            counts = f"{len(self.scale)} scales and {len(self.zero_point)} zero points"
            return f"{counts}, where there must be {count} of each"
        minimum, maximum = STORED[dtype]
        for i, (scale, point) in enumerate(zip(self.scale, self.zero_point, strict=True)):
            if not (math.isfinite(scale) and scale > 0):
                return f"scale {i} is {scale}"
            if not minimum <= point <= maximum:
                return f"zero point {i} is {point}, which {dtype} cannot hold"
        return ""

    def __str__(self) -> str:
        if self.axis is None:
            return f"scale {self.scale[0]:.6g}, zero point {self.zero_point[0]}"
        if not self.scale:
            return f"axis {self.axis} is empty"
        scales = f"scales {min(self.scale):.6g} to {max(self.scale):.6g}"
        points = f"zero points {min(self.zero_point)} to {max(self.zero_point)}"
        return f"{len(self.scale)} along axis {self.axis}: {scales}, {points}"
