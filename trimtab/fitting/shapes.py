"""The layers that a core is fitted to: a seeded list of the shapes that networks have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.target import Target

SEED = 20261126

_HEIGHTS = (7, 10, 13, 14, 16, 20, 26, 28, 32, 40, 52, 56, 80, 112)
_CHANNELS = (16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024)
_MAX_PIXELS = 112 * 112
# Multiply-adds of a layer: half a millisecond of one core, and at least what fits a small one.
_LAYER_S, _MIN_MACS = 0.5e-3, 4e6
_MIN_WORK = 1 / 200  # of the most: a smaller layer takes as long as its call
_MAX_ELEMENTS = 512 * 1024  # of weights, or of an input or output


@dataclass(frozen=True)
class DrawnLayer:
    """A convolution with a square window on square images. `group`: 1, or the number of channels of
    a depthwise one.
    """

    dtype: str
    height: int
    c_in: int
    c_out: int
    kernel: int = 1
    stride: int = 1
    group: int = 1

    @property
    def out_height(self) -> int:
        """Height and width of the output; the window is padded by half its size."""
        return (self.height + 2 * (self.kernel // 2) - self.kernel) // self.stride + 1

    @property
    def macs(self) -> int:
        """Multiply-adds without padding."""
        return self.out_height**2 * self.weights

    @property
    def weights(self) -> int:
        """Elements of the weights."""
        return self.c_out * self.c_in // self.group * self.kernel**2

    @property
    def elements(self) -> int:
        """Elements of the largest tensor."""
        images = self.height**2 * self.c_in, self.out_height**2 * self.c_out
        return max(self.weights, *images)

    def __str__(self) -> str:
        window = f"{self.kernel}x{self.kernel}" + (f"/{self.stride}" if self.stride > 1 else "")
        kind = "depthwise " if self.group > 1 else ""
        channels = f"{self.c_in}" if self.group > 1 else f"{self.c_in} to {self.c_out}"
        return f"{self.dtype} {kind}{window}, {channels} channels, {self.height}x{self.height}"


# (window, stride, depthwise, number of layers): of f32; the other dtypes have half of them.
_KINDS = (
    *((3, 1, False, 22), (1, 1, False, 22), (3, 2, False, 8), (5, 1, False, 6), (7, 2, False, 4)),
    *((3, 1, True, 8), (3, 2, True, 5), (5, 1, True, 5)),
)
_KINDS_OF_LOWER = ((3, 1, False, 10), (1, 1, False, 10), (3, 1, True, 5))


def dtypes(target: Target) -> tuple[str, ...]:
    """The dtypes that have GEMM kernels of an instruction set of the target."""
    able = (("gemm", dtype) for dtype in ("f32", "f16", "i8"))
    return tuple(
        dtype for _, dtype in able if any(not k.portable for k in target.families["gemm", dtype])
    )


def draw(
    target: Target, share: float = 1.0, seed: int = SEED
) -> tuple[list[DrawnLayer], list[DrawnLayer]]:
    """The layers to fit a core to, and a third as many others to judge the fit by.

    Layers take at most half a millisecond of one core by its pipes. `share` of the full number.
    """
    core = target.bandwidth_core.memory
    rate = target.core.pipes.f32_fmas_per_cycle * (core.clock_ghz if core else 1.0) * 1e9
    most = max(rate * _LAYER_S, _MIN_MACS)
    rng = np.random.default_rng(seed)
    fitting: dict[DrawnLayer, None] = {}
    judging: dict[DrawnLayer, None] = {}
    for dtype in dtypes(target):
        for kernel, stride, depthwise, count in _KINDS if dtype == "f32" else _KINDS_OF_LOWER:
            number = max(round(count * share), 3)
            drawn = _distinct(rng, DrawnLayer(dtype, 0, 0, 0, kernel, stride), depthwise, most)
            layers = [next(drawn) for _ in range(number + max(number // 3, 1))]
            fitting |= dict.fromkeys(layers[:number])
            judging |= dict.fromkeys(layers[number:])
    return [*fitting], [*judging]


def _distinct(
    rng: np.random.Generator, kind: DrawnLayer, depthwise: bool, most: float
) -> Iterator[DrawnLayer]:
    """Endless layers of a kind, each once."""
    previous = set()
    while True:
        height, c_in, c_out = (int(rng.choice(of)) for of in (_HEIGHTS, _CHANNELS, _CHANNELS))
        if kind.kernel == 7:
            height, c_in, c_out = 2 * height, 3, min(c_out, 64)
        layer = replace(kind, height=height, c_in=c_in, c_out=c_out)
        if depthwise:
            layer = replace(layer, c_out=c_in, group=c_in)
        least = most * _MIN_WORK / (10 if depthwise else 1)
        fits = layer.elements <= _MAX_ELEMENTS and least <= layer.macs <= most
        if fits and layer not in previous:
            previous.add(layer)
            yield layer


def copies(target: Target) -> Sequence[int]:
    """Elements of the tensors that a copy reads and writes: from the first level to memory."""
    last = (target.core.l3 or target.core.l2).bytes
    most = min(2 * last, 64 << 20) // 4
    return [n for n in (1 << bits for bits in range(11, 27)) if n <= most]
