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
from tests.some import some
from trimtab.planner import algorithms
from trimtab.planner.plan_file import Plan
from trimtab.target import Target

pytestmark = pytest.mark.build

CHANNELS, SIDE = 21, 13  # vectors of channels and tiles of pixels, and a part of one
FEW = 5  # channels that large windows add up, by the same kernels in a third of the time
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
def network(depth: int) -> Case:
    """One input with a NaN; an output of each function, also behind convolutions and a GEMM. Large
    windows have `depth` channels.
    """
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
    first = (Const(np.array([start])) for start in (0, depth, 1))
    part = graph.node("Slice", x, *first) if depth < CHANNELS else x
    for kind, (size, groups) in SUMS.items():
        source, channels = (part, depth) if kind == "large" else (x, CHANNELS)
        weights = Const(normal(CHANNELS, channels // groups, size, size))
        for name in ("", *FUNCTIONS, *PARTS):
            y = graph.node("Conv", source, weights, pads=[size // 2] * 4, group=groups)
            outputs.append(graph.node(name, y, *PARTS.get(name, ())) if name else y)
        activated(graph.node("Conv", source, weights, pads=[size // 2] * 4, group=groups))
    rows = graph.node("Reshape", x, Const(np.array([CHANNELS * SIDE, SIDE])))
    for name in ("Relu", "Sigmoid", "Clip"):
        y = graph.node("Gemm", rows, Const(normal(SIDE, CHANNELS)), Const(normal(CHANNELS)))
        outputs.append(graph.node(name, y, *PARTS.get(name, ())))
    return graph.case("nan", *outputs)


@cache
def expected(depth: int) -> dict[str, Array]:
    return oracle.expected(network(depth))


def plan(*, winograd: bool, precision: str) -> Plan:
    """A plan with every algorithm, or without those that combine pixels of a tile."""
    names = algorithms.registry()
    combining = () if winograd else ("winograd", "strassen")
    return Plan(tuple(n for n in names if not n.startswith(combining)), precision=precision)


def run(
    core: Core, target: Target, chosen: Plan, folder: Path, depth: int
) -> tuple[dict[str, Array], str]:
    """The outputs on the core, and the types of the operators, separated by spaces.

    A core of x86 is this machine with its instruction sets, which takes a tenth of QEMU's time.
    """
    on_host = core.toolchain == "host"
    if on_host and core.arch != "x86_64":
        pytest.skip("this core is one of x86")
    forced = ["env", f"TRIMTAB_ISA={'avx2' if 'avx2' in core.features else 'portable'}"]
    command = [*(forced if on_host else core.emulator()), str(runner_of(core.toolchain))]
    path = folder / "nan.onnx"
    path.write_bytes(network(depth).model.SerializeToString())
    program = trimtab.optimize(trimtab.load(path), target, chosen)
    outputs, features = compute(command, program, network(depth).inputs, 2, folder)
    assert on_host or features == core.features
    return outputs, " ".join(op.type for op in program.ops)


def differing(outputs: dict[str, Array], depth: int) -> dict[str, int]:
    """The outputs with NaN at other places than onnxruntime's, and the number of these places."""
    wrong = {}
    for name, want in expected(depth).items():
        places = np.isnan(outputs[name]) != np.isnan(want)
        if places.any():
            wrong[f"{maker(name, depth)} {name}"] = int(np.count_nonzero(places))
    return wrong


def maker(output: str, depth: int) -> str:
    """The operator that computes an output of the network."""
    (node,) = (node for node in network(depth).model.graph.node if output in node.output)
    return str(node.op_type)


@pytest.mark.parametrize("core", CORES, ids=lambda core: f"{core.arch} {core.name}")
def test_nan_is_where_onnxruntime_has_it_on_every_core(core: Core, tmp_path: Path) -> None:
    f32 = plan(winograd=False, precision="f32")
    for cpu in some({core.plans[0], core.plans[-1]}):
        # The planner chooses another depthwise kernel beside small convolutions.
        depth = CHANNELS if cpu == core.plans[-1] else FEW
        outputs, types = run(core, Target.of(core.arch, cpu), f32, tmp_path, depth)
        assert {"conv", "conv_depthwise", "gemm", "relu", "max"} <= set(types.split())
        assert "winograd" not in types
        assert differing(outputs, depth) == {}


@pytest.mark.parametrize("core", HALVES, ids=lambda core: f"{core.arch} {core.name}")
def test_nan_in_f16_is_where_onnxruntime_has_it_on_every_core(
    core: Core, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half.convert_for_nothing(monkeypatch)
    f16 = plan(winograd=False, precision="f16")
    for cpu in some(core.plans):
        outputs, types = run(core, Target.of(core.arch, cpu), f16, tmp_path, FEW)
        assert "cast" in types
        assert differing(outputs, FEW) == {}


@pytest.mark.parametrize("core", CORES, ids=lambda core: f"{core.arch} {core.name}")
def test_winograd_spreads_nan_no_further_than_its_tile(core: Core, tmp_path: Path) -> None:
    target = Target.of(core.arch, core.plans[-1])
    outputs, types = run(core, target, plan(winograd=True, precision="f32"), tmp_path, CHANNELS)
    assert "conv_winograd" in types
    _, _, row, column = PLACE
    for name, want in expected(CHANNELS).items():
        actual = np.isnan(outputs[name])
        assert actual[np.isnan(want)].all(), maker(name, CHANNELS)
        if want.shape[-2:] == (SIDE, SIDE):
            far = np.ones((SIDE, SIDE), bool)
            far[: row + REACH, : column + REACH] = False
            assert not (actual & ~np.isnan(want))[..., far].any(), maker(name, CHANNELS)
