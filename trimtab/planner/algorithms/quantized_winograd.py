"""Winograd convolution F(4x4, 3x3) of int8 values in integer arithmetic, with exact results.

Weights are transformed by 24 G (with 6 instead of 24 in its last row, so that the result fits in 16
bits) and inputs by B^T. Products and sums are computed modulo 2^32. The algorithm is linear, so the
result is 576 times the accumulators of the convolution, modulo 2^32. 576 = 2^6 * 9, and 9 has an
inverse modulo 2^32, so accumulators below 2^25 are recovered exactly, whatever overflowed before.
They are below 2^25 if 128 times the sum of the absolute weights of every output channel is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work
from trimtab.planner.algorithms import derived_op
from trimtab.planner.cost import Work, passes, rate
from trimtab.planner.kernel_calls import KernelCall
from trimtab.planner.packing import Array, Form, Packing, Preparation, gemm
from trimtab.program import Op, Program
from trimtab.schema import Attribute
from trimtab.target import Target

_DIRECT, _OPERATOR = "qlinear_conv", "qlinear_conv_winograd"
_TILE, _SIZE = 4, 6
_MIN_CHANNELS = 16  # kernel_api.h kMinWinogradChannels
_MAX_WEIGHT_SUM = 2**25 // 128
# Cost of the transforms of one channel of a tile, in float32 multiply-adds: instructions for
# vectors of eight channels of 32 and of 16 bits.
_INPUT_COST, _OUTPUT_COST = 100, 250

_G = np.array(
    [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 6]], dtype=np.int64
)


class QuantizedWinograd:
    """Tiles of 4 x 4 outputs: one 16-bit GEMM for each of the 36 elements of a transformed tile."""

    name = "quantized_winograd"
    dtypes = ("i8",)
    channel_invariant = True

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Applicable to 3 x 3 windows with strides of 1, one group, and weights that keep
        accumulators exact.
        """
        if op.type != _DIRECT or op.attributes["to"] != "i8":
            return None
        w = program.vars[op.inputs[1]]
        plain = (op.attributes["group"], *op.attributes["strides"], *op.attributes["dilations"])
        fits = set(plain) == {1} and w.shape[2:] == (3, 3) and min(w.shape[:2]) >= _MIN_CHANNELS
        return derived_op(op, _OPERATOR) if fits and w.data is not None and exact(w.data) else None

    def computes(self, op: Op) -> bool:
        """The algorithm has its own operator type."""
        return op.type == _OPERATOR

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """All kernels of the families are for this tile."""
        return True

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """One GEMM per element of a tile, and the transforms."""
        w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
        columns, depth = self._packed(program, op, kernel)
        tiles = y.shape[0] * -(-y.shape[2] // _TILE) * -(-y.shape[3] // _TILE)
        gemms = _SIZE**2 * gemm_work.operations(kernel, tiles, columns, depth)
        transforms = w.shape[1] * _INPUT_COST + w.shape[0] * _OUTPUT_COST
        weights = _SIZE**2 * columns * depth * 2
        tile, block = self._block(program, op, kernel, target)
        blocks = -(-tiles // (block * target.threads))
        at_once = min(block * target.threads, tiles) * tile
        return Work(
            gemms + tiles * transforms * rate(kernel),
            weights,
            passes(target, weights, blocks, at_once),
            requantizations=y.count,
            padded=_SIZE**2 * gemm_work.padded(kernel, tiles, columns, depth),
            macs=_SIZE**2 * tiles * w.shape[0] * w.shape[1],
            transforms=tiles * transforms * rate(kernel),
            tiles=_SIZE**2 * gemm_work.tiles(kernel, tiles, columns),
        )

    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Transformed tiles and their accumulators stay in the second-level cache."""
        kernel = kernels.kernel(op.attributes["kernel"])
        block = self._block(program, op, kernel, target)[1]
        return {"block": block, "depth_step": kernel.depth_step}

    def _block(self, program: Program, op: Op, kernel: Kernel, target: Target) -> tuple[int, int]:
        """Bytes of a transformed tile and its accumulators, and the number of tiles of a block."""
        columns, depth = self._packed(program, op, kernel)
        tile, mr = _SIZE**2 * (2 * depth + 4 * columns), kernel.packing[0]
        return tile, blocking.block_rows(target, kernel, tile, depth, columns, target.threads, mr)

    def _packed(self, program: Program, op: Op, kernel: Kernel) -> tuple[int, int]:
        """Padded columns and depth of packed weights."""
        c_out, c_in = program.vars[op.inputs[1]].shape[:2]
        nr, kr = kernel.packing[1], kernel.depth_step
        return -(-c_out // nr) * nr, -(-c_in // kr) * kr

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Transformed weights; biases, scales and slopes in panels."""
        kernel = kernels.kernel(op.attributes["kernel"])
        nr, kr = kernel.packing[1], kernel.depth_step
        plain = Form(("plain",), lambda w: w.reshape(-1))
        at_load = Preparation(plain, "qlinear_pack_winograd", {"panel": nr, "depth_step": kr})
        columns = Packing(("bias", 1, nr), lambda data: gemm.pack_bias(data, 1, nr))
        weights = Packing((self.name, nr, kr), lambda w: pack(w, nr, kr), at_load)
        return {1: weights} | dict.fromkeys(range(2, len(op.inputs)), columns)

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """None: kernel timing does not support int8 kernels."""
        return iter(())


def exact(w: Array) -> bool:
    """Whether all accumulators of the weights [c_out, c, 3, 3] with int8 inputs stay below 2^25."""
    sums = np.abs(w.astype(np.int64)).reshape(w.shape[0], -1).sum(axis=1)
    return bool(sums.max(initial=0) < _MAX_WEIGHT_SUM)


def pack(w: Array, nr: int, kr: int) -> Array:
    """w: int8[c_out, c, 3, 3] -> as int8, the bytes of int16[element][panel][c / kr][nr][kr]."""
    transformed = np.einsum("ai,bj,ocij->aboc", _G, _G, w.astype(np.int64)).astype(np.int16)
    elements = transformed.reshape(_SIZE**2, *w.shape[:2])
    packed = [gemm.pack_steps(e[:, :, None, None], 1, nr, kr) for e in elements]
    return np.concatenate(packed).view(np.int8)


ALGORITHMS = (QuantizedWinograd(),)
