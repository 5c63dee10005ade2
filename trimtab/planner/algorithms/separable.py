"""A depthwise convolution together with the 1x1 convolutions around it, block by block of rows, so
that what lies between them stays in a cache. docs/planner.md has the rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import blocking, gemm_work, kernel_selection, pixel_padding
from trimtab.planner.algorithms import depthwise, direct, twin
from trimtab.planner.cost import Work, passes
from trimtab.planner.kernel_calls import KernelCall, gemm_call, window_sizes
from trimtab.planner.packing import Packing
from trimtab.program import Op, Program
from trimtab.program.program import element_bytes
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATOR = "conv_separable"
_ENDS = ("expand", "project")
_EPILOGUE = ("clamp_min", "clamp_max", "activation", "alpha", "beta")


@dataclass(frozen=True)
class Separable:
    """The depthwise convolution, with the one before it (`expand`), behind it (`project`), or
    both.
    """

    name: str
    expand: bool
    project: bool
    dtypes: tuple[str, ...] = field(default=("f32", "f16"), init=False)
    channels_alike: bool = field(default=True, init=False)

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """The last of the convolutions, where nothing else reads what lies between them, and a
        block of one row of it fits the cache.
        """
        middle: Op | None = op
        if self.project:
            middle = _before(program, op) if _is_pointwise(program, op) else None
        if middle is None or not _is_depthwise(program, middle):
            return None
        first = _before(program, middle) if self.expand else middle
        if first is None or (self.expand and not _is_pointwise(program, first)):
            return None
        operands = {"x": first.inputs[0], "w": middle.inputs[1], "bias": middle.operand("bias")}
        own: dict[str, object] = {}
        for end, outer, present in (("expand", first, self.expand), ("project", op, self.project)):
            if present:
                operands |= {end: outer.inputs[1], f"{end}_bias": outer.operand("bias")}
                own |= {f"{end}_{name}": outer.attributes[name] for name in _EPILOGUE}
        if self.project:
            operands["residual"] = op.operand("residual")
        lowered = twin(middle, _OPERATOR, **own)
        lowered.inputs = [operands.get(port.name, "") for port in lowered.schema.inputs]
        lowered.outputs, lowered.name = list(op.outputs), op.name
        return lowered if _Shape.of(program, lowered).block(target) else None

    def made(self, op: Op) -> bool:
        """It has an operator of its own."""
        ends = bool(op.operand("expand")), bool(op.operand("project"))
        return op.type == _OPERATOR and ends == (self.expand, self.project)

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Any for the products; for the windows those that a depthwise convolution takes."""
        channels = program.vars[op.inputs[1]].shape[0]
        return attribute.name != "kernel" or depthwise.fills(channels, kernel)

    def work(self, program: Program, op: Op, kernel: Kernel, target: Target) -> Work:
        """That of the convolutions, whose products are made block by block, and of rows that two
        threads expand. Weights are read for each block beside which they do not stay.
        """
        shape = _Shape.of(program, op)
        blocks = -(-shape.rows // max(shape.block(target), 1))
        taps = math.prod(shape.window)
        operations = depthwise.operations(kernel, shape.pixels_out, shape.channels, taps)
        weight_bytes, again = program.vars[op.inputs[1]].bytes, 0
        for weights, pixels in (
            (op.operand("expand"), shape.pixels_in),
            (op.operand("project"), shape.pixels_out),
        ):
            if weights:
                columns, depth = program.vars[weights].shape[:2]
                rows, own = -(-pixels // blocks), program.vars[weights].bytes
                operations += blocks * min(
                    gemm_work.operations(kernel, rows, columns, depth)
                    for kernel in kernel_selection.best(gemm_work.FAMILY, program.dtype(op), target)
                )
                weight_bytes += own
                again += (passes(target, own, blocks, target.core.l2.bytes * 3 // 4) - 1) * own
        if self.expand:
            depth = program.vars[op.inputs[0]].shape[1]
            twice = max(shape.seen - shape.stride, 0) * shape.width * shape.channels
            operations += (target.threads - 1) * twice * depth
        return Work(operations, weight_bytes, spilled_bytes=again)

    def blocks(self, program: Program, op: Op, target: Target) -> dict[str, int | bool]:
        """Rows of a block that stay in a thread's part of the second-level cache, and what the
        kernels like.
        """
        shape = _Shape.of(program, op)
        rows = depthwise.rows(op, shape.window)
        numbers: dict[str, int | bool] = {
            "rows": rows,
            "pixels": blocking.pixels(target, op, shape.window, shape.out_width, rows),
            "block": max(shape.block(target), 1),
            "gap": shape.gap(target),
        }
        for end in _ENDS:
            weights, panels, tiles = op.operand(end), 1, 1
            if weights:
                kernel = kernels.kernel(op.attributes[f"{end}_kernel"])
                columns, depth = program.vars[weights].shape[:2]
                panels = blocking.panels(target, kernel, columns, depth)
                tiles = blocking.call_tiles(target, kernel, depth)
            numbers |= {f"{end}_panels": panels, f"{end}_call_tiles": tiles}
        return numbers

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Those of the convolutions."""
        ports = [port.name for port in op.schema.inputs]
        w = program.vars[op.inputs[1]]
        found = {1: depthwise.packing(w, kernels.kernel(op.attributes["kernel"]).packing[1])}
        for end in _ENDS:
            if name := op.operand(end):
                nr = kernels.kernel(op.attributes[f"{end}_kernel"]).packing[1]
                both = ports.index(end), ports.index(f"{end}_bias")
                found |= zip(both, direct.conv_packings(program.vars[name], 1, nr), strict=True)
        return found

    def kernel_calls(self, program: Program, op: Op) -> Iterator[tuple[str, KernelCall, int]]:
        """Those of the convolutions, one after the other."""
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
    """The sizes of such an operator. `seen`: input rows that the windows of an output row span."""

    images: int
    height: int
    width: int
    channels: int  # between the convolutions
    out_height: int
    out_width: int
    window: tuple[int, ...]
    seen: int
    stride: int
    unit: int  # output rows that kernels compute at once
    bytes: int  # of an element
    expand: int  # weights of that product; 0 without it
    project: int

    @staticmethod
    def of(program: Program, op: Op) -> _Shape:
        """Those of an operator that was lowered."""
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

    def gap(self, target: Target) -> int:
        """Elements between the pixels in scratch memory: a line, where they would collide."""
        cache = target.core.l1d
        collide = pixel_padding.collide(cache, self.channels * self.bytes)
        return cache.line_bytes // self.bytes if collide else 0

    def block(self, target: Target) -> int:
        """Output rows whose data, with weights that stay, take three quarters of a thread's part of
        the second-level cache, in what kernels compute at once; 0 where one row takes more.
        """
        cache = target.core.l2
        weights = [count * self.bytes for count in (self.expand, self.project)]
        room = cache.bytes * 3 // 4 - sum(w for w in weights if _stays(w, target))
        pixel = (self.channels + self.gap(target)) * self.bytes
        pixels = room // min(target.threads, cache.shared_by) // pixel
        fixed = (self.seen - self.stride) * self.width if self.expand else 0
        row = self.stride * self.width if self.expand else 0
        row += self.out_width if self.project else 0
        most = min((pixels - fixed) // row, self.out_height) if pixels > fixed else 0
        return most - most % self.unit if most > self.unit else most


def _stays(weights: int, target: Target) -> bool:
    """Whether so many bytes of weights are in the second level when the next block comes."""
    return weights <= target.core.l2.bytes // 4


def _is_pointwise(program: Program, op: Op) -> bool:
    """Whether it is a product of pixels and weights."""
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


def _before(program: Program, op: Op) -> Op | None:
    """The operator that makes the input of `op` and nothing else that is read, and has no residual
    itself.
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
