"""Winograd convolution F(m x m, r x r) (Lavin & Gray 2016); docs/planner.md has the rule.

An output tile of m x m pixels is A^T [(G g G^T) * (B^T d B)] A for weights g and inputs d, where *
goes element by element. The matrices are Toom-Cook's at the n = m + r - 1 points below. B^T and A^T
are in kernels/generic/winograd.h, and G again, for weights that are transformed at load: a row can
be scaled only here and there together. Points of small
size with small inverses keep rounding errors small (Barabasz et al. 2020).

With strides of 2 (Yepez & Ko 2020) two outputs of three taps take 5 products, of 5 inputs: 3 of
F(2, 2) for the even ones, at the points 0, 1 and infinity, and one each of the two odd ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.algorithms import twin
from trimtab.planner.cost import Work, last_level, passes
from trimtab.planner.kernel_calls import KernelCall, gemm_call
from trimtab.planner.packing import Array, Packing, Preparation
from trimtab.planner.packing.gemm import panels
from trimtab.program import Op, Program, Var
from trimtab.program.program import element_bytes
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATOR = "conv_winograd"
# The points of larger tiles take more than the 11 bits of f16 leave.
_LARGEST = {"f32": 8, "f16": 6}
_MIN_CHANNELS = 16  # kernel_api.h kMinWinogradChannels

_HALF = Fraction(1, 2)
# The points of n = 6 are multiples of it: half of the rounding error of whole ones.
_UNIT = Fraction(5, 8)
# n -> the finite points, and what the row of each is scaled by so that B^T is as it is there.
_POINTS: dict[int, tuple[tuple[Fraction | int, Fraction | int], ...]] = {
    4: ((0, 1), (1, _HALF), (-1, _HALF)),
    5: ((0, _HALF), (1, -_HALF), (-1, Fraction(-1, 6)), (2, Fraction(1, 6))),
    6: (
        (0, 1 / (4 * _UNIT**4)),
        (_UNIT, -1 / (6 * _UNIT**4)),
        (-_UNIT, -1 / (6 * _UNIT**4)),
        (2 * _UNIT, 1 / (24 * _UNIT**4)),
        (-2 * _UNIT, 1 / (24 * _UNIT**4)),
    ),
    7: (
        (0, _HALF),
        (1, Fraction(-1, 3)),
        (-1, Fraction(1, 9)),
        (2, Fraction(1, 36)),
        (-2, Fraction(-1, 60)),
        (_HALF, Fraction(1, 45)),
    ),
    8: (
        (0, 1),
        (1, Fraction(-2, 9)),
        (-1, Fraction(-2, 9)),
        (2, Fraction(1, 90)),
        (-2, Fraction(1, 90)),
        (_HALF, Fraction(2, 90)),
        (-_HALF, Fraction(2, 90)),
    ),
}

# (m, strides) -> G of a tile for strides themselves, which needs no squares.
_STRIDED = {(2, 2): ((1, 0, 0), (1, 0, 1), (0, 0, 1), (0, 1, 0), (0, 1, 0))}

# What transforms take, in vector instructions per vector of channels: n -> those of n x n inputs;
# (m, n) -> those of m x m outputs, for every tile that there is; a tile for strides has both of its
# own, by (m, n).
_INPUT_COSTS = {4: 110, 5: 225, 6: 310, 7: 480, 8: 680}
_STRIDED_COSTS = {(2, 5): (120, 90)}
_OUTPUT_COSTS = {
    (2, 4): 90,
    (3, 5): 150,
    (4, 5): 180,
    (2, 6): 130,
    (3, 6): 190,
    (4, 6): 250,
    (5, 7): 390,
    (4, 8): 380,
    (5, 8): 460,
    (6, 8): 550,
}
# Gathering an element of a square of pixels, in operations of one lane.
_GATHER_COST = 8


@dataclass(frozen=True)
class Winograd:
    """Tiles of m x m outputs, m = `tile`: a product for each of the n^2 elements of a transformed
    tile. With strides of s, the same over squares of s x s pixels, unless it is for a `stride`.
    """

    tile: int
    stride: int = 1
    dtypes: ClassVar[tuple[str, ...]] = ("f32", "f16")
    channels_alike: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """winograd_m, winograd_m_strided."""
        return f"winograd_{self.tile}" + ("_strided" if self.stride > 1 else "")

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Square windows and strides of one group, with channels for the transforms' vectors."""
        if op.type != "conv" or op.attributes["group"] != 1 or {*op.attributes["dilations"]} != {1}:
            return None
        c_out, c_in, kernel, other = program.vars[op.inputs[1]].shape
        stride = op.attributes["strides"][0]
        if stride % self.stride or not self._is_for(stride):
            return None
        enough = min(c_out, c_in if stride == self.stride else c_out) >= _MIN_CHANNELS
        square = kernel == other and stride == op.attributes["strides"][1]
        size = self._size(kernel, stride)
        known = self._costs(size) is not None and size <= _LARGEST[program.dtype(op)]
        return twin(op, _OPERATOR, tile=self.tile) if enough and square and known else None

    def made(self, op: Op) -> bool:
        """The operator has the tile."""
        has_tile = op.type == _OPERATOR and bool(op.attributes["tile"] == self.tile)
        return has_tile and self._is_for(op.attributes["strides"][0])

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Transforms have the tile in their names; portable ones know all."""
        match attribute.name:
            case "input_kernel":
                # That of a tile for strides has both in its name.
                tile = (self.tile if self.stride > 1 else 0), self._size_of(program, op)
                return kernel.portable or (kernel.mr, kernel.nr) == tile
            case "output_kernel":
                tile = self.tile, self._size_of(program, op)
                return kernel.portable or (kernel.mr, kernel.nr) == tile
        return True

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """That of a product per element of a tile, of the transforms, and of gathering squares.
        Weights are read for each block of all threads; what of it the cache does not hold is
        written and read again.
        """
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        size, square = self._size_of(program, op), self._square_of(op)
        height, width = self._tiles(program.vars[op.outputs[0]])
        depth = square**2 * c_in
        # Neighboring tiles of a row share squares.
        gathered = size * self.tile * depth * _GATHER_COST if square > 1 else 0
        costs = self._costs(size)
        assert costs, "the operator was lowered"
        inputs, outputs = _input_channels(c_in, square) * costs[0], c_out * costs[1]
        tiles = height * width
        multiplied = size**2 * gemm_work.operations(kernel, tiles, c_out, depth)
        weights = size**2 * depth * c_out * element_bytes(kernel.dtype)
        tile, block = self._block(program, op, kernel, target)
        tile_bytes = tile * element_bytes(kernel.dtype)
        at_once = min(block * target.threads, tiles) * tile_bytes
        held = min(last_level(target) / at_once, 1)
        return Work(
            multiplied + tiles * (gathered + inputs + outputs),
            weights,
            passes(target, weights, -(-tiles // (block * target.threads)), at_once),
            spilled_bytes=round(2 * tiles * tile_bytes * (1 - held)),
        )

    def blocks(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Those of a product per element, in blocks of transformed tiles."""
        kernel = kernels.kernel(op.attributes["kernel"])
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        depth = self._square_of(op) ** 2 * c_in
        return {
            "panels": blocking.panels(target, kernel, c_out, depth),
            "call_tiles": blocking.call_tiles(target, kernel, depth),
            "block": self._block(program, op, kernel, target)[1],
            "gap": blocking.gap(target, kernel),
        }

    def _block(self, program: Program, op: Op, kernel: Kernel, target: Target) -> tuple[int, int]:
        """Elements of a transformed tile, and the tiles of a thread in a block."""
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        inputs = _input_channels(c_in, self._square_of(op))
        gaps, mr = 2 * blocking.gap(target, kernel), kernel.packing[0]
        tile = self._size_of(program, op) ** 2 * (inputs + c_out) + gaps
        return tile, blocking.block_rows(target, kernel, tile, inputs, c_out, target.threads, mr)

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Weights are transformed ahead of time, in float64, or at load, in float32; the bias is
        added after the products, as it is.
        """
        stride, nr = op.attributes["strides"][0], kernels.kernel(op.attributes["kernel"]).packing[1]
        key, at_load = (self.name, stride, nr), None
        # Of fewer weights the kernel's vectors stick out.
        if program.vars[op.inputs[1]].shape[1] * nr >= _MIN_CHANNELS:
            kernel = self._weights_kernel(program, op)
            given = {"tile": self.tile, "stride": stride, "panel": nr, "kernel": kernel}
            calls = (kernel, self._weights_layer(program, op, nr), self._square_of(op) ** 2)
            at_load = Preparation(panels(1, nr), "pack_winograd", given, layers=(calls,))
        return {1: Packing(key, lambda w: pack(w, self.tile, stride, nr), at_load)}

    def _weights_kernel(self, program: Program, op: Op) -> str:
        """The transform of weights for the instruction set of the other transforms, or for the next
        lower one of the architecture that has it.
        """
        isas, tile = kernels.isas(), (self.tile, self._size_of(program, op))
        own = isas[kernels.kernel(op.attributes["input_kernel"]).isa]
        return next(
            k.name  # highest rank first
            for k in kernels.inventory().values()
            if (k.family, k.dtype) == ("winograd_weights", program.dtype(op))
            and isas[k.isa].rank <= own.rank
            and {*isas[k.isa].arch} >= {*own.arch}
            and (k.portable or (k.mr, k.nr) == tile)
        )

    def _weights_layer(self, program: Program, op: Op, nr: int) -> KernelCall:
        """The transform of all weights of a place in squares, at once."""
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        size, columns = self._size_of(program, op), c_in * -(-c_out // nr) * nr
        r = self._taps_of(program, op)
        elements = columns * (r**2 + size**2)
        sizes = {"columns": columns, "tile": self.tile, "size": size, "taps": r}
        return KernelCall.of("WinogradWeightsArgs", program.dtype(op), 0, elements, **sizes)

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """Products of all tiles, and their transforms."""
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        size, square = self._size_of(program, op), self._square_of(op)
        height, width = self._tiles(program.vars[op.outputs[0]])
        dtype = program.dtype(op)
        yield "kernel", gemm_call(dtype, height * width, c_out, square**2 * c_in), size**2

        def transform(args_type: str, channels: int) -> KernelCall:
            elements = height * width * channels * (size**2 + self.tile**2)
            sizes = {"height": height, "width": width, "channels": channels}
            return KernelCall.of(args_type, dtype, 0, elements, **sizes, tile=self.tile, size=size)

        yield "input_kernel", transform("WinogradInputArgs", _input_channels(c_in, square)), 1
        yield "output_kernel", transform("WinogradOutputArgs", c_out), 1

    def _is_for(self, stride: int) -> bool:
        """A tile for strides takes the place of one of its size over squares."""
        return (self.stride > 1) == ((self.tile, stride) in _STRIDED)

    def _costs(self, size: int) -> tuple[int, int] | None:
        """Of the transforms of inputs and outputs; None where there is no such tile."""
        if self.stride > 1:
            return _STRIDED_COSTS.get((self.tile, size))
        outputs = _OUTPUT_COSTS.get((self.tile, size))
        return (_INPUT_COSTS[size], outputs) if outputs else None

    def _size(self, kernel: int, stride: int) -> int:
        return self.stride * (self.tile - 1) + taps(kernel, stride // self.stride)

    def _square_of(self, op: Op) -> int:
        """Pixels of a square, down or across."""
        return int(op.attributes["strides"][0]) // self.stride

    def _taps_of(self, program: Program, op: Op) -> int:
        return taps(program.vars[op.inputs[1]].shape[2], self._square_of(op))

    def _size_of(self, program: Program, op: Op) -> int:
        """n: inputs of a tile of the lowered `op`, down or across."""
        return self._size(program.vars[op.inputs[1]].shape[2], op.attributes["strides"][0])

    def _tiles(self, y: Var) -> tuple[int, int]:
        """Tiles that cover the images of y: down, all images together, and across."""
        n, _, h, w = y.shape
        return n * -(-h // self.tile), -(-w // self.tile)


def taps(kernel: int, square: int) -> int:
    """r: the squares of square x square pixels that a kernel covers along an axis."""
    return -(-kernel // square)


def _input_channels(c_in: int, square: int) -> int:
    """Channels that are transformed. Those of squares are gathered, and fill up vectors."""
    channels = square**2 * c_in
    return -(-channels // _MIN_CHANNELS) * _MIN_CHANNELS if square > 1 else channels


def weight_transform(size: int, taps: int) -> NDArray[np.float64]:
    """G: float64[size, taps]; a row is (1, p, p^2, ...) at a point p, scaled, the last one at
    infinity.
    """
    rows = [[scale * Fraction(p) ** i for i in range(taps)] for p, scale in _POINTS[size]]
    return np.array([*rows, [0] * (taps - 1) + [1]], np.float64)


def transform_of(tile: int, kernel: int, stride: int) -> NDArray[np.float64]:
    """G of a tile for kernels of that size, or for the squares that they cover: float64[n, r]."""
    if rows := _STRIDED.get((tile, stride)):
        return np.array(rows, np.float64)
    r = taps(kernel, stride)
    return weight_transform(tile + r - 1, r)


def space_to_depth(w: Array, stride: int) -> Array:
    """w: [c_out, c_in, k, k] of a convolution with strides -> [c_out, stride^2 * c_in, r, r]
    of the same one over squares of pixels; a square's channels are [row][column][c_in].
    """
    c_out, c_in, k, _ = w.shape
    r = taps(k, stride)
    padded = np.zeros((c_out, c_in, r * stride, r * stride), w.dtype)
    padded[:, :, :k, :k] = w
    squares = padded.reshape(c_out, c_in, r, stride, r, stride).transpose(0, 3, 5, 1, 2, 4)
    return squares.reshape(c_out, -1, r, r)


def pack(w: Array, tile: int, stride: int, nr: int) -> Array:
    """w: [c_out, c_in, k, k] -> [n^2][panel][channels of a square][nr]."""
    g = transform_of(tile, w.shape[2], stride)
    if (tile, stride) not in _STRIDED:
        w = space_to_depth(w, stride)
    size = len(g)
    c_out, c_in, *_ = w.shape
    packed = np.zeros((size**2, -(-c_out // nr), c_in, nr), w.dtype)
    # A panel at a time: in float64 all of them take twice the memory of the result. Not `optimize`,
    # which hands sums of three to a BLAS, whose threads wait for each other on a busy machine.
    for panel in range(packed.shape[1]):
        some = w[panel * nr : (panel + 1) * nr].astype(np.float64)
        transformed = np.einsum("bj,ajco->abco", g, np.einsum("ai,ocij->ajco", g, some))
        packed[:, panel, :, : len(some)] = transformed.reshape(size**2, c_in, -1)
    return packed.reshape(-1)


ALGORITHMS = (
    *(Winograd(tile) for tile in sorted({tile for tile, _ in _OUTPUT_COSTS})),
    *(Winograd(tile, stride) for tile, stride in _STRIDED),
)
