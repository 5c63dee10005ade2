"""NaN on every core: kernels pass it on as onnxruntime does, in f32 and in f16.

One network holds every activation alone and behind every kind of sum, each with an output of its
own, so that a core under QEMU runs it in one launch. The NaN is 0x7FFFFFFF, as GPUs make it: all
bits of its fraction are set, which integer arithmetic on exponents would turn into a number.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.ops import half, oracle
from tests.ops.cases.case import Array, Case, Const, Graph, floats, normal
from tests.ops.test_dispatch import CORES, Core, compute, runner_of
from tests.ops.test_types_on_cores import HALVES
from trimtab.planner import algorithms
from trimtab.planner.plan_file import Plan
from trimtab.target import Target

pytestmark = pytest.mark.build

CHANNELS, SIDE = 21, 20  # vectors of channels, and a part of one
PLACE = (0, 2, 3, 4)  # of the NaN: image, channel, row, column
REACH = 8  # pixels; the side of the largest tile of the Winograd algorithm

PARTS: dict[str, tuple[Const, ...]] = {
    "Relu": (),
    "Clip": (Const(np.array(-0.5, np.float32)), Const(np.array(0.5, np.float32))),
    "PRelu": (Const(normal(CHANNELS, 1, 1)),),
    "Max": (Const(normal(CHANNELS, 1, 1)),),
    "Min": (Const(normal(CHANNELS, 1, 1)),),
    "Div": (Const(1 + np.abs(normal(CHANNELS, 1, 1))),),
    "Pow": (Const(np.array(2, np.float32)),),
}
FUNCTIONS = ["Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "LeakyRelu", "Elu", "Softplus", "Mish"]
ALONE = ["Softsign", "Erf", "Exp", "Log", "Sqrt", "Neg", "Abs", "Floor", "Ceil", "Round", "Sin"]
ALONE += ["Cos", "Gelu", "Softmax", "LogSoftmax", "ReduceMean", "GlobalAveragePool"]
SUMS = {"pointwise": (1, 1), "window": (3, 1), "large": (5, 1), "depthwise": (3, CHANNELS)}


@cache
def network() -> Case:
    """One input with a NaN; an output of each function, also behind convolutions and a GEMM."""
    graph, outputs = Graph(opset=20), []
    values = normal(1, CHANNELS, SIDE, SIDE)
    values.view(np.uint32)[PLACE] = 0x7FFFFFFF
    x = graph.value(values)

    def activated(y: str) -> None:
        outputs.append(graph.node("Identity", y))
        outputs.extend(graph.node(name, y) for name in FUNCTIONS)
        outputs.extend(graph.node(name, y, *operands) for name, operands in PARTS.items())
        outputs.append(graph.node("Max", floats(0.1), y))
        outputs.append(graph.node("Mul", y, graph.node("Sigmoid", y)))

    activated(x)
    outputs.extend(graph.node(name, x) for name in ALONE)
    for size, groups in SUMS.values():
        weights = Const(normal(CHANNELS, CHANNELS // groups, size, size))
        for name in ("", *FUNCTIONS, *PARTS):
            y = graph.node("Conv", x, weights, pads=[size // 2] * 4, group=groups)
            outputs.append(graph.node(name, y, *PARTS.get(name, ())) if name else y)
        activated(graph.node("Conv", x, weights, pads=[size // 2] * 4, group=groups))
    rows = graph.node("Reshape", x, Const(np.array([CHANNELS * SIDE, SIDE])))
    for name in ("Relu", "Sigmoid", "Clip"):
        y = graph.node("Gemm", rows, Const(normal(SIDE, CHANNELS)), Const(normal(CHANNELS)))
        outputs.append(graph.node(name, y, *PARTS.get(name, ())))
    return graph.case("nan", *outputs)


@cache
def expected() -> dict[str, Array]:
    return oracle.expected(network())


def plan(*, winograd: bool, precision: str) -> Plan:
    """A plan with every algorithm, or without those that combine pixels of a tile."""
    names = algorithms.registry()
    combining = () if winograd else ("winograd", "strassen")
    return Plan(tuple(n for n in names if not n.startswith(combining)), precision=precision)


def run(core: Core, target: Target, chosen: Plan, folder: Path) -> tuple[dict[str, Array], str]:
    """The outputs on the core, and the types of the operators, separated by spaces."""
    if core.toolchain == "host" and core.arch != "x86_64":
        pytest.skip("this core is one of x86")
    command = [*core.emulator(), str(runner_of(core.toolchain))]
    path = folder / "nan.onnx"
    path.write_bytes(network().model.SerializeToString())
    program = trimtab.optimize(trimtab.load(path), target, chosen)
    outputs, features = compute(command, program, network().inputs, 2, folder)
    assert features == core.features
    return outputs, " ".join(op.type for op in program.ops)


def differing(outputs: dict[str, Array]) -> dict[str, int]:
    """The outputs with NaN at other places than onnxruntime's, and the number of these places."""
    wrong = {}
    for name, want in expected().items():
        places = np.isnan(outputs[name]) != np.isnan(want)
        if places.any():
            wrong[f"{maker(name)} {name}"] = int(np.count_nonzero(places))
    return wrong


def maker(output: str) -> str:
    """The operator that computes an output of the network."""
    (node,) = (node for node in network().model.graph.node if output in node.output)
    return str(node.op_type)


@pytest.mark.parametrize("core", CORES, ids=lambda core: f"{core.arch} {core.name}")
def test_nan_is_where_onnxruntime_has_it_on_every_core(core: Core, tmp_path: Path) -> None:
    for cpu in core.plans:
        target = Target.of(core.arch, cpu)
        outputs, types = run(core, target, plan(winograd=False, precision="f32"), tmp_path)
        assert {"conv", "conv_depthwise", "gemm", "relu", "max"} <= set(types.split())
        assert "winograd" not in types
        assert differing(outputs) == {}


@pytest.mark.parametrize("core", HALVES, ids=lambda core: f"{core.arch} {core.name}")
def test_nan_in_f16_is_where_onnxruntime_has_it_on_every_core(
    core: Core, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half.convert_for_nothing(monkeypatch)
    for cpu in core.plans:
        target = Target.of(core.arch, cpu)
        outputs, types = run(core, target, plan(winograd=False, precision="f16"), tmp_path)
        assert "cast" in types
        assert differing(outputs) == {}


@pytest.mark.parametrize("core", CORES, ids=lambda core: f"{core.arch} {core.name}")
def test_winograd_spreads_nan_no_further_than_its_tile(core: Core, tmp_path: Path) -> None:
    target = Target.of(core.arch, core.plans[-1])
    outputs, types = run(core, target, plan(winograd=True, precision="f32"), tmp_path)
    assert "conv_winograd" in types
    _, _, row, column = PLACE
    for name, want in expected().items():
        actual = np.isnan(outputs[name])
        assert actual[np.isnan(want)].all(), maker(name)
        if want.shape[-2:] == (SIDE, SIDE):
            far = np.ones((SIDE, SIDE), bool)
            far[: row + REACH, : column + REACH] = False
            assert not (actual & ~np.isnan(want))[..., far].any(), maker(name)
