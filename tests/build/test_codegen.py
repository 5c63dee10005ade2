"""The files that code generation writes into a build folder."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import pytest

from trimtab import schema
from trimtab.build import codegen
from trimtab.profile import Profile


def files(folder: Path) -> dict[str, int]:
    """Time of the last change, in ns, by path."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_generated_kernel_is_one_function_over_the_vectors_of_its_instruction_set(
    tmp_path: Path,
) -> None:
    codegen.generate(Profile("net", ops=("softmax",)), "aarch64", "gcc", tmp_path)
    written = sorted(path.name for path in (tmp_path / "generated" / "kernels").iterdir())
    assert written == ["softmax_f32_neon.cpp", "softmax_f32_portable.cpp"]
    text = (tmp_path / "generated" / "kernels" / "softmax_f32_neon.cpp").read_text()
    assert [line for line in text.splitlines() if line.startswith("#include")] == [
        '#include "kernels/arm/vec_neon.h"',
        '#include "kernels/generic/softmax.h"',
    ]
    function = 'extern "C" void softmax_f32_neon(const SoftmaxArgs<float>& args) { Softmax(args); }'
    assert function in text.splitlines()


def test_cmake_configures_again_after_a_change_of_any_module_of_the_generator(root: Path) -> None:
    script = "import sys, trimtab.build.codegen as _\nfor m in sys.modules.values(): "
    script += "print(getattr(m, '__file__', None) or '')"
    argv = [sys.executable, "-P", "-c", script]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    printed = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)
    own = [
        Path(line) for line in printed.stdout.split("\n") if line.startswith(str(root / "trimtab"))
    ]
    modules = [path.relative_to(root).as_posix() for path in own]
    assert "trimtab/build/profile_headers.py" in modules
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    patterns = text.partition("file(GLOB TRIMTAB_GENERATOR ")[2].partition(")")[0].split()
    assert [m for m in modules if not any(fnmatch(m, pattern) for pattern in patterns)] == []


def test_a_hand_written_kernel_is_compiled_in_place(tmp_path: Path) -> None:
    profile = Profile("net", ops=("gemm",), kernels=("gemm_f32_4x8_neonv7", "clip_f32_neonv7"))
    codegen.generate(profile, "armv7", "gcc", tmp_path)
    sources = (tmp_path / "sources.cmake").read_text().splitlines()
    generated = '"${CMAKE_CURRENT_LIST_DIR}/generated/kernels/clip_f32_neonv7.cpp"'
    assert '  "kernels/arm/gemm_f32_4x8_neonv7.cpp"' in sources
    assert f"  {generated}" in sources
    assert f'set_property(SOURCE {generated} PROPERTY COMPILE_OPTIONS "-mfpu=neon")' in sources
    assert not (tmp_path / "generated" / "kernels" / "gemm_f32_4x8_neonv7.cpp").exists()


def test_a_build_says_whether_it_has_sizes_that_depend_on_data(tmp_path: Path) -> None:
    for ops, text in ((("softmax",), "kHasCounts = false"), (("non_zero",), "kHasCounts = true")):
        codegen.generate(Profile("net", ops=ops), "x86_64", "gcc", tmp_path)
        assert text in (tmp_path / "generated" / "counts.h").read_text()


def rows_of(profile: Profile, folder: Path) -> tuple[str, str, str]:
    """The sources of sizes of reshape, the numbers of its inputs, and what counts, in a build."""
    codegen.generate(profile, "x86_64", "gcc", folder)
    generated = folder / "generated"
    header = (generated / "attributes" / "reshape.h").read_text()
    bits = header.partition("kSizeSources = ")[2].partition(";")[0]
    id = schema.operator("reshape").id
    row = (generated / "registry.cpp").read_text().partition(f"u, {id}, ")[2]
    counts = (generated / "counts.h").read_text().partition("kCountingOps[] = ")[2]
    return bits, row[:4], counts.partition(";")[0]


def test_a_build_has_code_for_the_sources_of_sizes_of_its_models(tmp_path: Path) -> None:
    own = Profile("net", ops=("reshape",))
    id = schema.operator("reshape").id
    assert rows_of(own, tmp_path) == ("1", "1, 1", "{{0, false, 255}}")
    computed = replace(own, sizes=("reshape.tensor",))
    assert rows_of(computed, tmp_path) == ("2", "2, 2", f"{{{{{id}, false, 255}}}}")
    free = replace(own, sizes=("reshape.terms",))
    assert rows_of(free, tmp_path) == ("4", "3, 3", "{{0, false, 255}}")
    both = own.union(computed)
    assert rows_of(both, tmp_path) == ("3", "1, 2", f"{{{{{id}, false, 1}}}}")
    assert rows_of(both.union(free), tmp_path)[:2] == ("7", "1, 3")


def test_the_headers_and_tables_of_a_build_name_its_operators_and_kernels(tmp_path: Path) -> None:
    codegen.generate(Profile("net", ops=("softmax",)), "x86_64", "gcc", tmp_path)
    texts = {path.name: path.read_text() for path in (tmp_path / "generated").glob("*.*")}
    headers = {"plugin_attributes.h", "op_ids.h", "config.h", "counts.h", "element_sizes.h"}
    headers |= {"windows.h"}
    assert texts.keys() == {*headers, "registry.cpp", "kernel_table.cpp", "isa_table.cpp"}
    attributes = tmp_path / "generated" / "attributes"
    assert "struct SoftmaxAttributes {" in (attributes / "softmax.h").read_text()
    # Shared code may name operators that the profile lacks.
    assert "struct ConvAttributes {" in (attributes / "conv.h").read_text()
    assert "Softmax" in texts["registry.cpp"]
    assert "Conv" not in texts["registry.cpp"]
    assert "softmax_f32_avx2" in texts["kernel_table.cpp"]
    assert "avx2" in texts["isa_table.cpp"]


def test_an_added_schema_changes_no_header_that_sources_of_other_operators_include(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every, profile = schema.operators(), Profile("net", ops=("softmax",))
    without = {name: op for name, op in every.items() if name != "col2im"}
    monkeypatch.setattr(schema, "operators", lambda: without)
    codegen.generate(profile, "x86_64", "gcc", tmp_path)
    before = files(tmp_path)
    monkeypatch.setattr(schema, "operators", lambda: every)
    codegen.generate(profile, "x86_64", "gcc", tmp_path)
    after = files(tmp_path)
    changed = {name for name in after if after[name] != before.get(name)}
    headers = {name for name in changed if name.endswith(".h")}
    assert "generated/attributes/col2im.h" in headers
    sources = [path for path in (root / "runtime").rglob("*.*") if path.suffix in (".cpp", ".h")]
    recompiled = {
        path.stem
        for path in sources
        if any(f'#include "{header}"' in path.read_text() for header in headers)
    }
    # The camera writes into the tensor whose operator it finds by its id.
    assert recompiled == {"col2im", "camera_image"}


def test_unchanged_files_are_not_rewritten(tmp_path: Path) -> None:
    profile = Profile("net", ops=("softmax", "abs"))
    codegen.generate(profile, "x86_64", "gcc", tmp_path)
    before = files(tmp_path)
    unit = tmp_path / "generated" / "kernels" / "abs_f32_portable.cpp"
    unit.write_text("old")
    codegen.generate(profile, "x86_64", "gcc", tmp_path)
    after = files(tmp_path)
    assert unit.read_text() != "old"
    assert {name for name in after if after[name] != before[name]} == {
        "generated/kernels/abs_f32_portable.cpp"
    }


def test_kernels_that_run_once_are_compiled_for_size(tmp_path: Path) -> None:
    ops = ("conv", "conv_winograd", "pack_winograd")
    codegen.generate(Profile("net", ops=ops, kernels=("*_neon",)), "aarch64", "gcc", tmp_path)
    lines = (tmp_path / "sources.cmake").read_text().splitlines()
    begin = lines.index("set(TRIMTAB_SLOW_KERNEL_SOURCES")
    slow = [Path(line.strip(' "')).stem for line in lines[begin + 1 : lines.index(")", begin)]]
    assert slow
    assert all(name.startswith("winograd_weights_f32_") for name in slow)
