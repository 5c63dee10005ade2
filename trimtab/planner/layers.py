"""What operators call kernels for: the layers that instruments time kernels on.

A layer is described in the sizes that bindings/kernel_timer.cpp makes the calls from, per type of
arguments:

    GemmF32Args             rows, columns, taps, k (elements of a tap), step (elements between
                            pixels), line (pixels between taps)
    DepthwiseF32Args,       height, width (of the output), channels, kernel_h, kernel_w, stride
    PoolF32Args
    Winograd...F32Args      height, width (in tiles), channels, tile, size (of its inputs)
    Strassen...F32Args      n, rows (of a quadrant)
    UnaryF32Args            n
    BinaryF32Args           n, runs (all with the same second operand)
    SoftmaxF32Args          n, rows

`tile` and `size` are those in the names of the kernels that a layer is for.
"""

from __future__ import annotations

from dataclasses import dataclass

_FLOAT = 4  # bytes


@dataclass(frozen=True)
class Layer:
    """The calls that one operator makes of a kernel. `operations`: floating-point operations of
    sums of products, 0 for kernels that rather move data; `bytes`: what is read and written at
    least once.
    """

    args_type: str
    sizes: tuple[tuple[str, int], ...]
    operations: int
    bytes: int

    @staticmethod
    def of(args_type: str, operations: int, floats: int, **sizes: int) -> Layer:
        """A layer that reads and writes so many floats."""
        return Layer(args_type, tuple(sizes.items()), operations, _FLOAT * floats)

    @property
    def work(self) -> int:
        """What layers of one kernel are compared by."""
        return self.operations or self.bytes

    @property
    def label(self) -> str:
        """The sizes as people read them."""
        return " ".join(f"{name}={size}" for name, size in self.sizes if size > 1)


def product(rows: int, columns: int, k: int, taps: int = 1, step: int = 0, line: int = 0) -> Layer:
    """A layer of a matrix kernel; `k`: elements of a tap; `step`: elements between pixels; `line`:
    pixels between taps. One tap of rows without gaps by default.
    """
    step = step or k
    return Layer.of(
        "GemmF32Args",
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
        operations,
        inputs + n * channels * height * width,
        height=n * height,
        width=width,
        channels=channels,
        kernel_h=kernel[0],
        kernel_w=kernel[1],
        stride=stride,
    )
