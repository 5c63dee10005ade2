"""`op.new` writes an operator that the checkout accepts without further changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.new_operator import scaffold
from trimtab import paths
from trimtab.errors import UsageError

FOLDERS = ("runtime", "kernels", "profiles", "cores", "toolchains", "trimtab", "tests/ops", "lab")
CHECK = """
import sys
import onnx
from trimtab import kernels, schema
from trimtab.importers.onnx_ops.node import HANDLERS
import trimtab.importers.onnx_ops.elementwise
from tests.ops.cases import activation
op = schema.operator("soft_plus2")
assert op.is_generated and op.table and op.onnx == "Selu", op
assert [(a.name, a.onnx) for a in op.attributes if not a.plan] == [("alpha", ""), ("beta", "gamma")]
assert "soft_plus2_f32_portable" in kernels.inventory()
assert [row for row in activation.EVERYWHERE if row[0] == "Selu"], "no case"
assert "Selu" in HANDLERS
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the parts of the checkout that `op.new` reads and writes."""
    for folder in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(paths.root() / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(paths.root() / "tests" / "__init__.py", tmp_path / "tests")
    return tmp_path


def python(checkout: Path, *arguments: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    code = (
        "import runpy, sys; sys.meta_path[:] = [f for f in sys.meta_path "
        "if 'ScikitBuild' not in type(f).__name__]; sys.argv = sys.argv[1:]; "
        "exec(sys.argv[0]) if len(sys.argv) == 1 else "
        "runpy.run_module(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_unary_operator_is_complete_and_its_sources_compile(checkout: Path) -> None:
    result = scaffold.write(checkout, "soft_plus2", "softplus", "Selu")
    assert not any("onnx_ops" in text or "cases" in text for text in result.missing)
    assert any("trimtab/importers/ncnn_ops" in text for text in result.missing)
    assert any("a gradient" in text for text in result.missing)
    assert {str(path) for path in result.written} == {
        "runtime/ops/soft_plus2.toml",
        "kernels/generic/unary.h",
        "tests/ops/cases/activation.py",
        "trimtab/importers/onnx_ops/elementwise.py",  # without the word of the composition
    }
    python(checkout, CHECK)
    output = checkout / "generated"
    arguments = ("--profile", "full", "--arch", "x86_64", "--output", str(output))
    python(checkout, "trimtab.build.codegen", *arguments)
    sources = [
        output / "generated" / "ops" / "soft_plus2.cpp",
        output / "generated" / "kernels" / "soft_plus2_f32_portable.cpp",
    ]
    for source in sources:
        command = ["c++", "-std=c++17", "-fsyntax-only", "-I", str(checkout), "-I", str(output)]
        config = ["-include", str(output / "generated" / "config.h")]
        subprocess.run([*command, *config, str(source)], check=True)


def test_an_operator_with_a_source_is_copied_and_the_remaining_steps_are_named(
    checkout: Path,
) -> None:
    result = scaffold.write(checkout, "hypot", "prelu")
    assert Path("runtime/ops/hypot.cpp") in result.written
    source = (checkout / "runtime" / "ops" / "hypot.cpp").read_text()
    assert "TRIMTAB_TYPED_OPERATOR(Hypot, float, F32)" in source
    assert "Prelu" not in source
    assert any("ONNX has no such operator" in text for text in result.missing)


def test_what_onnx_says_is_written_and_what_is_there_is_named(checkout: Path) -> None:
    result = scaffold.write(checkout, "thresholded", "elu", "ThresholdedRelu")
    assert any("condition.py" in text for text in result.missing)
    cases = (checkout / "tests" / "ops" / "cases" / "activation.py").read_text()
    assert '("ThresholdedRelu", "parameters", {"alpha": 1.25}, 17)' in cases


def test_a_name_that_onnx_does_not_have_is_refused(checkout: Path) -> None:
    with pytest.raises(UsageError, match="ONNX has no operator 'HardShrink'") as caught:
        scaffold.write(checkout, "hard", "elu", "HardShrink")
    assert "Shrink" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["relu", "Bad"])
def test_a_used_or_invalid_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a free name"):
        scaffold.write(tmp_path, name, "abs")
