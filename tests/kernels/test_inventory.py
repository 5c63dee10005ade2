"""The inventory of kernels follows from file names and the declarations of families."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trimtab import kernels, paths
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
# Two more rows, whose vectors differ in lanes and in supported operations.
VECTORS = """
[wide]
folder = "arm"
vectors.f32 = "vec_wide.h"
arch = ["aarch64"]
flags = []
features = []
rank = 20
[narrow]
folder = "arm"
vectors.f32 = "vec_narrow.h"
lacks = ["division"]
arch = ["aarch64"]
flags = []
features = []
rank = 15
"""
PORTABLE = 'folder = "portable"\n'


def write_kernel(folder: Path, where: str, arguments: str = "GemmArgs<float>") -> None:
    path = folder / where
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'extern "C" void {path.stem}(const {arguments}& args) {{}}\n')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "isa.toml").write_text(ISA)
    write_kernel(tmp_path, "portable/gemm_f32_portable.cpp")
    return tmp_path


def test_a_kernel_is_parsed_from_its_name(folder: Path) -> None:
    write_kernel(folder, "arm/gemm_f32_8x12_neon.cpp")
    kernel = kernels.read_inventory(folder)["gemm_f32_8x12_neon"]
    assert (kernel.family, kernel.dtype, kernel.isa) == ("gemm", "f32", "neon")
    assert (kernel.mr, kernel.nr) == (8, 12)
    assert kernel.path == Path("kernels/arm/gemm_f32_8x12_neon.cpp")
    assert kernel.args == "GemmArgs<float>"


def test_the_largest_tile_is_that_of_the_engine(folder: Path) -> None:
    header = (paths.root() / "kernels" / "kernel_api.h").read_text()
    rows, columns = (
        int(re.search(rf"kMaxTile{what} = (\d+)", header)[1])  # type: ignore[index]
        for what in ("Rows", "Columns")
    )
    write_kernel(folder, f"arm/gemm_f32_{rows}x{columns}_neon.cpp")
    assert f"gemm_f32_{rows}x{columns}_neon" in kernels.read_inventory(folder)
    for tile in (f"{rows + 1}x{columns}", f"{rows}x{columns + 1}"):
        write_kernel(folder, f"arm/gemm_f32_{tile}_neon.cpp")
        with pytest.raises(SchemaError, match=f"tile {tile} is larger than {rows}x{columns}"):
            kernels.read_inventory(folder)
        (folder / f"arm/gemm_f32_{tile}_neon.cpp").unlink()


def test_a_channel_tile_has_columns_and_no_rows(folder: Path) -> None:
    write_kernel(folder, "portable/depthwise_f32_portable.cpp", "DepthwiseArgs<float>")
    write_kernel(folder, "arm/depthwise_f32_16_neon.cpp", "DepthwiseArgs<float>")
    kernel = kernels.read_inventory(folder)["depthwise_f32_16_neon"]
    assert (kernel.mr, kernel.nr) == (0, 16)


def test_an_operator_name_may_have_underscores_and_no_tile(folder: Path) -> None:
    write_kernel(folder, "portable/max_pool_f32_portable.cpp", "PoolArgs<float>")
    assert kernels.read_inventory(folder)["max_pool_f32_portable"].family == "max_pool"


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
        ("arm/gemm_neon.cpp", "<op>_<dtype>"),
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
    (folder / "portable" / "exp_f32_portable.cpp").write_text(
        "void other(const UnaryArgs<float>& a);"
    )
    with pytest.raises(SchemaError, match="must define"):
        kernels.read_inventory(folder)


def test_a_kernel_takes_arguments_of_its_type(folder: Path) -> None:
    write_kernel(folder, "portable/gemm_i8_portable.cpp")
    with pytest.raises(SchemaError, match=r"i8 takes GemmArgs<int8_t>, not GemmArgs<float>"):
        kernels.read_inventory(folder)


def test_a_kernel_of_a_dtype_without_a_cpp_type_is_refused(folder: Path) -> None:
    write_kernel(folder, "portable/gemm_bool_portable.cpp")
    with pytest.raises(SchemaError, match="dtype bool is not defined"):
        kernels.read_inventory(folder)


def test_every_type_of_a_family_has_a_portable_member(folder: Path) -> None:
    write_kernel(folder, "arm/gemm_i8_8x8_neon.cpp", "GemmArgs<int8_t>")
    with pytest.raises(SchemaError, match="gemm_i8 has no portable member"):
        kernels.read_inventory(folder)
    write_kernel(folder, "portable/gemm_i8_portable.cpp", "GemmArgs<int8_t>")
    inventory = kernels.read_inventory(folder)
    assert {k.family for k in inventory.values()} == {"gemm"}
    assert inventory["gemm_i8_8x8_neon"].typed_family == "gemm_i8"


def test_members_of_a_family_take_the_same_arguments(folder: Path) -> None:
    write_kernel(folder, "arm/gemm_f32_8x8_neon.cpp", "PoolArgs<float>")
    with pytest.raises(SchemaError, match="different argument types"):
        kernels.read_inventory(folder)


def test_a_row_of_isa_toml_without_a_rank_is_refused(tmp_path: Path) -> None:
    (tmp_path / "isa.toml").write_text(ISA.replace("rank = 10", ""))
    with pytest.raises(SchemaError, match="neon"):
        kernels.read_inventory(tmp_path)


@pytest.fixture
def generic(folder: Path) -> Path:
    """A `kernels/` with vectors of plain C++, of four and of sixteen lanes."""
    portable = PORTABLE + 'vectors.f32 = "vec_scalar.h"\n'
    (folder / "isa.toml").write_text(ISA.replace(PORTABLE, portable) + VECTORS)
    (folder / "arm").mkdir()
    for name, lanes in (("portable/scalar", 1), ("arm/narrow", 4), ("arm/wide", 16)):
        path = folder / name.replace("/", "/vec_")
        path.with_suffix(".h").write_text(f"constexpr size_t kLanes = {lanes};\n")
    (folder / "generic").mkdir()
    return folder


def declare(folder: Path, text: str) -> None:
    (folder / "generic" / "own.h").write_text(f"#include <x>\n\n{text}\n")


def generated(folder: Path) -> set[str]:
    return {name for name, k in kernels.read_inventory(folder).items() if k.template}


LOG = "TRIMTAB_FAMILY(f32)\ninline void LogSoftmax(const SoftmaxArgs<Element>& args) {}"


def test_a_declared_family_has_a_kernel_for_every_instruction_set_with_its_vectors(
    generic: Path,
) -> None:
    declare(generic, LOG)
    assert generated(generic) == {
        "log_softmax_f32_portable",
        "log_softmax_f32_narrow",
        "log_softmax_f32_wide",
    }
    kernel = kernels.read_inventory(generic)["log_softmax_f32_wide"]
    assert (kernel.family, kernel.dtype, kernel.isa) == ("log_softmax", "f32", "wide")
    assert kernel.packing == (0, 0)
    assert kernel.path == Path("generated/kernels/log_softmax_f32_wide.cpp")
    assert kernel.args == "SoftmaxArgs<float>"
    assert kernel.template == kernels.KernelTemplate(
        "kernels/arm/vec_wide.h", "kernels/generic/own.h", "LogSoftmax"
    )


def test_a_file_replaces_the_generated_kernel_of_its_name(generic: Path) -> None:
    declare(generic, LOG)
    write_kernel(generic, "arm/log_softmax_f32_wide.cpp", "SoftmaxArgs<float>")
    kernel = kernels.read_inventory(generic)["log_softmax_f32_wide"]
    assert kernel.template is None
    assert kernel.path == Path("kernels/arm/log_softmax_f32_wide.cpp")


def test_a_file_that_replaces_a_generated_kernel_must_take_its_arguments(generic: Path) -> None:
    declare(generic, LOG)
    write_kernel(generic, "arm/log_softmax_f32_wide.cpp", "PoolArgs<float>")
    with pytest.raises(SchemaError, match="different argument types"):
        kernels.read_inventory(generic)


def test_a_family_of_tiles_has_a_kernel_of_each_beside_a_portable_one_by_hand(
    generic: Path,
) -> None:
    function = "template <int kTile, int kSize>\ninline void Out(const OutArgs<Element>& args) {}"
    declare(generic, f"TRIMTAB_FAMILY(f32, tiles(2x4,\n    4x6))\n{function}")
    with pytest.raises(SchemaError, match="no portable member"):
        kernels.read_inventory(generic)
    write_kernel(generic, "portable/out_f32_portable.cpp", "OutArgs<float>")
    inventory = kernels.read_inventory(generic)
    assert {n for n in generated(generic) if n.endswith("wide")} == {
        "out_f32_2x4_wide",
        "out_f32_4x6_wide",
    }
    recipe = inventory["out_f32_4x6_wide"].template
    assert recipe is not None
    assert recipe.function == "Out<4, 6>"
    assert inventory["out_f32_4x6_wide"].packing == (4, 6)


def test_a_tile_may_depend_on_the_lanes_of_a_vector(generic: Path) -> None:
    function = "template <int kTile>\ninline void Deep(const DeepArgs<Element>& args) {}"
    declare(generic, f"TRIMTAB_FAMILY(f32, tile_by_lanes(4 : 8, 8 : 16))\n{function}")
    write_kernel(generic, "portable/deep_f32_portable.cpp", "DeepArgs<float>")
    assert generated(generic) == {"deep_f32_8_narrow"}


def test_a_family_is_not_generated_for_vectors_that_lack_its_needs(generic: Path) -> None:
    declare(generic, LOG.replace("f32)", "f32, needs(division))"))
    assert generated(generic) == {"log_softmax_f32_portable", "log_softmax_f32_wide"}


def test_a_family_may_be_portable_only(generic: Path) -> None:
    declare(generic, LOG.replace("f32)", "f32, portable)"))
    assert generated(generic) == {"log_softmax_f32_portable"}


def test_a_family_is_generated_for_its_dtypes_with_vectors(
    generic: Path,
) -> None:
    declare(generic, LOG.replace("f32)", "f32, i8)"))
    isa = generic / "isa.toml"
    before = generated(generic)
    for header in ("vec_scalar", "vec_wide"):
        row = f'vectors.f32 = "{header}.h"\n'
        isa.write_text(isa.read_text().replace(row, row + row.replace("f32", "i8")))
    assert generated(generic) - before == {"log_softmax_i8_portable", "log_softmax_i8_wide"}
    assert kernels.read_inventory(generic)["log_softmax_i8_wide"].args == "SoftmaxArgs<int8_t>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LOG.replace("inline void", "void"), r"own.h:3: TRIMTAB_FAMILY must precede"),
        (LOG.replace("(f32)", ""), "TRIMTAB_FAMILY must precede"),
        (LOG.replace("f32)", "f32, sometimes)"), "sometimes is not a dtype or an option"),
        (LOG.replace("f32)", "f32, tiles(4by4))"), "is not a dtype or an option"),
        (LOG.replace("f32)", "f32, tile_by_lanes(8))"), "is not a dtype or an option"),
        (LOG.replace("f32)", "portable)"), "no dtype"),
        (LOG.replace("f32)", "f32, needs(divison))"), "unknown needs: divison"),
        (f"{LOG}\n{LOG}", "declared twice"),
    ],
)
def test_a_malformed_declaration_is_named(generic: Path, text: str, reason: str) -> None:
    declare(generic, text)
    with pytest.raises(SchemaError, match=reason):
        kernels.read_inventory(generic)


def test_vector_headers_define_their_lanes(generic: Path) -> None:
    (generic / "arm" / "vec_wide.h").write_text("")
    function = "template <int kTile>\ninline void Deep(const DeepArgs<Element>& args) {}"
    declare(generic, f"TRIMTAB_FAMILY(f32, tile_by_lanes(4 : 8))\n{function}")
    with pytest.raises(SchemaError, match=r"vec_wide.h: must define constexpr size_t kLanes"):
        kernels.read_inventory(generic)


def test_the_kernels_of_this_checkout_obey_the_rules(root: Path) -> None:
    inventory = kernels.inventory()
    written = {path.stem for path in (root / "kernels").glob("*/*.cpp")}
    assert {name for name, k in inventory.items() if k.template is None} == written
    assert {k.isa for k in inventory.values()} <= set(kernels.isas())
    for kernel in inventory.values():
        if kernel.template:
            assert (root / kernel.template.vectors).is_file()
            assert (root / kernel.template.header).is_file()
        else:
            assert (root / kernel.path).is_file()
