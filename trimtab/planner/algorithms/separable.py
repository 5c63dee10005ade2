"""Fused separable convolution: a depthwise convolution with the 1x1 convolutions around it.

It computes blocks of rows, so that the tensors between the convolutions stay in a cache.
docs/planner.md has the rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work, kernel_selection, pixel_padding
from trimtab.planner.algorithms import depthwise, derived_op, direct
from trimtab.planner.cost import Work, passes
from trimtab.planner.kernel_calls import KernelCall, gemm_call, window_sizes
from trimtab.planner.packing import Packing
from trimtab.program import Op, Program
from trimtab.program.block import element_bytes
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATOR = "conv_separable"
_ENDS = ("expand", "project")
_EPILOGUE = ("clamp_min", "clamp_max", "activation", "alpha", "beta")


@dataclass(frozen=True)
class Separable:
    """A depthwise convolution with the 1x1 convolution before it (`expand`), after it (`project`),
    or both.
    """

    name: str
    expand: bool
    project: bool
    dtypes: tuple[str, ...] = field(default=("f32", "f16"), init=False)
    channel_invariant: bool = field(default=True, init=False)

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Applicable to the last of the convolutions if nothing else reads the tensors between them
        and a block of at least one row fits in the cache.
        """
        middle: Op | None = op
        if self.project:
            middle = _fusible_producer(program, op) if _is_pointwise(program, op) else None
        if middle is None or not _is_depthwise(program, middle):
            return None
        first = _fusible_producer(program, middle) if self.expand else middle
        if first is None or (self.expand and not _is_pointwise(program, first)):
            return None
        operands = {"x": first.inputs[0], "w": middle.inputs[1], "bias": middle.operand("bias")}
        overrides: dict[str, object] = {}
        for end, outer, present in (("expand", first, self.expand), ("project", op, self.project)):
            if present:
                operands |= {end: outer.inputs[1], f"{end}_bias": outer.operand("bias")}
                overrides |= {f"{end}_{name}": outer.attributes[name] for name in _EPILOGUE}
        if self.project:
            operands["residual"] = op.operand("residual")
        lowered = derived_op(middle, _OPERATOR, **overrides)
        lowered.inputs = [operands.get(port.name, "") for port in lowered.schema.inputs]
        lowered.outputs, lowered.name = list(op.outputs), op.name
        return lowered if _Shape.of(program, lowered).block(target) else None

    def computes(self, op: Op) -> bool:
        """The algorithm has its own operator type."""
        if op.type != _OPERATOR:
            return False
        return (bool(op.operand("expand")), bool(op.operand("project"))) == (
            self.expand,
            self.project,
        )

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Any GEMM kernel; depthwise kernels as for a depthwise convolution."""
        channels = program.vars[op.inputs[1]].shape[0]
        return attribute.name != "kernel" or depthwise.fills(channels, kernel)

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """The convolutions, with the GEMMs block by block, and the rows that two threads both
        expand. Weights that a block evicts from the cache are read again for each block.
        """
        shape = _Shape.of(program, op)
        blocks = -(-shape.rows // max(shape.block(target), 1))
        taps = math.prod(shape.window)
        operations = depthwise.operations(kernel, shape.pixels_out, shape.channels, taps)
        weight_bytes, reread = program.vars[op.inputs[1]].bytes, 0
        for weights, pixels in (
            (op.operand("expand"), shape.pixels_in),
            (op.operand("project"), shape.pixels_out),
        ):
            if weights:
                columns, depth = program.vars[weights].shape[:2]
                rows, size = -(-pixels // blocks), program.vars[weights].bytes
                operations += blocks * min(
                    gemm_work.operations(kernel, rows, columns, depth)
                    for kernel in kernel_selection.best(gemm_work.FAMILY, program.dtype(op), target)
                )
                weight_bytes += size
                reread += (passes(target, size, blocks, target.core.l2.bytes * 3 // 4) - 1) * size
        if self.expand:
            depth = program.vars[op.inputs[0]].shape[1]
            overlap = max(shape.span - shape.stride, 0) * shape.width * shape.channels
            operations += (target.threads - 1) * overlap * depth
        return Work(operations, weight_bytes, spilled_bytes=reread)

    def block_sizes(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Rows of a block that stay in a thread's share of the second-level cache, and the block
        sizes of the kernels.
        """
        shape = _Shape.of(program, op)
        rows = depthwise.rows(op, shape.window)
        sizes: dict[str, int | bool] = {
            "rows": rows,
            "pixels": blocking.pixels(target, op, shape.window, shape.out_width, rows),
            "block": max(shape.block(target), 1),
            "gap": shape.padding(target),
        }
        for end in _ENDS:
            weights, panels, tiles = op.operand(end), 1, 1
            if weights:
                kernel = kernels.kernel(op.attributes[f"{end}_kernel"])
                columns, depth = program.vars[weights].shape[:2]
                panels = blocking.panels(target, kernel, columns, depth)
                tiles = blocking.call_tiles(target, kernel, depth)
            sizes |= {f"{end}_panels": panels, f"{end}_call_tiles": tiles}
        return sizes

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """The packings of the single convolutions."""
        ports = [port.name for port in op.schema.inputs]
        w = program.vars[op.inputs[1]]
        packings = {1: depthwise.packing(w, kernels.kernel(op.attributes["kernel"]).packing[1])}
        for end in _ENDS:
            if name := op.operand(end):
                nr = kernels.kernel(op.attributes[f"{end}_kernel"]).packing[1]
                both = ports.index(end), ports.index(f"{end}_bias")
                packings |= zip(both, direct.conv_packings(program.vars[name], 1, nr), strict=True)
        return packings

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """The calls of the single convolutions, one after the other."""
        shape, dtype = _Shape.of(program, op), program.dtype(op)
        out = (1, shape.channels, shape.rows, shape.out_width)
        yield (
            "kernel",
            KernelCall.of(
                "DepthwiseArgs",
                dtype,
                2 * math.prod(out) * math.prod(shape.window),
                (shape.pixels_in + shape.pixels_out) * shape.channels,
                **window_sizes(out, shape.window, shape.stride),
                rows=depthwise.rows(op, shape.window),
            ),
            1,
        )
        for end, pixels in (("expand", shape.pixels_in), ("project", shape.pixels_out)):
            if weights := op.operand(end):
                yield f"{end}_kernel", gemm_call(dtype, pixels, *program.vars[weights].shape[:2]), 1


@dataclass(frozen=True)
class _Shape:
    """The sizes of a fused operator. `span`: input rows that one output row reads."""

    images: int
    height: int
    width: int
    channels: int  # of the depthwise convolution
    out_height: int
    out_width: int
    window: tuple[int, ...]
    span: int
    stride: int
    unit: int  # output rows per kernel call
    bytes: int  # per element
    expand: int  # number of weights, 0 if absent
    project: int

    @staticmethod
    def of(program: Program, op: Op) -> _Shape:
        """The sizes of a lowered operator."""
        x, w, y = (program.vars[name] for name in (*op.inputs[:2], op.outputs[0]))
        (images, _, height, width), (_, _, out_height, out_width) = x.shape, y.shape
        kernel_h, kernel_w = w.shape[2:]
        return _Shape(
            images,
            height,
            width,
            w.shape[0],
            out_height,
            out_width,
            (kernel_h, kernel_w),
            (kernel_h - 1) * op.attributes["dilations"][0] + 1,
            op.attributes["strides"][0],
            depthwise.rows(op, (kernel_h, kernel_w)),
            element_bytes(x.dtype),
            *(program.vars[name].count if name else 0 for name in map(op.operand, _ENDS)),
        )

    @property
    def rows(self) -> int:
        """Output rows of all images."""
        return self.images * self.out_height

    @property
    def pixels_in(self) -> int:
        """Input pixels of all images."""
        return self.images * self.height * self.width

    @property
    def pixels_out(self) -> int:
        """Output pixels of all images."""
        return self.rows * self.out_width

    def padding(self, target: Target) -> int:
        """Padding between pixels in scratch memory: a cache line if they would conflict."""
        cache = target.core.l1d
        conflicts = pixel_padding.conflicts(cache, self.channels * self.bytes)
        return cache.line_bytes // self.bytes if conflicts else 0

    def block(self, target: Target) -> int:
        """Output rows of a block: its data and the resident weights fill three quarters of a
        thread's share of the second-level cache, or the data MAX_BLOCK_BYTES. A multiple of the
        rows per kernel call; 0 if one row does not fit.
        """
        cache = target.core.l2
        weights = [count * self.bytes for count in (self.expand, self.project)]
        room = cache.bytes * 3 // 4 - sum(w for w in weights if _is_resident(w, target))
        pixel = (self.channels + self.padding(target)) * self.bytes
        own = room // min(target.threads, cache.shared_by)
        pixels = min(own, blocking.MAX_BLOCK_BYTES) // pixel
        fixed = (self.span - self.stride) * self.width if self.expand else 0
        row = self.stride * self.width if self.expand else 0
        row += self.out_width if self.project else 0
        rows = min((pixels - fixed) // row, self.out_height) if pixels > fixed else 0
        return rows - rows % self.unit if rows > self.unit else rows


def _is_resident(weights: int, target: Target) -> bool:
    """Whether `weights` bytes are still in the second-level cache when the next block starts."""
    return weights <= target.core.l2.bytes // 4


def _is_pointwise(program: Program, op: Op) -> bool:
    """Whether it is a 1x1 convolution that is a single GEMM."""
    return (
        op.type == "conv"
        and program.vars[op.inputs[1]].shape[2:] == (1, 1)
        and op.attributes["group"] == 1
        and op.attributes["strides"] == (1, 1)
        and not any(op.attributes["pads"])
    )


def _is_depthwise(program: Program, op: Op) -> bool:
    if op.type != "conv" or op.operand("residual"):
        return False
    c_in, c_out = program.vars[op.inputs[0]].shape[1], program.vars[op.inputs[1]].shape[0]
    return bool(op.attributes["group"] == c_in == c_out)


def _fusible_producer(program: Program, op: Op) -> Op | None:
    """The producer of the input of `op`, if `op` is the only reader and the producer has no
    residual.
    """
    x = op.inputs[0]
    maker = program.block.producer(x)
    if maker is None or program.is_output(x) or maker.operand("residual"):
        return None
    return maker if program.block.consumers(x) == [op] and op.inputs.count(x) == 1 else None


ALGORITHMS = (
    Separable("expand_depthwise", expand=True, project=False),
    Separable("depthwise_project", expand=False, project=True),
    Separable("expand_depthwise_project", expand=True, project=True),
)
