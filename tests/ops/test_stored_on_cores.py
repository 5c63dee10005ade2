"""Stored weights that each core expands, beside numpy.

Inputs have a single 1, so that a convolution without a transform returns its weights, bit for bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests import stored_forms
from tests.ops import half
from tests.ops.cases.case import Array
from tests.ops.test_dispatch import CORES, Core, compute, runner_of
from tests.ops.test_types_on_cores import HALVES
from tests.some import some
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Program
from trimtab.target import Target

pytestmark = pytest.mark.build

# Operator, shape of the weights, attributes, and the algorithm. No columns fill their panels.
LAYERS: dict[str, tuple[str, tuple[int, ...], dict[str, Any], str]] = {
    "gemm": ("gemm", (67, 70), {}, "direct"),
    "pixels": ("conv", (67, 34, 1, 1), {}, "direct"),
    "windows": ("conv", (67, 34, 3, 3), {"pads": (1, 1, 1, 1)}, "direct"),
    "groups": ("conv", (24, 4, 3, 3), {"pads": (1, 1, 1, 1), "group": 6}, "direct"),
    "phases": ("conv_transpose", (69, 5, 3, 3), {"strides": (2, 1)}, "direct"),
    "winograd": ("conv", (67, 34, 3, 3), {"pads": (1, 1, 1, 1)}, "winograd_4"),
    "strassen": ("conv", (69, 70, 1, 1), {}, "strassen"),
}


def weights(name: str) -> Array:
    """Seeded weights of a layer; its output channels have different magnitudes."""
    rng = np.random.default_rng(len(name))
    type, shape, *_ = LAYERS[name]
    w: Array = rng.standard_normal(shape, np.float32)
    columns = [1, -1, 1, 1] if type == "conv_transpose" else [-1, *[1] * (len(shape) - 1)]
    scales: Array = rng.uniform(0.1, 3, shape[columns.index(-1)])
    scaled: Array = w * scales.astype(np.float32).reshape(columns)
    return scaled


def inputs() -> dict[str, Array]:
    """Inputs of each layer, as many as its channels: 1 in the middle of one channel."""
    feeds = {}
    for name, (type, shape, attributes, _) in LAYERS.items():
        channels = shape[0] if type == "conv_transpose" else shape[1] * attributes.get("group", 1)
        one = np.eye(channels, dtype=np.float32)
        side = 3 if "pads" in attributes else 1
        if type != "gemm":
            pads = ((0, 0), (0, 0), (side // 2, side // 2), (side // 2, side // 2))
            one = np.pad(one[:, :, None, None], pads)
        feeds[name] = one
    return feeds


def expected(name: str, w: Array) -> Array:
    """The weights in the order of the results."""
    type, shape, attributes, _ = LAYERS[name]
    if type == "gemm":
        return w.T
    if type == "conv_transpose":
        return w
    groups = attributes.get("group", 1)
    whole = np.zeros((groups, shape[0] // groups, groups, *shape[1:]), np.float32)
    for i in range(groups):
        whole[i, :, i] = w[i * shape[0] // groups : (i + 1) * shape[0] // groups]
    whole = whole.reshape(shape[0], groups * shape[1], *shape[2:])
    return whole.swapaxes(0, 1)[:, :, ::-1, ::-1]


def network() -> Program:
    program = Program("layers")
    for name, (type, _, attributes, _) in LAYERS.items():
        program.add_input(name, inputs()[name].shape)
        w = program.block.add_constant(weights(name), "w")
        program.outputs += program.block.add_op(type, [name, w], attributes, name=name)
    return program


FORMS = {"f16": stored_forms.half, **stored_forms.SCALED}


@pytest.mark.parametrize("core", CORES, ids=lambda core: f"{core.arch} {core.name}")
def test_every_core_expands_stored_weights_as_numpy_does(core: Core, tmp_path: Path) -> None:
    if core.toolchain == "host" and core.arch != "x86_64":
        pytest.skip("this core is one of x86")
    command = [*core.emulator(), str(runner_of(core.toolchain))]
    for turn, (form, rounded) in some(enumerate(FORMS.items())):
        target = Target.of(core.arch, core.plans[turn % len(core.plans)])
        choices = {name: Choice(layer[-1]) for name, layer in LAYERS.items()}
        plan = Plan(operators=choices, weights_type=form)
        program = trimtab.optimize(network(), target, plan)
        results, features = compute(command, program, inputs(), 1 + turn, tmp_path)
        assert features == core.features
        for name, y in zip(LAYERS, results.values(), strict=True):
            axis = 1 if name == "phases" else 0
            want = expected(name, rounded(weights(name), axis))
            exact = LAYERS[name][-1] == "direct"
            atol = 0.0 if exact else 1e-5 * float(np.abs(want).max())
            np.testing.assert_allclose(y, want, 0, atol, err_msg=f"{name} as {form}")


@pytest.mark.parametrize("core", HALVES, ids=lambda core: f"{core.arch} {core.name}")
def test_every_core_rounds_stored_weights_once_to_compute_in_f16(
    core: Core, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if core.toolchain == "host" and core.arch != "x86_64":
        pytest.skip("this core is one of x86")
    half.convert_for_nothing(monkeypatch)
    command = [*core.emulator(), str(runner_of(core.toolchain))]
    for turn, (form, rounded) in some(enumerate(FORMS.items())):
        target = Target.of(core.arch, core.plans[turn % len(core.plans)])
        plan = Plan(("direct",), precision="f16", weights_type=form)
        program = trimtab.optimize(network(), target, plan)
        assert {"conv", "conv_transpose", "gemm"} <= half.halves(program)
        results, _ = compute(command, program, inputs(), 1 + turn, tmp_path)
        for name, y in zip(LAYERS, results.values(), strict=True):
            w = stored_forms.half(weights(name), 0)  # weights are rounded before they are stored
            want = expected(name, rounded(w, 1 if name == "phases" else 0))
            np.testing.assert_array_equal(y, stored_forms.half(want, 0), f"{name} as {form}")
