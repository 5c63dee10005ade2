"""The planner's choice of kernels, and its packing of weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trimtab import kernels
from trimtab.errors import PlanError, UsageError
from trimtab.kernels import Kernel
from trimtab.planner import planner
from trimtab.planner.kernel_selection import best
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Op, Program, Var
from trimtab.target import Target

A53 = Target.of("aarch64", "cortex-a53")

WINDOW = {
    "strides": (1, 1),
    "pads": (0, 0, 0, 0),
    "dilations": (1, 1),
    "activation": "",
    "clamp_min": 0.0,
    "clamp_max": 6.0,
    "alpha": 0.0,
    "beta": 0.0,
    "kernel": "",
    "activation_kernel": "",
}


def constant(program: Program, name: str, *shape: int) -> str:
    program.vars[name] = Var(name, shape, data=np.ones(shape, np.float32))
    return name


def convolution(
    c_in: int, c_out: int, group: int = 1, size: int = 8, window: int = 1, **extra: object
) -> Program:
    """A program of one convolution with bias, output and input of one size, built without the
    engine.
    """
    program = Program("conv")
    program.add_input("x", (1, c_in, size, size))
    inputs = [
        "x",
        constant(program, "w", c_out, c_in // group, window, window),
        constant(program, "bias", c_out),
    ]
    program.vars["y"] = Var("y", (1, c_out, size, size), layout="nhwc")
    program.ops.append(Op("conv", inputs, ["y"], {**WINDOW, "group": group, **extra}, "conv"))
    program.outputs = ["y"]
    return program


def chosen(program: Program, target: Target = A53, attribute: str = "kernel") -> Kernel:
    return kernels.kernel(
        planner.plan(program, target, Plan(accuracy="fast")).steps[0].attributes[attribute]
    )


def test_the_best_instruction_set_of_the_target_is_used() -> None:
    assert chosen(convolution(16, 16), Target.of("aarch64", "cortex-a72")).isa == "neon"
    for cpu in ("cortex-a7", "cortex-a8", "cortex-a9"):
        assert chosen(convolution(16, 16), Target.of("armv7", cpu)).isa == "neonv7"
    assert chosen(convolution(16, 16), Target.of("x86_64", "haswell")).isa == "avx2"


def test_only_in_order_cores_use_kernels_scheduled_for_them() -> None:
    assert chosen(convolution(16, 16), Target.of("aarch64", "cortex-a53")).isa == "neona53"
    for core in ("cortex-a55", "cortex-a510"):
        assert chosen(convolution(16, 16), Target.of("aarch64", core)).isa == "neona55"
    for cpu in (None, "cortex-a72", "cortex-a76"):
        assert chosen(convolution(16, 16), Target.of("aarch64", cpu)).isa == "neon"


def test_a_machine_without_vector_kernels_uses_the_portable_ones() -> None:
    assert chosen(convolution(16, 16), Target.portable("armv7")).portable
    assert chosen(convolution(16, 16), Target.of("riscv64")).portable


def test_one_channel_per_group_is_depthwise() -> None:
    assert chosen(convolution(16, 16, group=16)).family == "depthwise"


@pytest.mark.parametrize(
    ("cpu", "channels", "kernel"),
    [
        ("cortex-a53", 24, "depthwise_f32_16_neona53"),
        ("cortex-a55", 144, "depthwise_f32_16_neona55"),
        ("cortex-a72", 144, "depthwise_f32_8_neon"),
        ("cortex-a53", 8, "depthwise_f32_8_neon"),
        ("cortex-a53", 20, "depthwise_f32_8_neon"),  # two tiles of 16 are 1.6 times as many
    ],
)
def test_wide_depthwise_tiles_of_a_core_are_for_channels_that_fill_them(
    cpu: str, channels: int, kernel: str
) -> None:
    program = convolution(channels, channels, group=channels)
    assert chosen(program, Target.of("aarch64", cpu)).name == kernel


@pytest.mark.parametrize(("c_out", "group"), [(16, 1), (16, 8), (32, 16)])
def test_every_other_convolution_is_a_gemm(c_out: int, group: int) -> None:
    assert chosen(convolution(16, c_out, group=group)).family == "gemm"


def test_a_fused_activation_gets_its_own_kernel() -> None:
    program = convolution(16, 16, activation="sigmoid")
    assert chosen(program, attribute="activation_kernel").family == "sigmoid"


def test_an_absent_activation_has_no_kernel() -> None:
    assert planner.plan(convolution(16, 16), A53).steps[0].attributes["activation_kernel"] == ""


def test_weights_are_packed_and_keep_their_logical_shape() -> None:
    program = convolution(3, 5)
    planned = planner.plan(program, A53, Plan(prefer="load"))
    _, w, bias = planned.steps[0].inputs
    nr = chosen(program).packing[1]
    assert planned.vars[w].shape == (5, 3, 1, 1)
    assert planned.vars[w].packed
    data, bias_data = planned.vars[w].data, planned.vars[bias].data
    assert data is not None
    assert bias_data is not None
    assert data.size == -(-5 // nr) * nr * 3
    assert bias_data.size == -(-5 // nr) * nr


def test_planning_does_not_change_the_program() -> None:
    program = convolution(3, 5)
    planned = planner.plan(program, A53)
    assert program.ops[0].inputs == ["x", "w", "bias"]
    assert program.ops[0].attributes["kernel"] == ""
    assert not program.planned
    assert planned.planned
    assert planned.source is program


def test_a_shared_weight_is_packed_once() -> None:
    program = convolution(4, 4)
    program.vars["z"] = replace(program.vars["y"], name="z")
    second = Op("conv", ["y", "w", "bias"], ["z"], dict(program.ops[0].attributes), "again")
    program.ops.append(second)
    planned = planner.plan(program, A53)
    assert planned.steps[0].inputs[1:] == planned.steps[1].inputs[1:]


def test_unpacked_forms_of_packed_constants_are_removed() -> None:
    planned = planner.plan(convolution(4, 4), A53)
    assert all(var.packed for var in planned.constants())


def test_a_constant_that_is_an_output_is_not_removed() -> None:
    program = convolution(4, 4)
    program.outputs.append("w")
    assert not planner.plan(program, A53).vars["w"].packed


def test_weights_must_be_constants() -> None:
    program = convolution(4, 4)
    program.vars["w"].data = None
    with pytest.raises(PlanError, match="must be a constant"):
        planner.plan(program, A53)


def test_a_planned_program_is_not_planned_again() -> None:
    with pytest.raises(PlanError, match="already planned"):
        planner.plan(planner.plan(convolution(4, 4), A53), A53)


def test_an_operator_without_any_kernel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "inventory", dict)
    with pytest.raises(PlanError, match="conv") as error:
        planner.plan(convolution(4, 4), Target.of("aarch64", "cortex-a53"))
    assert "gemm kernel for f32" in str(error.value)


@pytest.mark.parametrize(
    ("c_out", "size", "tile"), [(8, 8, "8x8"), (48, 8, "8x12"), (12, 8, "8x12"), (64, 1, "8x8")]
)
def test_the_tile_with_the_least_work_is_used(
    monkeypatch: pytest.MonkeyPatch, c_out: int, size: int, tile: str
) -> None:
    names = [("gemm_f32_8x8_neon", 8), ("gemm_f32_8x12_neon", 12)]
    fakes = {
        name: Kernel(name, "gemm", "f32", "neon", 8, nr, Path(f"{name}.cpp"), "GemmArgs")
        for name, nr in names
    }
    monkeypatch.setattr(kernels, "inventory", lambda: fakes)
    target = Target.of("aarch64", "cortex-a53")
    planned = planner.plan(convolution(16, c_out, size=size), target)
    assert planned.steps[0].attributes["kernel"] == f"gemm_f32_{tile}_neon"


def with_bytes(monkeypatch: pytest.MonkeyPatch) -> Target:
    """A target with more matrix kernels for 8-bit integers, of the best instruction set."""
    inventory = dict(kernels.inventory())
    for isa in ("neona53", "portable"):
        name = f"gemm_i8_{isa}" if isa == "portable" else f"gemm_i8_8x8_{isa}"
        tile = (0, 0) if isa == "portable" else (8, 8)
        inventory[name] = Kernel(name, "gemm", "i8", isa, *tile, Path(f"{name}.cpp"), "GemmArgs")
    monkeypatch.setattr(kernels, "inventory", lambda: inventory)
    return Target.of("aarch64", "cortex-a53")


def test_kernels_are_for_the_type_of_an_operators_first_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = chosen(convolution(16, 16)).name
    target = with_bytes(monkeypatch)
    assert chosen(convolution(16, 16), target).name == before
    assert {k.dtype for k in best("gemm", "f32", target)} == {"f32"}
    assert [k.name for k in best("gemm", "i8", target)] == ["gemm_i8_8x8_neona53"]


def test_a_plan_cannot_name_a_kernel_of_another_type(monkeypatch: pytest.MonkeyPatch) -> None:
    target = with_bytes(monkeypatch)
    extra = Plan(operators={"conv": Choice("direct", {"kernel": "gemm_i8_8x8_neona53"})})
    with pytest.raises(PlanError, match="it computes in i8, the operator in f32"):
        planner.plan(convolution(16, 16), target, extra)


def tile(program: Program, target: Target = A53) -> int:
    """The Winograd tile of the one convolution, 0 when it stays one; it may round as it likes."""
    (op,) = planner.plan(program, target, Plan(accuracy="fast")).steps
    return int(op.attributes["tile"]) if op.type == "conv_winograd" else 0


# What takes the least executed instructions on a Cortex-A53, weights in cache.
@pytest.mark.parametrize(
    ("c_in", "c_out", "size", "expected"),
    [(64, 64, 56, 4), (128, 128, 28, 6), (256, 256, 14, 5), (512, 512, 7, 4), (64, 64, 4, 2)],
)
def test_a_3x3_convolution_takes_the_winograd_tile_with_the_least_work(
    c_in: int, c_out: int, size: int, expected: int
) -> None:
    assert tile(convolution(c_in, c_out, size=size, window=3)) == expected


# Weights are in memory.
@pytest.mark.parametrize(
    ("c_in", "c_out", "size", "expected"),
    [(64, 64, 56, 6), (128, 128, 28, 4), (256, 256, 14, 5), (512, 512, 7, 2)],
)
def test_slow_memory_favors_smaller_winograd_tiles(
    c_in: int, c_out: int, size: int, expected: int
) -> None:
    target = Target.of("x86_64", "skylake-avx512")
    program = convolution(c_in, c_out, size=size, window=3)
    constant(program, "weights of other operators", 1 << 20)
    assert tile(program, target) == expected


def test_a_5x5_convolution_takes_tiles_of_4() -> None:
    assert tile(convolution(16, 32, size=28, window=5, pads=(2, 2, 2, 2))) == 4


@pytest.mark.parametrize("target", [A53, Target.of("x86_64", "skylake-avx512")])
def test_a_strided_first_layer_uses_space_to_depth(target: Target) -> None:
    assert tile(convolution(3, 64, size=112, window=7, strides=(2, 2)), target) == 5


# As few products (6.25 a result) as squares of pixels in tiles of 4, with nothing to gather.
@pytest.mark.parametrize("target", [A53, Target.of("x86_64", "skylake-avx512")])
@pytest.mark.parametrize(("c_in", "c_out", "size"), [(64, 128, 28), (256, 256, 14)])
def test_a_strided_3x3_convolution_takes_tiles_of_2(
    c_in: int, c_out: int, size: int, target: Target
) -> None:
    assert tile(convolution(c_in, c_out, size=size, window=3, strides=(2, 2)), target) == 2


@pytest.mark.parametrize(
    "program",
    [
        convolution(64, 64, size=56),
        convolution(64, 64, size=56, window=7),
        convolution(256, 256, size=4, window=3, strides=(2, 2)),
        convolution(64, 64, size=56, window=3, dilations=(2, 1)),
        convolution(64, 64, size=56, window=3, dilations=(2, 2), strides=(2, 2)),
        convolution(64, 64, size=56, window=3, group=2),
        convolution(15, 64, size=56, window=3),
        convolution(64, 15, size=56, window=3),
        convolution(512, 512, size=1, window=3),
    ],
    ids=[
        "1x1",
        "7x7",
        "strides, few pixels",
        "dilations",
        "dilations with strides",
        "groups",
        "inputs",
        "outputs",
        "one pixel",
    ],
)
def test_other_convolutions_are_direct(program: Program) -> None:
    assert tile(program) == 0


@pytest.mark.parametrize("dilation", [2, 3])
def test_phases_of_a_dilated_convolution_are_computed_in_tiles(dilation: int) -> None:
    program = convolution(64, 64, size=56, window=3, dilations=(dilation, dilation))
    assert tile(program) > 0


@pytest.mark.parametrize("target", [A53, Target.of("x86_64", "haswell"), Target.portable()])
def test_the_transforms_are_those_of_the_tile_and_the_machine(target: Target) -> None:
    program = convolution(64, 64, size=56, window=3)
    features = kernels.isas()[chosen(program, target).isa].features
    for attribute in ("input_kernel", "output_kernel"):
        kernel = chosen(program, target, attribute)
        assert kernels.isas()[kernel.isa].features == features
        outputs = tile(program, target)
        mr = outputs if attribute == "output_kernel" else 0
        assert kernel.portable or (kernel.mr, kernel.nr) == (mr, outputs + 2)


def test_a_lowered_convolution_keeps_its_attributes_and_operands() -> None:
    program = convolution(64, 40, size=56, window=3, activation="sigmoid", pads=(1, 1, 1, 1))
    op = planner.plan(program, A53).steps[0]
    assert op.type == "conv_winograd"
    assert op.attributes["pads"] == (1, 1, 1, 1)
    assert (op.attributes["clamp_min"], op.attributes["clamp_max"]) == (0.0, 6.0)
    assert kernels.kernel(op.attributes["activation_kernel"]).family == "sigmoid"
    assert (op.inputs[0], op.outputs, op.name) == ("x", ["y"], "conv")
    assert program.ops[0].type == "conv"


# Few products of few channels do not repay the sums and the memory.
@pytest.mark.parametrize(
    ("c_in", "c_out", "size", "expected"),
    [
        (512, 512, 14, "conv_strassen"),
        (256, 256, 28, "conv_strassen"),
        (128, 128, 56, "conv_strassen"),
        (96, 576, 14, "conv"),
        (64, 64, 56, "conv"),
        (32, 512, 56, "conv"),
        (512, 32, 56, "conv_strassen"),
        (1024, 1024, 1, "conv"),
        (511, 512, 14, "conv"),
        (512, 528, 14, "conv_strassen"),
        (512, 1000, 13, "conv_strassen"),
    ],
)
def test_a_1x1_convolution_uses_strassen_if_that_is_less_work(
    c_in: int, c_out: int, size: int, expected: str
) -> None:
    program = convolution(c_in, c_out, size=size)
    assert planner.decide(program, A53, Plan()).ops[0].type == expected


def test_slow_sums_delay_strassen() -> None:
    target = Target.of("x86_64", "skylake-avx512")
    assert planner.plan(convolution(128, 128, size=56), target).steps[0].type == "conv"
    assert planner.plan(convolution(256, 256, size=28), target).steps[0].type == "conv_strassen"


@pytest.mark.parametrize(
    "program",
    [
        convolution(512, 512, size=14, strides=(2, 2)),
        convolution(512, 512, size=14, pads=(1, 1, 1, 1)),
        convolution(512, 512, size=14, group=2),
    ],
    ids=["strides", "padding", "groups"],
)
def test_a_1x1_convolution_that_is_not_a_gemm_is_direct(program: Program) -> None:
    assert planner.plan(program, A53).steps[0].type == "conv"


@pytest.mark.parametrize(("arch", "cpu"), [("pdp11", None), ("aarch64", "cortex-a99")])
def test_an_unknown_machine_is_refused(arch: str, cpu: str | None) -> None:
    with pytest.raises(UsageError, match="unknown"):
        Target.of(arch, cpu)
