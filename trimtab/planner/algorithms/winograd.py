"""Winograd convolution F(m x m, r x r) (Lavin & Gray 2016); docs/planner.md has the rule.

An output tile of m x m pixels is A^T [(G g G^T) * (B^T d B)] A for weights g and inputs d, where *
is element-wise. The matrices are those of Toom-Cook at the n = m + r - 1 points below. B^T and A^T
are in kernels/generic/winograd.h, as well as G for weights that are transformed at load time: a row
must be scaled alike in both places. Points of small magnitude with small inverses keep rounding
errors small (Barabasz et al. 2020).

With strides of 2 (Yepez & Ko 2020), two outputs of three taps take 5 multiplications of 5 inputs: 3
of F(2, 2) for the even inputs, at the points 0, 1 and infinity, and one for each of the two odd
inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.algorithms import derived_op
from trimtab.planner.cost import Work, last_level, passes
from trimtab.planner.kernel_calls import KernelCall, gemm_call
from trimtab.planner.packing import Array, Packing, Preparation
from trimtab.planner.packing.gemm import panels
from trimtab.program import Op, Program
from trimtab.program.block import element_bytes
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATOR = "conv_winograd"
# Larger tiles lose more precision than the 11 bits of f16 have.
_MAX_SIZE = {"f32": 8, "f16": 6}
_MIN_CHANNELS = 16  # kernel_api.h kMinWinogradChannels

_HALF = Fraction(1, 2)
# The points of n = 6 are multiples of it: half the rounding error of integer points.
_UNIT = Fraction(5, 8)
# n -> the finite points, each with the scale of its row, which must match B^T.
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

# (m, stride) -> G of a tile for strided convolutions, which need no space-to-depth.
_STRIDED = {(2, 2): ((1, 0, 0), (1, 0, 1), (0, 0, 1), (0, 1, 0), (0, 1, 0))}

# Cost of the transforms, in vector instructions per vector of channels: n -> transform of n x n
# inputs; (m, n) -> transform to m x m outputs, for every tile; strided tiles have their own costs
# of both, by (m, n).
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
# Rounding errors of the tiles (m, n) beside those of the direct algorithm; strided tiles have their
# own. Those of inputs without negative values, as after a ReLU, which are larger.
_ERRORS = {
    (2, 4): 0.8,
    (3, 5): 2.6,
    (4, 5): 2.6,
    (2, 6): 1.7,
    (3, 6): 2.6,
    (4, 6): 2.6,
    (5, 7): 7.0,
    (4, 8): 5.0,
    (5, 8): 9.0,
    (6, 8): 9.0,
}
_STRIDED_ERRORS = {(2, 5): 0.65}
# Space-to-depth of one element, in operations of one lane.
_SPACE_TO_DEPTH_COST = 8


@cache
def _weights_kernels(dtype: str) -> tuple[Kernel, ...]:
    """The weight transforms of all tiles, highest rank first."""
    key = "winograd_weights", dtype
    return tuple(k for k in kernels.inventory().values() if (k.family, k.dtype) == key)


@dataclass(frozen=True)
class Winograd:
    """Tiles of m x m outputs, m = `tile`: one GEMM for each of the n^2 elements of a transformed
    tile. A convolution with strides of s is first rewritten by space-to-depth of s x s pixels,
    unless the tile is for that `stride`.
    """

    tile: int
    stride: int = 1
    dtypes: ClassVar[tuple[str, ...]] = ("f32", "f16")
    channel_invariant: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Returns winograd_m or winograd_m_strided."""
        return f"winograd_{self.tile}" + ("_strided" if self.stride > 1 else "")

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Applicable to square windows, strides and dilations, one group, and enough channels for a
        vector.
        """
        if op.type != "conv" or op.attributes["group"] != 1:
            return None
        c_out, c_in, kernel, other = program.vars[op.inputs[1]].shape
        stride, dilation = op.attributes["strides"][0], op.attributes["dilations"][0]
        if {*op.attributes["dilations"]} != {dilation} or (dilation > 1 and stride > 1):
            return None
        if stride % self.stride or not self._is_for(stride):
            return None
        enough = min(c_out, c_in if stride == self.stride else c_out) >= _MIN_CHANNELS
        square = kernel == other and stride == op.attributes["strides"][1]
        size = self._size(kernel, stride)
        has_tile = self._costs(size) is not None and size <= _MAX_SIZE[program.dtype(op)]
        if not (enough and square and has_tile):
            return None
        return derived_op(op, _OPERATOR, tile=self.tile, dilation=dilation)

    def computes(self, op: Op) -> bool:
        """The tile of the operator identifies the algorithm."""
        if op.type != _OPERATOR or op.attributes["tile"] != self.tile:
            return False
        return self._is_for(op.attributes["strides"][0])

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Transform kernels have their tile in the name; portable ones support every tile."""
        if kernel.portable or attribute.name not in ("input_kernel", "output_kernel"):
            return True
        # The name of a strided input transform has both sizes.
        is_one_size = attribute.name == "input_kernel" and self.stride == 1
        tile = 0 if is_one_size else self.tile
        return kernel.mr == tile and kernel.nr == self._size_of(program, op)

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """One GEMM per element of a tile, the transforms, and space-to-depth. Weights are read once
        per block of all threads; the part of a block that exceeds the cache is written and read
        again.
        """
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        size, block_size = self._size_of(program, op), self._block_of(op)
        height, width = self._tiles(program, op)
        depth = block_size**2 * c_in
        # Neighboring tiles of a row share inputs.
        rearranged = size * self.tile * depth * _SPACE_TO_DEPTH_COST if block_size > 1 else 0
        costs = self._costs(size)
        assert costs, "the operator was lowered"
        inputs, outputs = _input_channels(c_in, block_size) * costs[0], c_out * costs[1]
        tiles = height * width
        gemms = size**2 * gemm_work.operations(kernel, tiles, c_out, depth)
        weights = size**2 * depth * c_out * element_bytes(kernel.dtype)
        tile, block = self._block(program, op, kernel, target)
        tile_bytes = tile * element_bytes(kernel.dtype)
        at_once = min(block * target.threads, tiles) * tile_bytes
        cached = min(last_level(target) / at_once, 1)
        transforms = tiles * (rearranged + inputs + outputs)
        return Work(
            gemms + transforms,
            weights,
            passes(target, weights, -(-tiles // (block * target.threads)), at_once),
            spilled_bytes=round(2 * tiles * tile_bytes * (1 - cached)),
            buffered_bytes=tiles * tile_bytes,
            packed_bytes=size**2 * gemm_work.packed_bytes(kernel, c_out, depth),
            padded=size**2 * gemm_work.padded(kernel, tiles, c_out, depth),
            macs=size**2 * tiles * c_out * depth,
            transforms=transforms,
            tiles=size**2 * gemm_work.tiles(kernel, tiles, c_out),
        )

    def error(self, program: Program, op: Op) -> float:
        """The error of the tile, as tests/planner/test_rounding.py measures it."""
        errors = _STRIDED_ERRORS if self.stride > 1 else _ERRORS
        return errors[self.tile, self._size_of(program, op)]

    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """The block sizes of the GEMMs, in blocks of transformed tiles."""
        kernel = kernels.kernel(op.attributes["kernel"])
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        depth = self._block_of(op) ** 2 * c_in
        return {
            "panels": blocking.panels(target, kernel, c_out, depth),
            "call_tiles": blocking.call_tiles(target, kernel, depth),
            "block": self._block(program, op, kernel, target)[1],
            "gap": blocking.row_padding(target, kernel),
        }

    def _block(self, program: Program, op: Op, kernel: Kernel, target: Target) -> tuple[int, int]:
        """Elements of a transformed tile, and the number of tiles of a block per thread."""
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        inputs = _input_channels(c_in, self._block_of(op))
        padding, mr = 2 * blocking.row_padding(target, kernel), kernel.packing[0]
        tile = self._size_of(program, op) ** 2 * (inputs + c_out) + padding
        return tile, blocking.block_rows(target, kernel, tile, inputs, c_out, target.threads, mr)

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Weights are transformed ahead of time in float64, or at load time in float32; the bias is
        not packed.
        """
        stride, nr = op.attributes["strides"][0], kernels.kernel(op.attributes["kernel"]).packing[1]
        key, at_load = (self.name, stride, nr), None
        # With fewer weights the vectors of the transform would exceed them.
        if program.vars[op.inputs[1]].shape[1] * nr >= _MIN_CHANNELS:
            kernel = self._weights_kernel(program, op)
            attributes = {"tile": self.tile, "stride": stride, "panel": nr, "kernel": kernel}
            calls = (kernel, self._weights_call(program, op, nr), self._block_of(op) ** 2)
            at_load = Preparation(
                panels(1, nr), "pack_winograd", attributes, calls=(calls,), axis=0
            )
        return {1: Packing(key, lambda w: pack(w, self.tile, stride, nr), at_load)}

    def _weights_kernel(self, program: Program, op: Op) -> str:
        """The weight transform for the instruction set of the input transform, or for the next
        lower one of the architecture that has it.
        """
        isas, tile = kernels.isas(), (self.tile, self._size_of(program, op))
        own = isas[kernels.kernel(op.attributes["input_kernel"]).isa]
        return next(
            k.name  # highest rank first
            for k in _weights_kernels(program.dtype(op))
            if isas[k.isa].rank <= own.rank
            and {*isas[k.isa].arch} >= {*own.arch}
            and (k.portable or (k.mr, k.nr) == tile)
        )

    def _weights_call(self, program: Program, op: Op, nr: int) -> KernelCall:
        """The transform of all weights of one space-to-depth offset, in one call."""
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        size, columns = self._size_of(program, op), c_in * -(-c_out // nr) * nr
        r = self._taps_of(program, op)
        elements = columns * (r**2 + size**2)
        sizes = {"columns": columns, "tile": self.tile, "size": size, "taps": r}
        return KernelCall.of("WinogradWeightsArgs", program.dtype(op), 0, elements, **sizes)

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """The GEMM calls of all tiles, and the transforms."""
        c_out, c_in, *_ = program.vars[op.inputs[1]].shape
        size, block_size = self._size_of(program, op), self._block_of(op)
        height, width = self._tiles(program, op)
        dtype = program.dtype(op)
        yield "kernel", gemm_call(dtype, height * width, c_out, block_size**2 * c_in), size**2

        def transform(args_type: str, channels: int) -> KernelCall:
            elements = height * width * channels * (size**2 + self.tile**2)
            sizes = {"height": height, "width": width, "channels": channels}
            return KernelCall.of(args_type, dtype, 0, elements, **sizes, tile=self.tile, size=size)

        yield "input_kernel", transform("WinogradInputArgs", _input_channels(c_in, block_size)), 1
        yield "output_kernel", transform("WinogradOutputArgs", c_out), 1

    def _is_for(self, stride: int) -> bool:
        """A strided tile replaces the tile of the same size with space-to-depth."""
        return (self.stride > 1) == ((self.tile, stride) in _STRIDED)

    def _costs(self, size: int) -> tuple[int, int] | None:
        """Costs of the input and output transforms; None if there is no such tile."""
        if self.stride > 1:
            return _STRIDED_COSTS.get((self.tile, size))
        outputs = _OUTPUT_COSTS.get((self.tile, size))
        return (_INPUT_COSTS[size], outputs) if outputs else None

    def _size(self, kernel: int, stride: int) -> int:
        return self.stride * (self.tile - 1) + taps(kernel, stride // self.stride)

    def _block_of(self, op: Op) -> int:
        """Space-to-depth block size along one axis."""
        return int(op.attributes["strides"][0]) // self.stride

    def _taps_of(self, program: Program, op: Op) -> int:
        return taps(program.vars[op.inputs[1]].shape[2], self._block_of(op))

    def _size_of(self, program: Program, op: Op) -> int:
        """Returns n, the inputs of a tile of the lowered `op` along one axis."""
        return self._size(program.vars[op.inputs[1]].shape[2], op.attributes["strides"][0])

    def _tiles(self, program: Program, op: Op) -> tuple[int, int]:
        """Tiles that cover the result, or the phases of a dilated one: vertically, for all images
        together, and horizontally, for all phases of a row.
        """
        n, _, h, w = program.vars[op.outputs[0]].shape
        d, side = op.attributes["dilation"], self.tile
        return n * min(d, h) * -(-h // d // side), min(d, w) * -(-w // d // side)


def taps(kernel: int, block: int) -> int:
    """Returns r, the taps of a kernel along one axis after space-to-depth by `block`."""
    return -(-kernel // block)


def _input_channels(c_in: int, block: int) -> int:
    """Channels that are transformed; after space-to-depth they are padded to whole vectors."""
    channels = block**2 * c_in
    return -(-channels // _MIN_CHANNELS) * _MIN_CHANNELS if block > 1 else channels


def weight_transform(size: int, taps: int) -> NDArray[np.float64]:
    """Returns G: float64[size, taps]. A row is (1, p, p^2, ...) at a point p, scaled; the last row
    is the point at infinity.
    """
    rows = [[scale * Fraction(p) ** i for i in range(taps)] for p, scale in _POINTS[size]]
    return np.array([*rows, [0] * (taps - 1) + [1]], np.float64)


def transform_of(tile: int, kernel: int, stride: int) -> NDArray[np.float64]:
    """Returns G of a tile for a kernel size, after space-to-depth if strided: float64[n, r]."""
    if rows := _STRIDED.get((tile, stride)):
        return np.array(rows, np.float64)
    r = taps(kernel, stride)
    return weight_transform(tile + r - 1, r)


def space_to_depth(w: Array, stride: int) -> Array:
    """w: [c_out, c_in, k, k] of a convolution with strides -> [c_out, stride^2 * c_in, r, r]
    of the equivalent convolution without strides; the channels of a block are [row][column][c_in].
    """
    c_out, c_in, k, _ = w.shape
    r = taps(k, stride)
    padded = np.zeros((c_out, c_in, r * stride, r * stride), w.dtype)
    padded[:, :, :k, :k] = w
    blocks = padded.reshape(c_out, c_in, r, stride, r, stride).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(c_out, -1, r, r)


def pack(w: Array, tile: int, stride: int, nr: int) -> Array:
    """w: [c_out, c_in, k, k] -> [n^2][panel][channels of a block][nr]."""
    g = transform_of(tile, w.shape[2], stride)
    if (tile, stride) not in _STRIDED:
        w = space_to_depth(w, stride)
    size = len(g)
    c_out, c_in, *_ = w.shape
    packed = np.zeros((size**2, -(-c_out // nr), c_in, nr), w.dtype)
    # One panel at a time: all of them in float64 would take twice the memory of the result. Without
    # `optimize`, which calls a BLAS, whose threads wait for each other on a busy machine.
    for panel in range(packed.shape[1]):
        columns = w[panel * nr : (panel + 1) * nr].astype(np.float64)
        transformed = np.einsum("bj,ajco->abco", g, np.einsum("ai,ocij->ajco", g, columns))
        packed[:, panel, :, : len(columns)] = transformed.reshape(size**2, c_in, -1)
    return packed.reshape(-1)


ALGORITHMS = (
    *(Winograd(tile) for tile in sorted({tile for tile, _ in _OUTPUT_COSTS})),
    *(Winograd(tile, stride) for tile, stride in _STRIDED),
)
