"""Products as they are defined: indirect GEMM over taps of windows, or over rows of a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import products
from trimtab.planner.algorithms import DIRECT, family, twin
from trimtab.planner.layers import Layer, product
from trimtab.planner.packing import Packing, gemm
from trimtab.program import Op, Program
from trimtab.schema import Attribute
from trimtab.target import Target

_OPERATORS = ("conv", "conv_transpose", "gemm")


class Direct:
    """Each group is one product: pixels by taps and input channels, times output channels."""

    name = DIRECT
    dtypes = ("f32",)
    channels_alike = True

    def lower(self, program: Program, op: Op, target: Target) -> Op | None:
        """Every operator with packed weights stays what it is."""
        return twin(op, op.type) if op.type in _OPERATORS else None

    def made(self, op: Op) -> bool:
        """Told from depthwise convolution by the kernel."""
        return op.type in _OPERATORS and family(op) == products.FAMILY

    def fits(self, program: Program, op: Op, attribute: Attribute, kernel: Kernel) -> bool:
        """Matrix kernels, of any tile."""
        return attribute.name != "kernel" or kernel.family == products.FAMILY

    def work(self, program: Program, op: Op, kernel: Kernel) -> float:
        """That of the products, phase by phase where strides part the output."""
        w, y = program.vars[op.inputs[1]], program.vars[op.outputs[0]]
        columns = y.shape[-1] if op.type == "gemm" else y.shape[1]
        groups = _groups(op)
        rows, depth = y.count // columns, w.count // columns
        phases = math.prod(op.attributes["strides"]) if op.type == "conv_transpose" else 1
        one = products.work(kernel, -(-rows // phases), columns // groups, -(-depth // phases))
        return groups * phases * one

    def packings(self, program: Program, op: Op) -> dict[int, Packing]:
        """Panels of weights and bias."""
        groups, nr = _groups(op), kernels.kernel(op.attributes["kernel"]).packing[1]
        bias = Packing(("bias", groups, nr), lambda b: gemm.pack_bias(b, groups, nr))
        if op.type == "gemm":
            weights = Packing(("matrix", nr), lambda w: gemm.pack_matrix(w, nr))
        elif op.type == "conv":
            weights = Packing(("conv", groups, nr), lambda w: gemm.pack_conv(w, groups, nr))
        else:
            window = tuple(op.attributes[name] for name in ("strides", "dilations", "pads"))
            weights = Packing(
                ("conv_transpose", groups, nr, window),
                lambda w: gemm.pack_conv_transpose(w, groups, nr, *window),
            )
        return {1: weights, 2: bias}

    def layers(self, program: Program, op: Op) -> Iterator[tuple[str, Layer, int]]:
        """One product per group. Transposed convolutions call the kernel in another way."""
        w, y, dtype = (
            program.vars[op.inputs[1]].shape,
            program.vars[op.outputs[0]],
            program.dtype(op),
        )
        if op.type == "gemm":
            yield "kernel", product(dtype, y.count // w[0], *w), 1
        if op.type == "conv":
            groups, stride = _groups(op), op.attributes["strides"][1]
            columns, k, taps, kernel_w = w[0] // groups, w[1], w[2], w[3]
            # Away from the borders a kernel row is one piece; see docs/planner.md.
            rows, width = y.count // w[0], y.shape[3]
            step = stride * k * groups
            yield "kernel", product(dtype, rows, columns, kernel_w * k, taps, step, width), groups


def _groups(op: Op) -> int:
    return int(op.attributes.get("group", 1))


ALGORITHMS = (Direct(),)
