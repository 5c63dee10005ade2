"""Plans within a profile, and their overhead."""

from __future__ import annotations

from dataclasses import replace

import pytest

import trimtab
from tests.planner.test_planner import A53, convolution
from trimtab import passes, paths, zoo
from trimtab.errors import PlanError, ProfileError
from trimtab.planner import algorithms, planner
from trimtab.planner.plan_file import Choice, Plan
from trimtab.planner.profile_overhead import profile_overhead
from trimtab.profile import Profile, find_profile, list_profiles
from trimtab.program import Program
from trimtab.target import Target

HASWELL = Target.of("x86_64", "haswell")
FULL = find_profile("full")
DIRECT_ALONE = Profile("plain", ops=("conv",))


def network(name: str) -> Program:
    return passes.optimize(trimtab.load(zoo.write(name, paths.cache() / "zoo")))


def square(activation: str = "") -> Program:
    """A 3x3 convolution that is best computed by winograd_4."""
    return convolution(64, 64, size=56, window=3, activation=activation)


def within(profile: Profile, program: Program, plan: Plan | None = None) -> str:
    """The algorithm of the first operator."""
    planned = planner.plan(program, A53.with_profile(profile), plan)
    result = algorithms.algorithm_of(planned.steps[0])
    return result.name if result else ""


@pytest.mark.parametrize("target", [A53, HASWELL], ids=lambda target: target.arch)
@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("mobilenet_v1", "yolo"),
        ("mobilenet_v1", "resnet"),
        ("squeezenet", "mobilenet"),
        ("yolo_fastest", "yolo"),
        ("shufflenet_v2", "full"),
    ],
)
def test_a_network_is_planned_within_the_profile(name: str, profile: str, target: Target) -> None:
    program, restricted = network(name), find_profile(profile)
    needed = trimtab.profile_of(planner.decide(program, target.with_profile(restricted), Plan()))
    assert {*needed.ops} <= {op.name for op in restricted.operators()}
    assert {*needed.kernels} <= {kernel.name for kernel in restricted.kernels_for(target.arch)}
    free = trimtab.profile_of(planner.decide(program, target, Plan()))
    assert ({*free.ops} <= {op.name for op in restricted.operators()}) == (free.ops == needed.ops)


@pytest.mark.parametrize("profile", list_profiles())
def test_family_profiles_have_plans_for_their_networks(profile: str) -> None:
    for name in (name for name in zoo.names() if name.startswith(profile)):
        planner.decide(network(name), A53.with_profile(find_profile(profile)), Plan())


def test_the_best_algorithm_of_the_profile_is_used() -> None:
    assert within(FULL, square()) == "winograd_4"
    assert within(DIRECT_ALONE, square()) == "direct"
    only = ("gemm_*", "winograd_*_4_neon", "winograd_*_4x6_neon", "winograd_*_2x4_neon")
    some = Profile("small tiles", ops=("conv", "conv_winograd"), kernels=only)
    assert within(some, square()) == "winograd_2"


def test_a_depthwise_convolution_is_a_gemm_if_the_profile_has_nothing_else() -> None:
    assert within(FULL, convolution(16, 16, group=16)) == "depthwise"
    assert within(DIRECT_ALONE, convolution(16, 16, group=16)) == "direct"


def test_the_best_kernel_of_the_profile_is_used() -> None:
    plain = replace(DIRECT_ALONE, kernels=("gemm_f32_*_neon", "gemm_f32_portable"))
    (op,) = planner.plan(convolution(16, 16), A53.with_profile(plain)).steps
    assert op.attributes["kernel"] == "gemm_f32_4x16_neon"
    (op,) = planner.plan(convolution(16, 16), A53).steps
    assert op.attributes["kernel"] == "gemm_f32_4x16_neona53"


def test_an_impossible_plan_names_everything_that_is_missing() -> None:
    with pytest.raises(ProfileError) as error:
        planner.plan(network("yolo_fastest"), A53.with_profile(find_profile("squeezenet")))
    assert "profile squeezenet" in error.value.where
    assert "resize" in error.value.what
    assert "leaky_relu kernel" in error.value.what
    assert "another profile" in error.value.hint


@pytest.mark.parametrize("ops", [("conv",), ("conv", "conv_winograd")])
def test_the_kernel_of_a_fused_activation_is_needed_by_every_algorithm(
    ops: tuple[str, ...],
) -> None:
    lacks, has = Profile("lacks", ops=ops), Profile("has", ops=(*ops, "hard_swish"))
    program = square(activation="hard_swish")
    with pytest.raises(ProfileError, match=r"hard_swish kernel for f32 \(conv\).* excludes"):
        planner.plan(program, A53.with_profile(lacks))
    assert within(has, program) == ("winograd_4" if len(ops) > 1 else "direct")


def test_a_plan_file_that_names_excluded_code_is_refused() -> None:
    for choice, named in (
        (Choice("winograd_4"), "winograd_4.*profile plain lacks conv_winograd"),
        (Choice("direct", {"kernel": "gemm_f32_portable"}), "portable.*profile small excludes it"),
    ):
        small = replace(DIRECT_ALONE, name="small", kernels=("gemm_*_neon", "gemm_*_neona53"))
        restricted = small if choice.values else DIRECT_ALONE
        with pytest.raises(PlanError, match=named) as error:
            within(restricted, square(), Plan(operators={"conv": choice}))
        assert "operator conv" in error.value.where


def test_the_overhead_of_a_profile_lists_changes_and_time() -> None:
    program = square()
    for profile, changed in ((FULL, ()), (DIRECT_ALONE, (("conv", "direct", "winograd_4"),))):
        target = A53.with_profile(profile)
        result = profile_overhead(program, target)
        assert result.changed == changed
        assert (result.time > 1) == bool(changed)
    (least,) = planner.operator_costs(planner.decide(program, A53, Plan()), A53)
    (direct,) = planner.operator_costs(planner.decide(program, target, Plan()), A53)
    assert result.time == pytest.approx(direct.cycles / least.cycles)
    assert f"x {result.time:.2f}" in str(result)
    assert "conv direct instead of winograd_4" in str(result)


def test_another_kernel_of_the_same_algorithm_counts_as_overhead() -> None:
    program, target = convolution(16, 16), A53.with_profile(replace(FULL, kernels=("*_portable",)))
    result = profile_overhead(program, target)
    assert result.changed == (("conv", "gemm_f32_portable", "gemm_f32_4x16_neona53"),)


def test_a_binary_for_a_known_core_keeps_the_kernels_that_its_plan_needs() -> None:
    isas = HASWELL.isas
    assert "gemm_f32_portable" not in FULL.narrowed("x86_64", isas).kernels
    kernel_names = FULL.narrowed(
        "x86_64", isas, ("gemm_f32_portable", "gemm_f32_4x16_neon")
    ).kernels
    assert "gemm_f32_portable" in kernel_names
    assert "gemm_f32_4x16_neon" not in kernel_names


@pytest.mark.parametrize("target", [A53, HASWELL], ids=lambda target: target.arch)
@pytest.mark.parametrize("name", ["squeezenet", "shufflenet_v2"])
def test_a_derived_profile_gives_the_same_plan(name: str, target: Target) -> None:
    """Neither plan has concats or splits, because both are elided."""
    program = network(name)
    free = planner.plan(program, target)
    restricted = trimtab.profile_of(free)
    assert "concat" not in restricted.ops
    again = planner.plan(program, target.with_profile(restricted))
    assert [(op.type, op.attributes) for op in again.ops] == [
        (op.type, op.attributes) for op in free.ops
    ]


def test_a_concatenation_that_copies_must_be_in_the_profile() -> None:
    program = Program("rows")
    x = program.add_input("x", (1, 4, 6, 6))
    program.outputs = program.block.add_op("concat", [x, x], {"axis": 2}, ["y"])
    planner.plan(program, A53.with_profile(Profile("some", ops=("concat",))))
    with pytest.raises(ProfileError, match="needs concat, which the profile excludes"):
        planner.plan(program, A53.with_profile(Profile("none", ops=("relu",))))
