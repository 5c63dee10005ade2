"""Kernel calls: the sizes with which operators call kernels, for kernel timing.

A call is described by the sizes from which bindings/kernel_passes/ makes the arguments, by argument
type:

    GemmArgs                rows, columns, taps, k (elements of a tap), step (elements between
                            pixels), line (pixels between taps)
    PoolArgs                height, width (of the output), channels, kernel_h, kernel_w, stride
    DepthwiseArgs           the same, and rows (in a call)
    Winograd...Args         height, width (in tiles), channels, tile, size (of its inputs)
    WinogradWeightsArgs     columns, tile, size
    Strassen...Args         n, rows (of a quadrant)
    UnaryArgs, PlaneRowsArgs
                            n
    BinaryArgs              n, runs (all with the same second operand)
    SoftmaxArgs, SoftmaxColumnsArgs, NormalizeArgs
                            n, rows

`tile` and `size` are those in the names of the kernels that a call is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab.program.block import element_bytes


@dataclass(frozen=True)
class KernelCall:
    """The calls of one operator to a kernel for `dtype`. `operations`: multiplications and
    additions, 0 for kernels that mainly move data; `bytes`: the minimum that is read and written.
    """

    args_type: str
    dtype: str
    sizes: tuple[tuple[str, int], ...]
    operations: int
    bytes: int

    @staticmethod
    def of(args_type: str, dtype: str, operations: int, elements: int, **sizes: int) -> KernelCall:
        """A call that reads and writes `elements` elements."""
        bytes = element_bytes(dtype) * elements
        return KernelCall(args_type, dtype, tuple(sizes.items()), operations, bytes)

    def with_dtype(self, dtype: str) -> KernelCall:
        """The same call with another element type."""
        bytes = self.bytes * element_bytes(dtype) // element_bytes(self.dtype)
        return replace(self, dtype=dtype, bytes=bytes)

    @property
    def work(self) -> int:
        """The number by which calls of one kernel are compared."""
        return self.operations or self.bytes

    @property
    def label(self) -> str:
        """The sizes as readable text."""
        return " ".join(f"{name}={size}" for name, size in self.sizes if size > 1)


def gemm_call(
    dtype: str, rows: int, columns: int, k: int, taps: int = 1, step: int = 0, line: int = 0
) -> KernelCall:
    """A call of a GEMM kernel. `k`: elements of a tap; `step`: elements between pixels; `line`:
    pixels between taps. The default is one tap of contiguous rows.
    """
    step = step or k
    return KernelCall.of(
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


def window_sizes(output: tuple[int, ...], window: Sequence[int], stride: int) -> dict[str, int]:
    """The sizes of a call that slides a window over channels; `output`: n, c, h, w."""
    n, channels, height, width = output
    return {
        "height": n * height,
        "width": width,
        "channels": channels,
        "kernel_h": window[0],
        "kernel_w": window[1],
        "stride": stride,
    }
