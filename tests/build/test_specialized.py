"""Binaries with code for the attribute values of their models only."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from trimtab import schema
from trimtab.build.builder import BuildRequest, build
from trimtab.build.codegen import attributes_header
from trimtab.errors import ProfileError, SchemaError
from trimtab.profile import Profile
from trimtab.program import Program

SHAPE = (1, 3, 5, 7)
RESULT = (1, 3, 9, 16)


def resize(folder: Path, mode: str) -> tuple[Path, Program]:
    """A network that resizes: its file, and the planned program, saved beside it."""
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode)
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", SHAPE), ("y", RESULT))
    )
    sizes = numpy_helper.from_array(np.array(RESULT, np.int64), "sizes")
    graph = helper.make_graph([node], mode, [x], [y], [sizes])
    path = folder / f"{mode}.onnx"
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    program = trimtab.optimize(trimtab.load(path))
    program.save(path.with_suffix(".ttm"))
    return path, program


def run(runner: Path, model: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """One inference with the input x.bin."""
    command = [str(runner), str(model), "--input", str(folder / "x.bin"), "--runs", "1"]
    command += ["--output-dir", str(folder), "--min-time-ms", "0"]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.build
def test_a_binary_computes_its_models_values_and_refuses_others(tmp_path: Path) -> None:
    path, nearest = resize(tmp_path, "nearest")
    _, linear = resize(tmp_path, "linear")
    profile = trimtab.profile_of(nearest)
    request = BuildRequest(profile=profile, output_dir=tmp_path / "out", toolchain="host")
    runner = build(request).runner
    x = np.random.default_rng(3).random(SHAPE, np.float32)
    (tmp_path / "x.bin").write_bytes(x.tobytes())
    assert run(runner, tmp_path / "nearest.ttm", tmp_path).returncode == 0
    (expected,) = onnxruntime.InferenceSession(path).run(None, {"x": x})
    actual = np.frombuffer((tmp_path / "out0.bin").read_bytes(), np.float32).reshape(RESULT)
    assert np.array_equal(actual, expected)
    refused = run(runner, tmp_path / "linear.ttm", tmp_path)
    assert refused.returncode > 0
    assert "unsupported attribute value" in refused.stdout + refused.stderr
    both = profile.union(trimtab.profile_of(linear))
    assert "resize.mode=0" in profile.constants
    assert "resize.mode=0" not in both.constants
    assert "resize.coordinate_mode=0" in both.constants


def test_values_of_operators_that_only_one_profile_has_stay_constant() -> None:
    first = Profile("first", ops=("resize", "relu"), constants=("resize.mode=1",))
    second = Profile("second", ops=("relu",))
    assert first.union(second).constants == second.union(first).constants == ("resize.mode=1",)
    assert first.union(Profile("third", ops=("*",))).constants == ()
    assert first.digest() != Profile("first", ops=("resize", "relu")).digest()


@pytest.mark.parametrize("text", ["resize.mode=2", "resize.sizes=1", "resize.antialias=2"])
def test_values_that_no_binary_can_be_specialized_for_are_refused(text: str) -> None:
    profile = Profile("net", ops=("resize",), constants=(text,))
    with pytest.raises(ProfileError, match="constants: resize"):
        profile.constants_of(schema.operators()["resize"])


def test_a_constant_is_no_variable_of_the_struct() -> None:
    op = schema.operators()["resize"]
    text = attributes_header(op, constants={"mode": 1})
    assert "  static constexpr ResizeMode mode = static_cast<ResizeMode>(1);" in text
    assert "  ResizeNearestMode nearest_mode;" in text


def test_only_numbers_can_be_specialized(tmp_path: Path) -> None:
    source = schema.operators()["box_coder"].path.read_text()
    source = source.replace('type = "floats"', 'type = "floats"\nspecialized = true', 1)
    (tmp_path / "box_coder.toml").write_text(source)
    with pytest.raises(SchemaError, match="cannot be specialized"):
        schema.read_operator(tmp_path / "box_coder.toml")
