"""The inventory of micro-kernels is what their file names say."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab import kernels
from trimtab.errors import SchemaError

ISA = """
[portable]
folder = "portable"
arch = ["x86_64", "aarch64"]
flags = []
features = []
rank = 0
[neon]
folder = "arm"
arch = ["aarch64"]
flags = []
features = ["neon"]
rank = 10
"""


def write_kernel(folder: Path, where: str, arguments: str = "GemmF32Args") -> None:
    path = folder / where
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'extern "C" void {path.stem}(const {arguments}& args) {{}}\n')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "isa.toml").write_text(ISA)
    write_kernel(tmp_path, "portable/gemm_f32_portable.cpp")
    return tmp_path


def test_a_kernel_is_read_from_its_name(folder: Path) -> None:
    write_kernel(folder, "arm/gemm_f32_8x12_neon.cpp")
    kernel = kernels.read_inventory(folder)["gemm_f32_8x12_neon"]
    assert (kernel.family, kernel.isa, kernel.mr, kernel.nr) == ("gemm_f32", "neon", 8, 12)
    assert kernel.path == Path("kernels/arm/gemm_f32_8x12_neon.cpp")
    assert kernel.args_type == "GemmF32Args"


def test_a_channel_tile_has_columns_and_no_rows(folder: Path) -> None:
    write_kernel(folder, "portable/depthwise_f32_portable.cpp", "DepthwiseF32Args")
    write_kernel(folder, "arm/depthwise_f32_16_neon.cpp", "DepthwiseF32Args")
    kernel = kernels.read_inventory(folder)["depthwise_f32_16_neon"]
    assert (kernel.mr, kernel.nr) == (0, 16)


def test_an_operator_name_may_have_underscores_and_no_tile(folder: Path) -> None:
    write_kernel(folder, "portable/max_pool_f32_portable.cpp", "PoolF32Args")
    assert kernels.read_inventory(folder)["max_pool_f32_portable"].family == "max_pool_f32"


def test_the_best_kernel_of_a_family_stands_first_and_the_portable_one_last(folder: Path) -> None:
    write_kernel(folder, "arm/gemm_f32_8x8_neon.cpp")
    write_kernel(folder, "arm/gemm_f32_4x8_neon.cpp")
    assert list(kernels.read_inventory(folder)) == [
        "gemm_f32_8x8_neon",
        "gemm_f32_4x8_neon",
        "gemm_f32_portable",
    ]


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("arm/gemm_neon.cpp", "file name"),
        ("arm/gemm_f32_8x8_sve.cpp", "unknown instruction set"),
        ("portable/gemm_f32_8x8_neon.cpp", "belong in kernels/arm"),
        ("arm/gemm_f32_64x64_neon.cpp", "larger than"),
        ("portable/gemm_f32_8x8_portable.cpp", "no tile"),
        ("arm/conv_f32_8x8_neon.cpp", "no portable member"),
    ],
)
def test_a_kernel_file_that_breaks_a_rule_is_named(folder: Path, where: str, reason: str) -> None:
    write_kernel(folder, where)
    with pytest.raises(SchemaError, match=reason):
        kernels.read_inventory(folder)


def test_a_kernel_file_must_define_the_function_of_its_name(folder: Path) -> None:
    (folder / "portable" / "exp_f32_portable.cpp").write_text("void other(const UnaryF32Args& a);")
    with pytest.raises(SchemaError, match="must define"):
        kernels.read_inventory(folder)


def test_members_of_a_family_take_the_same_arguments(folder: Path) -> None:
    write_kernel(folder, "arm/gemm_f32_8x8_neon.cpp", "PoolF32Args")
    with pytest.raises(SchemaError, match="different arguments"):
        kernels.read_inventory(folder)


def test_a_row_of_isa_toml_without_a_rank_is_refused(tmp_path: Path) -> None:
    (tmp_path / "isa.toml").write_text(ISA.replace("rank = 10", ""))
    with pytest.raises(SchemaError, match="neon"):
        kernels.read_inventory(tmp_path)


def test_the_kernels_of_this_checkout_obey_the_rules(root: Path) -> None:
    found = kernels.inventory()
    assert len(found) == len(list((root / "kernels").glob("*/*.cpp")))
    assert {k.isa for k in found.values()} <= set(kernels.isas())
