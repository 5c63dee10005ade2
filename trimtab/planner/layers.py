"""What operators call kernels for: the layers that instruments time kernels on.

A layer is described in the sizes that bindings/kernel_timer.cpp makes the calls from, per type of
arguments:

    GemmArgs             rows, columns, taps, k (elements of a tap), step (elements between
                            pixels), line (pixels between taps)
    DepthwiseArgs,       height, width (of the output), channels, kernel_h, kernel_w, stride
    PoolArgs
    Winograd...Args      height, width (in tiles), channels, tile, size (of its inputs)
    Strassen...Args      n, rows (of a quadrant)
    UnaryArgs            n
    BinaryArgs           n, runs (all with the same second operand)
    SoftmaxArgs          n, rows

`tile` and `size` are those in the names of the kernels that a layer is for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.program.program import NUMPY_DTYPES


@dataclass(frozen=True)
class Layer:
    """The calls that one operator makes of a kernel for `dtype`. `operations`: those of sums of
    products, 0 for kernels that rather move data; `bytes`: what is read and written at least once.
    """

    args_type: str
    dtype: str
    sizes: tuple[tuple[str, int], ...]
    operations: int
    bytes: int

    @staticmethod
    def of(args_type: str, dtype: str, operations: int, elements: int, **sizes: int) -> Layer:
        """A layer that reads and writes so many elements."""
        bytes = np.dtype(NUMPY_DTYPES[dtype]).itemsize * elements
        return Layer(args_type, dtype, tuple(sizes.items()), operations, bytes)

    @property
    def work(self) -> int:
        """What layers of one kernel are compared by."""
        return self.operations or self.bytes

    @property
    def label(self) -> str:
        """The sizes as people read them."""
        return " ".join(f"{name}={size}" for name, size in self.sizes if size > 1)


def product(
    dtype: str, rows: int, columns: int, k: int, taps: int = 1, step: int = 0, line: int = 0
) -> Layer:
    """A layer of a matrix kernel; `k`: elements of a tap; `step`: elements between pixels; `line`:
    pixels between taps. One tap of rows without gaps by default.
    """
    step = step or k
    return Layer.of(
        "GemmArgs",
        dtype,
        2 * rows * columns * taps * k,
        (rows + (taps - 1) * line) * step + columns * taps * k + rows * columns,
        rows=rows,
        columns=columns,
        taps=taps,
        k=k,
        step=step,
        line=line if taps > 1 else 0,
    )


def windows(
    args_type: str,
    dtype: str,
    operations: int,
    inputs: int,
    output: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: int,
) -> Layer:
    """A layer of a kernel that slides a window, `kernel`, over each channel of so many `inputs`.
    `output`: n, c, h, w.
    """
    n, channels, height, width = output
    return Layer.of(
        args_type,
        dtype,
        operations,
        inputs + n * channels * height * width,
        height=n * height,
        width=width,
        channels=channels,
        kernel_h=kernel[0],
        kernel_w=kernel[1],
        stride=stride,
    )
