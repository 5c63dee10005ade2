"""Profiles for a specific CPU, and profile files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies

from trimtab import files, kernels, schema
from trimtab.errors import ProfileError
from trimtab.profile import Profile, find_profile, read_profile
from trimtab.target import Target


@pytest.mark.parametrize(
    ("arch", "cpu", "isas"),
    [
        ("x86_64", "haswell", {"avx2", "portable"}),
        ("x86_64", "skylake-avx512", {"avx512", "avx2", "portable"}),
        ("x86_64", "zen4", {"avx512vnni", "avx512vbmi", "avx512", "avx2", "portable"}),
        ("aarch64", None, {"neon", "portable"}),
        ("aarch64", "cortex-a53", {"neona53", "neon", "neonsmall", "portable"}),
        (
            "aarch64",
            "cortex-a55",
            {"neona55", "neon", "neonsmall", "neonhalf", "neonfp16", "neondot", "portable"},
        ),
        ("armv7", "cortex-a7", {"neonv7", "portable"}),
        ("armv7", "cortex-a9", {"neonv7", "portable"}),
    ],
)
def test_a_specific_cpu_keeps_its_best_kernel_of_every_family(
    arch: str, cpu: str | None, isas: set[str]
) -> None:
    full, target = find_profile("full"), Target.of(arch, cpu)
    kernel_names = full.narrowed(arch, target.isas).kernels_for(arch)
    assert {k.isa for k in kernel_names} == isas
    has_half = any(k.family == "gemm" and k.dtype == "f16" and not k.portable for k in kernel_names)
    names = {k.typed_family for k in full.kernels_for(arch) if has_half or k.dtype != "f16"}
    assert {k.typed_family for k in kernel_names} == names
    rows = kernels.isas()
    ranks = {isa.name: isa.rank for isa in rows.values()}
    for kernel in kernel_names:
        if (
            kernel.family in rows[kernel.isa].slower
        ):  # for the tiles that the best one is too wide for
            wider = [k for k in kernel_names if k.typed_family == kernel.typed_family]
            assert {k.isa for k in wider if rows[k.isa].cores}, kernel.name
            assert [k for k in wider if k.packing == kernel.packing] == [kernel]
            continue
        kind = kernel.typed_family, kernel.packing
        family = [k for k in kernels.inventory().values() if (k.typed_family, k.packing) == kind]
        better = [k for k in family if ranks[k.isa] > ranks[kernel.isa] and k.isa in target.isas]
        assert better == [], kernel.name


def test_a_small_profile_has_one_winograd_tile_and_those_of_the_plan() -> None:
    small, isas = replace(find_profile("full"), small=True), Target.of("aarch64", "cortex-a53").isas
    kernel_names = small.narrowed("aarch64", isas).kernels
    available = {k for k in kernel_names if k.startswith("winograd_") and "_f32_" in k}
    assert available == {
        "winograd_input_f32_6_neon",
        "winograd_output_f32_4x6_neon",
        "winograd_weights_f32_4x6_neon",
    }
    named = "winograd_output_f32_6x8_neon"
    assert named in small.narrowed("aarch64", isas, [named]).kernels
    assert named in replace(small, kernels=(named, "*")).narrowed("aarch64", isas).kernels


def test_the_wildcard_includes_operators_with_a_dtype_of_the_profile() -> None:
    floats, everything = (
        Profile("floats", dtypes=("f32", "i32", "i64", "bool")),
        find_profile("full").operators(),
    )
    kernel_names = {op.name for op in floats.operators()}
    assert {op.name for op in everything if "f32" in op.dtypes} <= kernel_names
    assert {op.name for op in everything} - kernel_names == {
        op.name for op in everything if {*op.dtypes} <= {"f16", "i8", "u8"}
    }
    assert "qlinear_conv" not in kernel_names
    float32 = find_profile("float32")
    assert kernel_names - {op.name for op in float32.operators()} == {
        "quantize_linear",
        "dequantize_linear",
    }
    tiles = {k.nr for k in float32.kernels_for("aarch64") if k.family == "winograd_output"}
    assert tiles == {0, 5, 6, 7, 8}
    assert {k.dtype for k in floats.kernels_for("aarch64")} == {"f32"}


def test_the_union_of_wildcard_profiles_excludes_only_common_exclusions() -> None:
    first = Profile("first", ops=("*", "!relu", "!softmax"))
    second = Profile("second", ops=("*", "!relu"), dtypes=("f32",))
    assert "relu" not in {op.name for op in first.operators()}
    assert first.union(second).ops == ("*", "!relu")
    assert first.union(Profile("third", ops=("relu",))).ops == ("*", "!softmax")
    with pytest.raises(ProfileError, match="unknown operators: nothing"):
        Profile("wrong", ops=("*", "!nothing")).operators()


def test_a_binary_has_the_sources_of_sizes_that_are_named() -> None:
    reshape, every = schema.operator("reshape"), ("attributes", "tensor", "terms")
    own = Profile("net", ops=("reshape", "expand"))
    assert own.size_sources(reshape) == ("attributes",)
    assert Profile("all").size_sources(reshape) == every
    computed = replace(own, sizes=("reshape.tensor",))
    assert computed.size_sources(reshape) == ("tensor",)
    assert computed.counts(reshape)
    assert not own.counts(reshape)
    assert own.union(computed).sizes == ("reshape.attributes", "reshape.tensor")
    assert own.union(own).sizes == ()
    assert own.union(Profile("all")).size_sources(reshape) == every
    with pytest.raises(ProfileError, match=r"reshape\.nothing is not possible"):
        replace(own, sizes=("reshape.nothing",)).size_sources(reshape)


def test_kernels_with_full_names_are_kept() -> None:
    named = Profile("net", ops=("softmax",), kernels=("softmax_f32_portable", "softmax_*"))
    kernel_names = named.narrowed("x86_64", Target.of("x86_64", "haswell").isas).kernels
    assert kernel_names == ("softmax_f32_avx2", "softmax_f32_portable")


def test_kernels_of_a_plan_for_another_cpu_are_kept() -> None:
    named = Profile("net", ops=("softmax",), kernels=("softmax_f32_avx512",))
    kernel_names = named.narrowed("x86_64", Target.of("x86_64", "haswell").isas).kernels
    assert kernel_names == ("softmax_f32_avx512",)


def test_an_operator_needs_a_kernel_for_a_type_of_the_profile() -> None:
    floats = Profile("net", ops=("softmax",), dtypes=("f32", "i64"))
    assert {k.dtype for k in floats.kernels_for("x86_64")} == {"f32"}
    with pytest.raises(ProfileError, match="softmax needs a kernel of softmax for f32"):
        Profile("net", ops=("softmax",), dtypes=("i64",)).kernels_for("x86_64")


@pytest.mark.parametrize(
    ("constant", "is_possible"),
    [
        *(("decode_boxes.box=6", True), ("decode_boxes.box=7", False)),  # one of seven words
        *(("decode_boxes.background=1", False), ("lstm.reverse=0", False)),  # not specialized
        *(("lstm.round_state=1", True), ("lstm.round_state=2", False)),  # a truth value
        *(("decode_boxes.bins=255", True), ("decode_boxes.bins=256", False)),
    ],
)
def test_a_constant_of_a_profile_is_a_specialized_attribute_with_a_value_it_can_have(
    constant: str, is_possible: bool
) -> None:
    name, _, number = constant.partition("=")
    operator, _, attribute = name.partition(".")
    profile = Profile("net", constants=(constant, "relu.other=1"))
    if is_possible:
        assert profile.constants_of(schema.operator(operator)) == {attribute: int(number)}
        return
    with pytest.raises(ProfileError, match=f"{constant} is not possible"):
        profile.constants_of(schema.operator(operator))


TEXTS = strategies.text(strategies.characters(exclude_categories=["Cs"]))  # no lone surrogates


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example("net 😀 \"quoted\" \\ 'single' \r\n\t\0\x1b\x7f ü")
@given(TEXTS)
def test_a_profile_with_any_name_survives_a_round_trip(tmp_path: Path, name: str) -> None:
    for kernels_ in ((), ("softmax_f32_portable", "relu_*")):
        derived = Profile("net", f"Derived from {name}.", ("relu", "softmax"), kernels=kernels_)
        files.write_text(tmp_path / "net.toml", derived.to_toml())
        assert read_profile(tmp_path / "net.toml") == derived


@pytest.mark.parametrize("name", ["full", "yolo"])
def test_a_builtin_profile_survives_a_round_trip(name: str, tmp_path: Path) -> None:
    profile = replace(find_profile(name), strings=False)
    files.write_text(tmp_path / f"{name}.toml", profile.to_toml())
    assert read_profile(tmp_path / f"{name}.toml") == profile
