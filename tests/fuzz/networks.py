"""Small networks in several precisions, by several algorithms: seeds of the target `networks`, and
models for the tests of sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.ops import half
from tests.ops.cases.case import Case, Const, Graph, floats, normal
from tests.ops.cases.separable import FUSED, Chain
from trimtab import quantization
from trimtab.planner import algorithms
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target


def _conv(
    g: Graph, x: str, c_in: int, c_out: int, kernel: int, stride: int = 1, group: int = 1
) -> str:
    w = normal(c_out, c_in // group, kernel, kernel) / np.float32(kernel * c_in // group) ** 0.5
    pads, strides = [kernel // 2] * 4, [stride] * 2
    bias = Const(normal(c_out))
    return g.node("Conv", x, Const(w), bias, group=group, pads=pads, strides=strides)


def narrow() -> Case:
    """Few channels, which int8 plans fold; a residual, a concatenation, a classifier."""
    g = Graph()
    x = g.value(normal(1, 3, 11, 13))
    x = g.node("Relu", _conv(g, x, 3, 8, 3, stride=2))
    y = g.node("HardSwish", _conv(g, x, 8, 8, 1))
    y = g.node("Relu", _conv(g, y, 8, 8, 3, group=8))
    y = g.node("Add", _conv(g, y, 8, 8, 1), x)
    y = g.node("Concat", g.node("LeakyRelu", _conv(g, y, 8, 4, 1)), y, axis=1)
    y = g.node("AveragePool", y, kernel_shape=[2, 2], pads=[0, 0, 1, 1])
    y = g.node("Resize", y, None, floats(1, 1, 2, 2), mode="nearest")
    y = g.node("Flatten", g.node("GlobalAveragePool", y))
    y = g.node("Gemm", y, Const(normal(5, 12)), Const(normal(5)), transB=1)
    return g.case("narrow", g.node("Softmax", y))


def wide() -> Case:
    """Channels enough for Winograd and Strassen; pools, a transposed convolution, a gate."""
    g = Graph()
    x = g.value(normal(1, 16, 6, 7))
    y = g.node("Relu", _conv(g, x, 16, 16, 3))
    y = g.node("MaxPool", _conv(g, y, 16, 18, 1), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    gate = g.node("Sigmoid", _conv(g, g.node("GlobalAveragePool", y), 18, 18, 1))
    y = _conv(g, g.node("Mul", y, gate), 18, 64, 1)
    y = g.node("ConvTranspose", y, Const(normal(64, 2, 2, 2)), strides=[2, 2])
    return g.case("wide", g.node("Tanh", y))


# An operator that no algorithm of a plan computes uses the default.
_PLANS = {
    "default": Plan(),
    "load": Plan(prefer="load"),
    "stored-f16": Plan(weights_type="f16"),
    "stored-int8": Plan(weights_type="int8"),
    "stored-bits4": Plan(weights_type="bits4"),
    "winograd": Plan(tuple(name for name in algorithms.names() if name.startswith("winograd"))),
    "strassen": Plan(("strassen",)),
}
_INT8 = {
    "int8": Plan(),
    "int8-winograd": Plan(("quantized_winograd",)),
    "int8-load": Plan(prefer="load"),
}


def loaded(case: Case, folder: Path) -> Program:
    """The case's model."""
    (folder / "case.onnx").write_bytes(case.model.SerializeToString())
    return trimtab.load(folder / "case.onnx")


def _of(case: Case, folder: Path) -> Iterator[tuple[str, Program]]:
    """A network by all plans."""
    for name, plan in _PLANS.items():
        yield name, trimtab.optimize(loaded(case, folder), None, plan)
    samples = {
        name: np.concatenate([x, -x, x * 2, x / 2, x + 1]) for name, x in case.inputs.items()
    }
    integers = quantization.quantize(loaded(case, folder), samples, method="min_max").program
    for name, plan in _INT8.items():
        yield name, trimtab.optimize(integers, None, plan)
    convolutions = [op.name for op in integers.ops if op.type == "conv"]
    types = {name: ("f32", "int8")[i % 2] for i, name in enumerate(convolutions)}
    mixed = quantization.quantize(loaded(case, folder), samples, method="min_max", types=types)
    yield "mixed", trimtab.optimize(mixed.program)
    with pytest.MonkeyPatch.context() as patch:
        half.convert_for_nothing(patch)
        if planned := half.planned(half.rounded(case), folder, Target.host()):
            yield "f16", planned


def chain(kind: str) -> Case:
    """A depthwise convolution between 1x1 convolutions."""
    return Chain(kind, middle=20, height=7, width=6).case()


def chains(folder: Path, prefer: str) -> Iterator[tuple[str, Program]]:
    """Chains whose convolutions are fused, by algorithm."""
    for kind in FUSED:
        plan = Plan((kind,), prefer=prefer)
        yield kind, trimtab.optimize(loaded(chain(kind), folder), None, plan)


NETWORKS: dict[str, Callable[[], Case]] = {"narrow": narrow, "wide": wide}


def programs(folder: Path) -> Iterator[tuple[str, Program]]:
    """Planned networks by name; `folder` is for files on the way."""
    for network, build in NETWORKS.items():
        for name, program in _of(build(), folder):
            yield f"{network}-{name}", program
    yield from chains(folder, "balanced")
